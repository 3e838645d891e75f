r"""Each cause of llguidance's findings, against the engine alone: its LLTokenizer, TokenizerWrapper and LLMatcher.

Run with llguidance 1.9.1 (Python 3.11, Linux x86-64) in an environment that has it:

    python docs/reproductions/llguidance.py

Every block shows what the engine answers, what the exact answer is, and why; `differs` says that they are two. Where
the exact answer is "refused", the suite's dialect has no such form. A vocabulary is a list of tokens, EOS the id after
the last; the stand-in tokenizer takes the longest match up to the first byte that no token has. The exit status is 0.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version

# This file has the name of the package that it imports: its own folder is not to be searched.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
engine = import_module("llguidance")

Tokenize = Callable[[Sequence[bytes], bytes], list[int]]
BYTES = [bytes([byte]) for byte in range(256)]
CAUSES: list[Callable[[], None]] = []


def cause(function: Callable[[], None]) -> Callable[[], None]:
    """List the function among the causes."""
    CAUSES.append(function)
    return function


def longest_match(tokens: Sequence[bytes], data: bytes) -> list[int]:
    """The tokens of the data by longest match from the left, up to the first byte that no token has."""
    found: list[int] = []
    while data:
        fitting = [number for number, token in enumerate(tokens) if data.startswith(token)]
        if not fitting:
            break
        found.append(max(fitting, key=lambda number: len(tokens[number])))
        data = data[len(tokens[found[-1]]) :]
    return found


class Tokenizer:
    """A tokenizer object as TokenizerWrapper asks for it."""

    def __init__(self, tokens: Sequence[bytes], tokenize: Tokenize) -> None:
        """EOS is the id after the last token, and special."""
        self.plain, self.tokenize = list(tokens), tokenize
        self.tokens = [*tokens, b"<eos>"]
        self.eos_token_id, self.bos_token_id, self.special_token_ids = len(tokens), None, [len(tokens)]

    def __call__(self, text: bytes | str) -> list[int]:
        """The tokens of the text."""
        return self.tokenize(self.plain, text.encode() if isinstance(text, str) else text)


class Matcher:
    """An LLMatcher over a list of tokens, after some of them."""

    def __init__(
        self, grammar: str, tokens: Sequence[bytes] = BYTES, tokenize: Tokenize = longest_match
    ) -> None:
        """A grammar as one of LLMatcher's grammar_from functions writes it; that it compiles is not claimed."""
        self.tokens = list(tokens)
        wrapped = engine.TokenizerWrapper(Tokenizer(tokens, tokenize))
        end = len(self.tokens)
        self.tokenizer = engine.LLTokenizer(wrapped, n_vocab=end + 1, eos_token=end)
        self.matcher = engine.LLMatcher(self.tokenizer, grammar, log_level=0)

    def after(self, *path: bytes) -> "Matcher":
        """The same after these tokens."""
        for token in path:
            assert self.matcher.consume_token(self.tokens.index(token))
        return self

    def allowed(self) -> list[str]:
        """The tokens of the mask."""
        mask = self.matcher.compute_bitmask()
        names = [*map(shown, self.tokens), "EOS"]
        return [name for number, name in enumerate(names) if mask[number // 8] >> (number % 8) & 1]

    def takes(self) -> list[str]:
        """The tokens that consume_token takes, each asked of a copy, EOS aside."""
        copies = (self.matcher.deep_copy() for _ in self.tokens)
        taken = (copy.consume_token(number) for number, copy in enumerate(copies))
        return [shown(token) for token, is_taken in zip(self.tokens, taken, strict=True) if is_taken]


def shown(token: bytes) -> str:
    """A token as text where it is printable ASCII, else its bytes in hexadecimal."""
    return token.decode() if token.isascii() and token.decode().isprintable() else token.hex()


def regex(pattern: str) -> str:
    """The grammar of a pattern."""
    return str(engine.LLMatcher.grammar_from_regex(pattern))


def schema(text: str) -> str:
    """The grammar of a JSON Schema, written compactly."""
    return str(engine.LLMatcher.grammar_from_json_schema(text, overrides={"whitespace_flexible": False}))


def members(grammar: str, longest: int) -> list[str] | str:
    """Every text of at most so many bytes that the engine leads to, every byte a token; or the word refused."""
    start = Matcher(grammar).matcher
    if start.is_error():
        return "refused"
    found, open_texts = [], [(start, b"")]
    while open_texts:
        matcher, text = open_texts.pop()
        mask = matcher.compute_bitmask()
        if matcher.is_accepting():
            found.append(text.decode())
        for byte in range(256 if len(text) < longest else 0):
            copy = matcher.deep_copy()
            if mask[byte // 8] >> (byte % 8) & 1 and copy.consume_token(byte):
                open_texts.append((copy, text + bytes([byte])))
    return sorted(found)


def says(case: str, answer: object, exact: object, why: str) -> None:
    """Print one comparison."""
    mark = "same" if answer == exact else "differs"
    print(f"  {case}\n    engine: {answer}\n    exact:  {exact}   [{mark}: {why}]")


@cause
def quantifiers() -> None:
    """Quantifiers on quantifiers, lazy and possessive ones are read as Rust's regex crate reads them."""
    says("a** up to aaa", members(regex("a**"), 3), "refused", "no quantifier on a quantifier; (a*)*")
    says("a*? up to aaa", members(regex("a*?"), 3), "refused", "nothing lazy; the language is that of a*")
    says("a++ up to aaa", members(regex("a++"), 3), "refused", "nothing possessive; read as (a+)+")
    says("a{2}{3} up to 7 bytes", members(regex("a{2}{3}"), 7), "refused", "no count on a count; (a{2}){3}")


@cause
def count_over_1000() -> None:
    """A count over 1000 is compiled and held to."""
    matcher = Matcher(regex("a{1001}")).after(*[b"a"] * 1000)
    says("a{1001} after 1000 a", matcher.allowed(), "refused", "counts go to 1000; one more a is right")


@cause
def property_class() -> None:
    r"""A property class is the Unicode property."""
    letters = Matcher(regex(r"\p{L}"), [b"a", b"1", "é".encode()]).allowed()
    says(r"\p{L} over a, 1, é", letters, "refused", "no properties in the dialect; a and é are letters")


@cause
def named_group() -> None:
    """A named group is a group."""
    says("(?P<n>a)", members(regex("(?P<n>a)"), 2), "refused", "no named groups in the dialect")


@cause
def flags() -> None:
    """Inline flags are obeyed."""
    says("(?i)a", members(regex("(?i)a"), 2), "refused", "no flags in the dialect")


@cause
def anchors() -> None:
    r"""An anchor at an end of the pattern is read and changes nothing; inside it is refused."""
    for pattern in ("^a", "a$", r"\Aa"):
        says(pattern, members(regex(pattern), 2), "refused", "no anchors: a pattern is the whole text")
    says("b^a", members(regex("b^a"), 3), "refused", "an anchor inside")


@cause
def trailing_backslash() -> None:
    r"""A backslash at the end of a pattern is dropped when the grammar is written."""
    says("a\\", members(regex("a\\"), 2), "refused", "an escape of nothing is an error in Rust's syntax too")
    lark = json.loads(regex("a\\"))["grammars"][0]["lark_grammar"]
    says("the grammar that is written", lark, "refused", "the backslash is gone")


@cause
def key_twice() -> None:
    """A schema that gives a key twice is read by its last one."""
    text = '{"type":"null","type":"boolean"}'
    says(text, members(schema(text), 5), "refused", "RFC 8259 leaves its meaning open; the suite refuses it")


@cause
def unicode_classes() -> None:
    r"""`\d`, `\w` and `\s` are Unicode classes, as in Rust's regex crate."""
    digit, letter, space = (
        "\N{ARABIC-INDIC DIGIT ZERO}".encode(),
        "é".encode(),
        "\N{NO-BREAK SPACE}".encode(),
    )
    tokens = [b"0", b"a", b" ", digit, letter, space]
    for pattern, exact in ((r"\d", ["0"]), (r"\w", ["0", "a"]), (r"\s", [" "])):
        allowed = Matcher(regex(pattern), tokens).allowed()
        says(f"{pattern} over 0, a, blank, U+0660, é, U+00A0", allowed, exact, "ASCII")
    wide = Matcher(regex(r"\D"), ["\N{FULLWIDTH DIGIT ONE}".encode(), b"a"]).allowed()
    says(r"\D over U+FF11, a", wide, ["efbc91", "a"], "what is no ASCII digit")


@cause
def delete_character() -> None:
    r"""DEL (U+007F) is written as \u007f alone; RFC 8259 lets it stand for itself."""
    string = schema('{"type":"string"}')
    allowed = Matcher(string, [b'"', b"\x7f"]).after(b'"').allowed()
    says("a string over quote, DEL", allowed, ['"', "7f"], "RFC 8259 has DEL among the plain characters")
    alone = members(schema('{"const":"\\u007f"}'), 9)
    says("the string DEL alone", alone, ['"\x7f"'], "the suite pins the text that Python writes")


@cause
def escapes() -> None:
    r"""`\/`, and `\u` of anything but a control character or DEL, cannot be written."""
    string = schema('{"type":"string"}')
    letters = [*'"\\/bfnrtu']
    backslash = Matcher(string).after(b'"', b"\\").allowed()
    says(r"a string after the backslash", sorted(backslash), sorted(letters), "RFC 8259 has nine escapes")
    hexadecimal = sorted("0123456789ABCDEFabcdef")
    escape = Matcher(string).after(b'"', b"\\", b"u")
    says(r"after \u", escape.allowed(), hexadecimal, "any code unit may be escaped")
    escape = Matcher(string).after(b'"', b"\\", b"u", b"0", b"0")
    says(r"after \u00", escape.allowed(), hexadecimal, "any code unit may be escaped")
    text = json.dumps({"type": "string", "x-guidance": {"json_allowed_escapes": '"\\/bfnrtu'}})
    error = Matcher(schema(text)).matcher.get_error()
    says("the option json_allowed_escapes with / in it", error, "compiled", "RFC 8259 has the escape")


@cause
def enum_escapes() -> None:
    r"""A control character in an enumerated string may be written with its short escape or with \u."""
    text = '{"enum":["\\n"]}'
    says(
        text,
        members(schema(text), 9),
        [r'"\n"'],
        "the same value; the suite pins the text that Python writes",
    )


@cause
def number_spelling() -> None:
    """Numbers in enum and const are written from a parsed value, in a spelling of the engine's own."""
    for text, own in (("1e+16", "10000000000000000"), ("1.5e-05", "0.000015"), ("-0.0", "-0")):
        why = f"{own} is the same value; the suite pins the text that Python writes"
        constant = f'{{"enum":[{text}]}}'
        says(constant, members(schema(constant), 30), [text], why)


@cause
def number_value() -> None:
    """Integers past 2 to the 53rd are rounded to a double, in constants and in bounds."""
    for text in ("9007199254740993", "100000000000000000000001"):
        constant = f'{{"enum":[{text}]}}'
        says(constant, members(schema(constant), 30), [text], "another number is written")
    text = '{"type":"integer","minimum":9007199254740993,"maximum":9007199254740993}'
    says(text, members(schema(text), 20), ["9007199254740993"], "what is written is below the minimum")


@cause
def name_by_escape() -> None:
    """In an object that is open, a name may be written once more with an escape, its value of any type."""
    text = '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}'
    written = Matcher(schema(text)).after(*(bytes([byte]) for byte in b'{"a":1,"\\u0061":"x"}'))
    why = "a reader that takes the last of two reads a as x, which is no integer"
    says(text + ' after {"a":1,"\\u0061":"x"}', written.allowed(), [], why)
    plain = Matcher(schema(text)).after(*(bytes([byte]) for byte in b'{"a":1,"a'))
    says(
        "the same with the name as it is",
        '"' in plain.allowed(),
        False,
        "the second a may go on, and not end",
    )


@cause
def stuck() -> None:
    """Where no token goes on, the mask is EOS alone though the text is not whole; nothing takes that back."""
    stopped = Matcher(regex("ac"), [b"a", b"b"]).after(b"a")
    says("ac over a, b, after a", stopped.allowed(), [], "only c goes on, and the vocabulary has none")
    matcher = stopped.matcher
    says("the same: is_accepting", matcher.is_accepting(), False, "a is no member")
    says(
        "the same: get_error",
        matcher.get_error().split()[0],
        "stuck",
        f"stop_reason: {matcher.stop_reason()}",
    )
    says("the same: consume_token(EOS)", matcher.deep_copy().consume_token(2), False, "a is no member")
    says("the same: rollback(1)", matcher.rollback(1), True, "a token was taken")
    says("the same: reset()", matcher.reset(), True, "a start exists")
    unasked = Matcher(regex("ac"), [b"a", b"b"]).after(b"a").matcher
    says("the same, no mask asked for: consume_token(EOS)", unasked.consume_token(2), False, "a is no member")


@cause
def forced_bytes_skipped() -> None:
    """Forced bytes for which tokenizing gives no token are passed over: the mask is that of the text after them."""
    smile = "😀".encode()
    tokens = [smile[:2], smile[2:], b"!", b"a", smile]
    cut = Matcher(regex("😀!"), tokens).after(smile[:2])
    says("😀! over f09f, 9880, !, a, 😀, after f09f", cut.allowed(), ["9880"], "the character is not whole")
    says("the same: what consume_token takes", cut.takes(), ["9880"], "so ! is in the mask and refused")
    cut_tokens = [shown(tokens[number]) for number in cut.tokenizer.tokenize_bytes(smile[2:])]
    says("the same: tokenize_bytes(9880)", cut_tokens, ["9880"], "the rest of a character has a token")
    says("😀* over the same", Matcher(regex("😀*"), tokens).after(smile[:2]).allowed(), ["9880"], "as above")
    other = Matcher(regex("ï[vw]"), [b"\xc3", b"v", b"w"]).after(b"\xc3")
    says("ï[vw] over c3, v, w, after c3", other.allowed(), [], "only af goes on, and the vocabulary has none")
    lark = '%llguidance { "no_forcing": true }\nstart: /😀!/\n'
    plain = Matcher(str(engine.LLMatcher.grammar_from_lark(lark)), tokens).after(smile[:2])
    says("😀! with the Lark option no_forcing", plain.allowed(), ["9880"], "nothing is tokenized")


@cause
def forced_tokens_unchecked() -> None:
    """The token of a forced mask is the tokenizer's first, whether or not its bytes are the forced ones."""

    def dropping(tokens: Sequence[bytes], data: bytes) -> list[int]:
        return [tokens.index(bytes([byte])) for byte in data if bytes([byte]) in tokens]

    matcher = Matcher(regex("ba"), [b"a", b"c"], dropping)
    says("ba over a, c; the tokenizer leaves b out", matcher.allowed(), [], "no token begins with b")
    says("the same: what consume_token takes", matcher.takes(), [], "so a is in the mask and refused")
    own = [shown(matcher.tokens[number]) for number in matcher.tokenizer.greedy_tokenize("ba")]
    says("the same: greedy_tokenize('ba')", own, "refused", "the engine's own leaves b out too")


def main() -> None:
    """One block a cause."""
    print(f"llguidance {version('llguidance')}, {len(CAUSES)} causes")
    for function in CAUSES:
        print(f"\n{function.__name__}: {function.__doc__}")
        function()


if __name__ == "__main__":
    main()
