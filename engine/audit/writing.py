"""Whether a text can be written on an engine token by token: every mask has the token, and the end is allowed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from engine.audit.problems import Declined
from engine.audit.runner import Runner
from engine.protocol import Packed, PortError, flag_of, integer_of, mask_of
from reference.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Written:
    """How far a text went: `done` bytes were taken; `whole` when all were and the output may end there.

    `problem` is a fault on the way whatever the text: `stuck` when the port refused to go on, `advance_disagrees`
    when it refused a token that its mask has.
    """

    done: int
    whole: bool
    tokens: tuple[int, ...]
    message: str = ""
    problem: str = ""
    text: str = ""


class Tokenizer:
    """Cuts text into tokens by the longest match; good enough for any engine whose masks do not prefer a cut."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Index the tokens by their bytes."""
        self.ids: dict[bytes, int] = {}
        for token, piece in enumerate(vocabulary.tokens):
            if piece and token not in vocabulary.eos:
                self.ids.setdefault(piece, token)
        self.longest = min(max(map(len, self.ids), default=0), 64)

    def __call__(self, data: bytes) -> list[int] | None:
        """The tokens of the data; None when some byte has no token."""
        tokens, place = list[int](), 0
        while place < len(data):
            for width in range(min(self.longest, len(data) - place), 0, -1):
                token = self.ids.get(data[place : place + width])
                if token is not None:
                    tokens.append(token)
                    place += width
                    break
            else:
                return None
        return tokens


class Stuck(Exception):  # noqa: N818 (the word of DESIGN)
    """The port refused a mask in the middle of an output: nothing is allowed, and the output is not whole."""


def open_session(runner: Runner, grammar: int) -> int:
    """A new session; a refusal, before any token, is Declined."""
    try:
        return integer_of(runner.port.request("open", grammar=grammar), "session")
    except PortError as error:
        if error.kind != "refused":
            raise
        raise Declined(f"open: {error}") from error


def ask_mask(
    runner: Runner, vocabulary: Vocabulary, session: int, taken: Sequence[int]
) -> tuple[Packed, bool]:
    """The mask of a session after some tokens, and whether the output is whole; a refusal is Declined or Stuck."""
    try:
        answer = runner.port.request("mask", session=session)
    except PortError as error:
        if error.kind != "refused":
            raise
        if not taken:
            raise Declined(f"mask: {error}") from error
        raise Stuck(
            f"taken when it was compiled, refused after {len(taken)} tokens: {error.message}"
        ) from error
    runner.tally.masks += 1
    return mask_of(answer, len(vocabulary)), flag_of(answer, "complete")


@lru_cache(maxsize=4)
def tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """The tokenizer of a vocabulary, kept for those used last."""
    return Tokenizer(vocabulary)


def write_text(runner: Runner, grammar: int, tokens: Sequence[int] | None) -> Written:
    """Take the tokens one by one in a new session; stop at the first that the mask or the engine refuses.

    Raises Declined when the port refuses the grammar before it took a token.
    """
    vocabulary = runner.vocabulary
    assert vocabulary is not None
    if tokens is None:
        return Written(0, False, (), "this vocabulary has no tokens for it")
    session = open_session(runner, grammar)
    written = _write(runner, vocabulary, session, tokens)
    runner.port.request("close", session=session)
    return written


def _write(runner: Runner, vocabulary: Vocabulary, session: int, tokens: Sequence[int]) -> Written:
    done, taken = 0, list[int]()
    for token in tokens:
        try:
            mask, _ = ask_mask(runner, vocabulary, session, taken)
        except Stuck as stuck:
            return Written(done, False, tuple(taken), str(stuck), problem="stuck")
        is_allowed = bool(mask[token // 8] >> (token % 8) & 1)
        if not is_allowed and not runner.policy.forced_first_token:
            return Written(done, False, tuple(taken), f"the mask forbids token {token}")
        try:
            runner.port.request("advance", session=session, token=token)
        except PortError as error:
            if error.kind not in ("illegal", "refused"):
                raise
            problem = "advance_disagrees" if is_allowed else ""
            return Written(done, False, tuple(taken), f"token {token} was refused: {error}", problem)
        taken.append(token)
        done += len(vocabulary.tokens[token] or b"")
    try:
        mask, complete = ask_mask(runner, vocabulary, session, taken)
    except Stuck as stuck:
        return Written(done, False, tuple(taken), str(stuck), problem="stuck")
    ends = [bool(mask[eos // 8] >> (eos % 8) & 1) for eos in vocabulary.eos]
    whole = any(ends) if ends else complete
    return Written(done, whole, tuple(taken), "" if whole else "the output may not end here")
