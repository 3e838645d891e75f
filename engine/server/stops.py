"""Stop texts in content that arrives in pieces: what could begin one is held back, what follows one is dropped."""

from collections.abc import Sequence


class StopScanner:
    """Content on its way to the client; `hit` once a stop text was met, which itself is never shown."""

    def __init__(self, stops: Sequence[str]) -> None:
        """Without stop texts everything passes."""
        self._stops = tuple(stops)
        self._held = ""
        self.hit = False

    def push(self, text: str) -> str:
        """What is certain to stand before any stop text."""
        if self.hit:
            return ""
        self._held += text
        places = [place for stop in self._stops if (place := self._held.find(stop)) != -1]
        if places:
            self.hit = True
            return self._release(min(places), drop=True)
        return self._release(len(self._held) - self._pending())

    def flush(self) -> str:
        """What was held back: no stop text follows."""
        return self._release(len(self._held))

    def _pending(self) -> int:
        """The length of the longest end of the held text that begins a stop text."""
        longest = max(map(len, self._stops), default=1) - 1
        ends = range(min(longest, len(self._held)), 0, -1)
        return next((n for n in ends if any(stop.startswith(self._held[-n:]) for stop in self._stops)), 0)

    def _release(self, count: int, *, drop: bool = False) -> str:
        text, self._held = self._held[:count], "" if drop else self._held[count:]
        return text
