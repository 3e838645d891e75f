"""What the columns ask: small languages, schemas, vocabularies and tool texts, chosen to touch every edge once."""

from typing import Any, Literal

# (pattern, dialect): each touches an edge that some pitfall is about.
LANGUAGES: tuple[tuple[str, Literal["bytes", "unicode"]], ...] = (
    (r"(cat|car|dog)s?", "bytes"),
    (r"ab?", "bytes"),
    (r"", "bytes"),
    (r"[\x00-\xff]*", "bytes"),
    (r"[^ab]*", "bytes"),
    (r"a*(?:b|c)*", "bytes"),
    (r"(?:ab|ba){2,3}c{2}", "bytes"),
    (r"a{0,3}b{2,}c{1}", "bytes"),
    (r"é*!|日本+", "bytes"),
    (r"\w\W\s\S\d\D", "bytes"),
    (r"[^\d]|\x00[\x7f\x80]\xff", "bytes"),
    (r".\n.", "bytes"),
    (r"[a\-c]|[-x]|[y-]|[\]\^]|[^^]z", "bytes"),
    (r"\t\v\f\r\n\ \.", "bytes"),
    (r"(?:|a)(?:b|)", "bytes"),
    (r"(?:a|aa|aaa)(?:a|ab)*b", "bytes"),
    (r"(?:abcd|abed|ab[x-z]d|efcd)+", "bytes"),
    (r"[à-ÿ]|[\u07ff-\u0801]", "unicode"),
    (r"[\ud7ff\ue000]|[\uffff\u{10000}]", "unicode"),
    (r"[^\u0000-\u{10fffe}]|\xe9", "unicode"),
    (r".é", "unicode"),
)

SCHEMAS: tuple[Any, ...] = (
    {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}},
    {"type": "object", "properties": {"b": {"type": "null"}, "a": {"type": "boolean"}}, "required": ["a"]},
    {"type": "object", "properties": {}},
    {"type": "array", "items": {"type": "null"}},
    {"type": "array", "items": {"type": "null"}, "minItems": 1},
    {"type": "array", "items": {"type": "null"}, "minItems": 3},
    {"type": "array", "items": {"type": "null"}, "maxItems": 2},
    {"type": "array", "items": {"type": "null"}, "minItems": 1, "maxItems": 3},
    {"type": "array", "items": {"type": "null"}, "maxItems": 0},
    {"enum": ["2.5", 2.5, 1.5e-05, 1e16, -0.0, 'a"b\\c', "é/漢", "\u0001\u007f", [1, {"k": []}], None, True]},
    {"const": {"b.c": "x*", "a": 1e22}},
    {"anyOf": [{"type": "number"}, {"enum": ["none"]}, {"type": "boolean"}]},
    {"type": "string"},
)

REFUSED_PATTERNS: tuple[str, ...] = (
    *("(a", "a)", "[a", "*a", "a|*", "a**", "a*?", "a{x}", "a{3,1}", "a{1001}", r"\q", r"\b", r"\1", "a\\"),
    *(
        "^a",
        "a$",
        r"\A",
        "(?=a)",
        "[]",
        "[z-a]",
        r"[\d-z]",
        "[é]",
        r"[^\x00-\xff]",
        r"a[^\x00-\xff]b",
        r"\u00e9",
    ),
)

REFUSED_SCHEMAS: tuple[Any, ...] = (
    *({}, True, {"type": "array"}, {"enum": []}, {"anyOf": []}, {"type": ["string", "null"]}),
    {"type": "string", "minLength": 1},
    {"type": "integer", "minimum": 0},
    {"type": "string", "properties": {}},
    {"type": "object", "properties": {}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a", "a"]},
    {"type": "object", "additionalProperties": True},
    {"type": "array", "items": {"type": "null"}, "minItems": 2, "maxItems": 1},
    {"enum": ["a"], "items": {"type": "null"}},
    {"anyOf": [{"type": "null"}], "type": "null"},
    {"enum": ["a", 1], "type": "string"},
)

LETTERS = tuple(bytes([byte]) for byte in range(256))
# Enough tokens that a state allows thousands of them, where masks are made in another way than where it allows few.
PAIRS = tuple(bytes([first, second]) for first in range(0, 256, 3) for second in range(0, 256, 4))
VOCABULARIES: dict[str, tuple[tuple[bytes | None, ...], frozenset[int]]] = {
    "pairs": ((*LETTERS, *PAIRS, None), frozenset({256 + len(PAIRS)})),
    # duplicates, an empty token, a special, padding, two EOS ids (one with bytes), V not a multiple of 32
    "pieces": (
        (
            *(bytes([byte]) for byte in b"abcdxyz!s"),
            b"ab",
            b"cd",
            b"car",
            b"cats",
            b"ca",
            b"ab",
            b"",
            None,
            "é".encode(),
            b"\xc3",
            b"\xa9",
            "日本".encode(),
            b"\xe6\x97",
            b"\xa5\xe6",
            b"og",
            b"d",
            b"aaa",
            b"bb",
            b"</s>",
            None,
            b"c",
            b"zd",
            b"ba",
            b"abc",
            None,
            None,
        ),
        frozenset({27, 32}),
    ),
    "bytes": (
        (*LETTERS, None, b"\x00\x01", b"\xff\xff", b"12", b"null", b'"x":', b"true", b",", None),
        frozenset({256}),
    ),
}

TOOLS = """{"tools":[{"type":"function","function":{"name":"get_weather","description":"w","parameters":
{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},{"type":"function","function":
{"name":"ping"}}],"tool_choice":%s%s}"""

TOOL_TEXTS: tuple[str, ...] = (
    'Sure.<tool_call>{"name":"get_weather","arguments":{"city":"Paris"}}</tool_call>',
    '<tool_call>{"name":"a","arguments":{}}</tool_call>\n<tool_call>{"name":"b","arguments":{"q":"}</tool_call>\\""}}'
    "</tool_call> then é",
    "a<b and <tool_ and <tool_call>, no header",
    '<tool_call>{"name":"cut","arguments":{"a":[1,{"b":"',
    "text that ends in <tool_c",
)
