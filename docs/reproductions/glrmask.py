r"""Each cause of glrmask's findings, against the engine alone: its Vocab, Grammar, Expr, TokenSet and ConstraintState.

Run with glrmask 0.5.0 and NumPy (Python 3.11, Linux x86-64) in an environment that has them:

    python docs/reproductions/glrmask.py

Every block shows what the engine answers, what the exact answer is, and why; `differs` says that they are two. Where
the exact answer is "refused", the suite's dialect has no such form. A vocabulary is a list of tokens, EOS the id after
the last, put at the end of the grammar as a token set. A pattern is the one terminal of a Lark grammar. The engine
writes JSON with `, ` and `: `. The exit status is 0.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version

# This file has the name of the package that it imports: its own folder is not to be searched.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
engine = import_module("glrmask")

BYTES = [bytes([byte]) for byte in range(256)]
CAUSES: list[Callable[[], None]] = []


def cause(function: Callable[[], None]) -> Callable[[], None]:
    """List the function among the causes."""
    CAUSES.append(function)
    return function


class State:
    """A ConstraintState over a list of tokens; `with_eos` puts EOS at the end of the grammar."""

    def __init__(
        self, grammar: "engine.Grammar", tokens: Sequence[bytes] = BYTES, *, with_eos: bool = True
    ) -> None:
        """Stand at the start of the grammar."""
        self.tokens = list(tokens)
        if with_eos:
            end = engine.TokenSet([len(self.tokens)])
            grammar = engine.Grammar.from_expr(engine.Expr.sequence(grammar, end))
        vocabulary = engine.Vocab.from_id_to_bytes(dict(enumerate(self.tokens)))
        self.state = grammar.compile(vocabulary).start()

    def after(self, *path: bytes) -> "State":
        """The same after these tokens."""
        for token in path:
            assert self.state.commit_token(self.tokens.index(token))
        return self

    def allowed(self) -> list[str]:
        """The tokens of the mask."""
        mask = self.state.mask(size=len(self.tokens) + 1).tolist()
        names = [*map(shown, self.tokens), "EOS"]
        return [name for name, is_allowed in zip(names, mask, strict=True) if is_allowed]


def shown(token: bytes) -> str:
    """A token as text where it is printable ASCII, else its bytes in hexadecimal."""
    return token.decode() if token.isascii() and token.decode().isprintable() else token.hex()


def lark(body: str) -> "engine.Grammar":
    """The grammar of one Lark rule."""
    return engine.Grammar.from_lark(f"start: {body}\n")


def schema(text: str) -> "engine.Grammar":
    """The grammar of a JSON Schema."""
    return engine.Grammar.from_json_schema(text)


def members(make: Callable[[str], "engine.Grammar"], source: str, longest: int) -> list[str] | str:
    """Every text of at most so many bytes that the engine leads to, every byte a token; or the word refused."""
    try:
        start = State(make(source)).state
    except ValueError:
        return "refused"
    found, open_texts = [], [(start, b"")]
    while open_texts:
        state, text = open_texts.pop()
        mask = state.mask(size=257).tolist()
        if mask[256]:
            found.append(text.decode())
        for byte in range(256 if len(text) < longest else 0):
            copy = state.copy()
            if mask[byte] and copy.commit_token(byte):
                open_texts.append((copy, text + bytes([byte])))
    return sorted(found)


def says(case: str, answer: object, exact: object, why: str) -> None:
    """Print one comparison."""
    mark = "same" if answer == exact else "differs"
    print(f"  {case}\n    engine: {answer}\n    exact:  {exact}   [{mark}: {why}]")


@cause
def quantifiers() -> None:
    """Quantifiers on quantifiers and possessive ones are read as Rust's regex crate reads them."""
    says("a** up to aaa", members(lark, "/a**/", 3), "refused", "no quantifier on a quantifier; (a*)*")
    says("a++ up to aaa", members(lark, "/a++/", 3), "refused", "nothing possessive; read as (a+)+")
    says("a{2}{3} up to 7 bytes", members(lark, "/a{2}{3}/", 7), "refused", "no count on a count; (a{2}){3}")
    says("a*?", members(lark, "/a*?/", 3), "refused", "nothing lazy")


