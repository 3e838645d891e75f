"""HTTP connections that must get to the point: one that does not finish a request's header in time is closed.

uvicorn counts connections and has no limit on how long a header may take, so idle half-requests could use up the count.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol


def impatient(seconds: float) -> type[H11Protocol]:
    """A protocol that gives every header `seconds` from its connection or from the answer before it."""

    class Impatient(H11Protocol):
        """uvicorn's own protocol with a timer from the first byte that is waited for to the end of a header."""

        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if not self.is_idle:
                self._forget()
            elif self._timer is None:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        @property
        def is_idle(self) -> bool:
            """No header is whole, or the last answer is."""
            return self.cycle is None or self.cycle.response_complete

        def _wait(self) -> None:
            self._timer = self.loop.call_later(seconds, self._give_up)

        def _forget(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            self._timer = None
            if self.is_idle:
                self.transport.close()

    return Impatient