@cause
def count_over_1000() -> None:
    """A count over 1000 is compiled and held to."""
    state = State(lark("/a{1001}/")).after(*[b"a"] * 1000)
    says("a{1001} after 1000 a", state.allowed(), "refused", "counts go to 1000; one more a is right")


@cause
def property_class() -> None:
    r"""A property class is the Unicode property."""
    letters = State(lark(r"/\p{L}/"), [b"a", b"1", "é".encode()]).allowed()
    says(r"\p{L} over a, 1, é", letters, "refused", "no properties in the dialect; a and é are letters")


@cause
def named_group() -> None:
    """A named group is a group."""
    says("(?P<n>a)", members(lark, "/(?P<n>a)/", 2), "refused", "no named groups in the dialect")


@cause
def flags() -> None:
    """Inline flags are obeyed."""
    says("(?i)a", members(lark, "/(?i)a/", 2), "refused", "no flags in the dialect")


@cause
def key_twice() -> None:
    """A schema that gives a key twice is read by its last one."""
    text = '{"type":"null","type":"boolean"}'
    says(text, members(schema, text, 5), "refused", "RFC 8259 leaves its meaning open; the suite refuses it")


@cause
def empty_bounds() -> None:
    """Bounds that leave no array are compiled to a constraint that allows nothing."""
    text = '{"type":"array","items":{"type":"null"},"minItems":3,"maxItems":2}'
    says(text, State(schema(text)).allowed(), "refused", "no array has at least 3 items and at most 2")


@cause
def unicode_classes() -> None:
    r"""`\d`, `\w` and `\s` are Unicode classes, as in Rust's regex crate."""
    digit, letter = "\N{ARABIC-INDIC DIGIT ZERO}".encode(), "é".encode()
    tokens = [b"0", b"a", b" ", digit, letter, "\N{NO-BREAK SPACE}".encode()]
    for pattern, exact in ((r"\d", ["0"]), (r"\w", ["0", "a"]), (r"\s", [" "])):
        allowed = State(lark(f"/{pattern}/"), tokens).allowed()
        says(f"{pattern} over 0, a, blank, U+0660, é, U+00A0", allowed, exact, "ASCII")
    wide = State(lark(r"/\D/"), ["\N{FULLWIDTH DIGIT ONE}".encode(), b"a"]).allowed()
    says(r"\D over U+FF11, a", wide, ["efbc91", "a"], "what is no ASCII digit")


@cause
def delete_character() -> None:
    r"""A string has no DEL (U+007F) but as \u007f; a constant has it as itself."""
    string = State(schema('{"type":"string"}'), [b'"', b"\x7f"]).after(b'"')
    says(
        "a string over quote, DEL",
        string.allowed(),
        ['"', "7f"],
        "RFC 8259 has DEL among the plain characters",
    )
    says(
        '{"const":"\\u007f"}',
        members(schema, '{"const":"\\u007f"}', 9),
        ['"\x7f"'],
        "the text that Python writes",
    )


@cause
def escapes() -> None:
    r"""`\/`, and `\u` of anything but a control character or DEL, cannot be written."""
    string, hexadecimal = schema('{"type":"string"}'), sorted("0123456789ABCDEFabcdef")
    backslash = sorted(State(string).after(b'"', b"\\").allowed())
    says("a string after the backslash", backslash, sorted('"\\/bfnrtu'), "RFC 8259 has nine escapes")
    escape = State(string).after(b'"', b"\\", b"u")
    says(r"after \u", escape.allowed(), hexadecimal, "any code unit may be escaped")
    escape = escape.after(b"0", b"0")
    says(r"after \u00", escape.allowed(), hexadecimal, "any code unit may be escaped")


@cause
def number_spelling() -> None:
    """Numbers in enum that are no integer of 64 bits are written from a double, in a spelling of the engine's own."""
    spellings = (
        ("1.5e-05", "0.000015"),
        ("24414062500000000000", "2.44140625e+19"),
        ("100000000000000000000000", "1e+23"),
    )
    for text, own in spellings:
        constant, why = (
            f'{{"enum":[{text}]}}',
            f"{own} is the same value; the suite pins the text that Python writes",
        )
        says(constant, members(schema, constant, 30), [text], why)
    for text in ("1e+16", "-0.0", "18446744073709551615"):
        constant = f'{{"enum":[{text}]}}'
        says(constant, members(schema, constant, 30), [text], "the text that Python writes")


@cause
def number_value() -> None:
    """Integers past 64 bits are rounded to a double in constants, and to the largest of 64 bits in bounds."""
    for text in ("18446744073709551617", "100000000000000000000001"):
        constant = f'{{"enum":[{text}]}}'
        says(constant, members(schema, constant, 30), [text], "another number is written")
    low, high = "100000000000000000000001", "100000000000000000000002"
    text = f'{{"type":"integer","minimum":{low},"maximum":{high}}}'
    says(text, members(schema, text, 30), [low, high], "what is written is below the minimum")


@cause
def name_by_escape() -> None:
    """In an object that is open, a name may be written once more with an escape, its value of any type."""
    text = '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}'
    written = State(schema(text)).after(*(bytes([byte]) for byte in b'{"a": 1, "\\u0061": "x"}'))
    why = "a reader that takes the last of two reads a as x, which is no integer"
    says(text + ' after {"a": 1, "\\u0061": "x"}', written.allowed(), [], why)
    plain = State(schema(text)).after(*(bytes([byte]) for byte in b'{"a": 1, "a'))
    says(
        "the same with the name as it is",
        '"' in plain.allowed(),
        False,
        "the second a may go on, and not end",
    )


@cause
def leading_loop() -> None:
    """Where one terminal that begins with a loop is the grammar, bytes of the loop are taken after its text."""
    loop = [b"a", b"b"]
    ends = State(lark("/[ab]*a/"), loop).after(b"a", b"b").allowed()
    says("/[ab]*a/ over a, b, after a b", ends, ["a", "b"], "ab does not end in a; the text may not end")
    ends = State(lark("/[ab]*a[ab]{3}/"), loop).after(*[b"a"] * 4, *[b"b"] * 4).allowed()
    says("/[ab]*a[ab]{3}/ after aaaabbbb", ends, ["a", "b"], "the fourth byte from the end is b")
    walker = State(lark("/b*a/"), loop, with_eos=False).after(b"a")
    says("/b*a/ without EOS, after a", walker.allowed(), [], "nothing follows a")
    says("the same: commit_token(b)", walker.state.commit_token(1), False, "ab is no prefix of a member")
    says("the same, then: is_accepting", walker.state.is_accepting(), False, "ab is no member")
    for body in ("/b+a/", '"b"* "a"', "/b{0,9}a/", '"b"? /b*a/', '/b*a/ | "c"'):
        walker = State(lark(body), [*loop, b"c"], with_eos=False)
        taken = [walker.state.commit_token(number) for number in (1, 0, 1)]
        says(f"{body}: commit_token of b, a, b", taken, [True, True, False], "bab is no prefix of a member")
    text = State(schema('{"type":"string","pattern":"^[ab]*a$"}'), [*loop, b'"']).after(b'"', b"a", b"b")
    says("a string with the pattern ^[ab]*a$, after ab", text.allowed(), ["a", "b"], "ab does not end in a")


def main() -> None:
    """One block a cause."""
    print(f"glrmask {version('glrmask')}, {len(CAUSES)} causes")
    for function in CAUSES:
        print(f"\n{function.__name__}: {function.__doc__}")
        function()


if __name__ == "__main__":
    main()
