"""Inputs that the reference core refuses, each with the place and the message that a person worked out first.

Every kind of refusal in SPEC §§1, 3 and 4 is here at least once; add a case as one line.
"""

from typing import Any

NOTHING = "has nothing to repeat; put an atom before it or write"
TWICE = "follows a quantifier (none is lazy or possessive here); group the first"
NO_QUANTIFIER = r"'{' is no quantifier {m}, {m,} or {m,n} here; write '\{' for the character"
ANCHOR = "is an anchor; remove it (whole strings match) or write"
ANCHOR_LETTER = "is an anchor; a pattern matches whole strings, remove it"
BOUNDARY = "is a word boundary, which the dialect does not have; write the alternatives out"
PROPERTY = "is a Unicode property, which the dialect does not have; list the ranges in brackets"
REFERENCE = r"is a back-reference or an octal byte; write the group again, or '\xHH' for a byte"
UNKNOWN = r"is an unknown escape; write the character alone, or a byte as '\xHH'"
ELSEWHERE = "which the dialect does not have; write '(?:' and spell it out"
OPEN = r"'(' is never closed; add ')' or write '\('"
CLOSE = r"')' closes nothing; remove it or write '\)'"
BRACKET = r"'[' is never closed; add ']' or write '\['"
BRACKETS = r"the brackets list nothing; list a member, or write '\]' for the bracket"
CLASS_END = r"has a class at an end of a range; escape the hyphen as '\-'"
HEX2 = r"'\x' comes without two hexadecimal digits; write such as '\x0a'"
HEX4 = r"'\u' comes without four hexadecimal digits or some in braces; write such as '\u00e9' or '\u{1f600}'"
SURROGATE = "is a surrogate, which has no UTF-8 form; remove it"

PATTERNS: list[tuple[str, int, str]] = [
    ("(", 0, OPEN),
    ("a(b|(c)", 1, OPEN),
    ("(?:a", 0, OPEN),
    (")", 0, CLOSE),
    ("(a))b", 3, CLOSE),
    ("ab[", 2, BRACKET),
    ("[a-", 0, BRACKET),
    ("*a", 0, rf"'*' {NOTHING} '\*'"),
    ("a|*", 2, rf"'*' {NOTHING} '\*'"),
    ("(+a)", 1, rf"'+' {NOTHING} '\+'"),
    ("?", 0, rf"'?' {NOTHING} '\?'"),
    ("a|{2}", 2, rf"'{{' {NOTHING} '\{{'"),
    ("a**", 2, f"'*' {TWICE}"),
    ("a*?", 2, f"'?' {TWICE}"),
    ("a++", 2, f"'+' {TWICE}"),
    ("a{2}{3}", 4, f"'{{' {TWICE}"),
    ("a{", 1, NO_QUANTIFIER),
    ("{", 0, NO_QUANTIFIER),
    ("a{x}", 1, NO_QUANTIFIER),
    ("a{,3}", 1, NO_QUANTIFIER),
    ("a{1, 2}", 1, NO_QUANTIFIER),
    ("a{1,2", 1, NO_QUANTIFIER),
    ("a{-1}", 1, NO_QUANTIFIER),
    ("a{٣}", 1, NO_QUANTIFIER),
    ("a{3,1}", 1, "'{3,1}' asks for at least 3 and at most 1; swap the bounds"),
    ("a{1001}", 1, "the bound 1001 is over 1000; nest two repetitions or lower it"),
    ("a{2,1001}", 1, "the bound 1001 is over 1000; nest two repetitions or lower it"),
    ("a{1001,}", 1, "the bound 1001 is over 1000; nest two repetitions or lower it"),
    (f"a{{{'9' * 5000}}}", 1, "the bound 999999999... is over 1000; nest two repetitions or lower it"),
    (r"\q", 0, rf"'\q' {UNKNOWN}"),
    (r"a[\q]", 2, rf"'\q' {UNKNOWN}"),
    (r"\b", 0, rf"'\b' {BOUNDARY}"),
    (r"[\b]", 1, rf"'\b' {BOUNDARY}"),
    (r"\B", 0, rf"'\B' {BOUNDARY}"),
    (r"(a)\1", 3, rf"'\1' {REFERENCE}"),
    (r"\0", 0, rf"'\0' {REFERENCE}"),
    (r"\p{L}", 0, rf"'\p' {PROPERTY}"),
    (r"\PL", 0, rf"'\P' {PROPERTY}"),
    ("\\\n", 0, rf"'\\u{{a}}' {UNKNOWN}"),
    ("\\é", 0, rf"'\\u{{e9}}' {UNKNOWN}"),
    ("a\\", 1, r"a backslash ends the pattern; write '\\' for the character"),
    ("[\\", 1, r"a backslash ends the pattern; write '\\' for the character"),
    ("^a", 0, rf"'^' {ANCHOR} '\^'"),
    ("a$", 1, rf"'$' {ANCHOR} '\$'"),
    (r"\Aa", 0, rf"'\A' {ANCHOR_LETTER}"),
    (r"a\Z", 1, rf"'\Z' {ANCHOR_LETTER}"),
    ("a(?=b)", 1, f"'(?=' is lookahead, {ELSEWHERE}"),
    ("(?!b)", 0, f"'(?!' is lookahead, {ELSEWHERE}"),
    ("(?<=b)", 0, f"'(?<' is lookbehind or a name, {ELSEWHERE}"),
    ("(?P<n>b)", 0, f"'(?P' is a name, {ELSEWHERE}"),
    ("(?#b)", 0, f"'(?#' is a comment, {ELSEWHERE}"),
    ("(?i)b", 0, f"'(?' is an extension, {ELSEWHERE}"),
    ("(?", 0, f"'(?' is an extension, {ELSEWHERE}"),
    ("[]", 0, BRACKETS),
    ("a[^]", 1, BRACKETS),
    ("[]a]", 0, BRACKETS),
    ("[z-a]", 1, "the range 'z-a' runs backwards; swap its ends"),
    (r"[a\x02-\x01]", 2, r"the range '\x02-\x01' runs backwards; swap its ends"),
    (r"[\d-z]", 1, rf"'\d-z' {CLASS_END}"),
    (r"[a-\w]", 1, rf"'a-\w' {CLASS_END}"),
    (r"[\S-\s]", 1, rf"'\S-\s' {CLASS_END}"),
    (r"\x4", 0, HEX2),
    (r"\xg0", 0, HEX2),
    (r"[\x]", 1, HEX2),
    ("a\ud800", 1, f"U+D800 {SURROGATE}"),
    ("[\udfff]", 1, f"U+DFFF {SURROGATE}"),
]
"""Refused in both dialects with one message."""

BYTES_ONLY: list[tuple[str, int, str]] = [
    ("[aé]", 2, "U+00E9 inside brackets is several bytes; use '|' or the dialect unicode"),
    ("[^😀]", 2, "U+1F600 inside brackets is several bytes; use '|' or the dialect unicode"),
    ("[a-é]", 3, "U+00E9 inside brackets is several bytes; use '|' or the dialect unicode"),
    (
        r"\u0041",
        0,
        r"'\u' needs the dialect unicode; write the UTF-8 bytes, or the character itself outside brackets",
    ),
]

UNICODE_ONLY: list[tuple[str, int, str]] = [
    (r"\u12", 0, HEX4),
    (r"\u{}", 0, HEX4),
    (r"\u{1234567}", 0, "0x1234567 is over the last code point, U+10FFFF; lower it"),
    (r"\u{110000}", 0, "0x110000 is over the last code point, U+10FFFF; lower it"),
    (r"a\ud800", 1, f"U+D800 {SURROGATE}"),
    (r"[\u{d800}-\u{dfff}]", 1, f"U+D800 {SURROGATE}"),
    ("[é-á]", 1, r"the range '\u{e9}-\u{e1}' runs backwards; swap its ends"),
]

ALL_PATTERNS = (
    [(pattern, dialect, at, why) for pattern, at, why in PATTERNS for dialect in ("bytes", "unicode")]
    + [(pattern, "bytes", at, why) for pattern, at, why in BYTES_ONLY]
    + [(pattern, "unicode", at, why) for pattern, at, why in UNICODE_ONLY]
)


OUTSIDE = "is outside the subset"
NO_SCHEMA = "is no schema of the subset; write an object with a type"
NO_TYPE = "is no type; use one of object, array, string, integer, number, boolean, null"
NO_LIST = "is no list with at least one entry; list the choices"
NO_NAME = "is no name in properties; add it there or remove it"
NO_COUNT = "is no count of items; write an integer from 0"
OVER = "is over 1001, the most a pattern can count; lower it"
NOT_STRING = "is not of type 'string'; change the type or the value"
ANYTHING = "neither type nor enum, const, anyOf: any value would do; name a type"
LONE = "JSON string, position 0: U+D800 is a lone surrogate, not a character; remove it"
A = "a value of Python's type"
NUL = {"type": "null"}
ARRAY = {"type": "array", "items": NUL}

SCHEMAS: list[tuple[str, Any, str, str]] = [
    ("true", True, "", f"True {NO_SCHEMA}"),
    ("false inside", {"anyOf": [NUL, False]}, "anyOf[1]", f"False {NO_SCHEMA}"),
    ("a list", {"type": "array", "items": [NUL]}, "items", f"{A} list {NO_SCHEMA}"),
    ("no type", {}, "", ANYTHING),
    ("only annotations", {"title": "x"}, "", ANYTHING),
    (
        "unknown keyword",
        {"type": "string", "pattern": "a"},
        "pattern",
        f"the keyword 'pattern' {OUTSIDE}; remove it",
    ),
    ("unknown beside const", {"const": 1, "not": {}}, "not", f"the keyword 'not' {OUTSIDE}; remove it"),
    (
        "deep inside",
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "integer", "minimum": 1}}},
        },
        "properties.a.items.minimum",
        f"the keyword 'minimum' {OUTSIDE}; remove it",
    ),
    (
        "two types",
        {"type": ["string", "null"]},
        "type",
        "a list of types is outside the subset; name one, or use anyOf",
    ),
    ("unknown type", {"type": "text"}, "type", f"'text' {NO_TYPE}"),
    ("type null", {"type": None}, "type", f"None {NO_TYPE}"),
    (
        "foreign keyword",
        {"type": "string", "items": NUL},
        "items",
        "'items' does not belong to type 'string'; remove one of them",
    ),
    (
        "array keyword",
        {"type": "object", "minItems": 1},
        "minItems",
        "'minItems' does not belong to type 'object'; remove one of them",
    ),
    (
        "object keyword",
        {**ARRAY, "required": []},
        "required",
        "'required' does not belong to type 'array'; remove one of them",
    ),
    ("no items", {"type": "array"}, "", "an array without items could hold anything; give items a schema"),
    ("negative bound", {**ARRAY, "minItems": -1}, "minItems", f"-1 {NO_COUNT}"),
    ("float bound", {**ARRAY, "maxItems": 2.0}, "maxItems", f"2.0 {NO_COUNT}"),
    ("true bound", {**ARRAY, "maxItems": True}, "maxItems", f"True {NO_COUNT}"),
    (
        "bounds swapped",
        {**ARRAY, "minItems": 2, "maxItems": 1},
        "maxItems",
        "1 is less than minItems 2; swap the bounds",
    ),
    ("bound too large", {**ARRAY, "minItems": 1002}, "minItems", f"1002 {OVER}"),
    ("huge bound", {**ARRAY, "maxItems": 10**5000}, "maxItems", f"an integer of 16610 bits {OVER}"),
    (
        "open object",
        {"type": "object", "additionalProperties": True},
        "additionalProperties",
        "True is outside the subset; write false or leave it out",
    ),
    (
        "open by schema",
        {"type": "object", "additionalProperties": NUL},
        "additionalProperties",
        f"{A} dict is outside the subset; write false or leave it out",
    ),
    (
        "properties a list",
        {"type": "object", "properties": ["a"]},
        "properties",
        f"{A} list is no object; map each name to a schema",
    ),
    (
        "unknown required",
        {"type": "object", "properties": {"a": NUL}, "required": ["b"]},
        "required",
        f"'b' {NO_NAME}",
    ),
    ("required without properties", {"type": "object", "required": ["b"]}, "required", f"'b' {NO_NAME}"),
    (
        "required a number",
        {"type": "object", "properties": {"a": NUL}, "required": [1]},
        "required",
        f"1 {NO_NAME}",
    ),
    (
        "required a list in a list",
        {"type": "object", "properties": {}, "required": [[]]},
        "required",
        f"{A} list {NO_NAME}",
    ),
    (
        "required twice",
        {"type": "object", "properties": {"a": NUL}, "required": ["a", "a"]},
        "required",
        "'a' is named twice; keep one",
    ),
    (
        "required a text",
        {"type": "object", "properties": {"a": NUL}, "required": "a"},
        "required",
        "'a' is no list; list the names of the required properties",
    ),
    ("empty enum", {"enum": []}, "enum", f"{A} list {NO_LIST}"),
    ("enum no list", {"enum": "a"}, "enum", f"'a' {NO_LIST}"),
    ("empty anyOf", {"anyOf": []}, "anyOf", f"{A} list {NO_LIST}"),
    (
        "beside enum",
        {"enum": [1], "minItems": 1},
        "minItems",
        "'minItems' beside 'enum' is outside the subset; keep one of them",
    ),
    (
        "beside const",
        {"const": 1, "anyOf": [NUL]},
        "anyOf",
        "'anyOf' beside 'const' is outside the subset; keep one of them",
    ),
    (
        "type beside anyOf",
        {"type": "null", "anyOf": [NUL]},
        "type",
        "'type' beside 'anyOf' is outside the subset; keep one of them",
    ),
    ("value of another type", {"type": "string", "enum": ["a", 1]}, "enum", f"1 {NOT_STRING}"),
    (
        "true is no integer",
        {"type": "integer", "const": True},
        "const",
        "True is not of type 'integer'; change the type or the value",
    ),
    (
        "fraction is no integer",
        {"type": "integer", "const": 2.5},
        "const",
        "2.5 is not of type 'integer'; change the type or the value",
    ),
    ("unknown type of a value", {"type": "text", "const": 1}, "type", f"'text' {NO_TYPE}"),
    (
        "not a number",
        {"const": float("nan")},
        "const",
        "JSON value: nan has no JSON text; use null, a string or a finite number",
    ),
    ("surrogate in a value", {"enum": ["\ud800"]}, "enum", LONE),
    ("surrogate in a name", {"type": "object", "properties": {"\ud800": NUL}}, "properties", LONE),
    ("a name that is no text", {"type": "object", "properties": {1: NUL}}, "properties", f"1 {NOT_STRING}"),
]


UNSUPPORTED = """
$ref $defs $id $anchor allOf oneOf not if then else dependentSchemas prefixItems contains patternProperties
propertyNames unevaluatedItems unevaluatedProperties multipleOf maximum exclusiveMaximum minimum exclusiveMinimum
maxLength minLength pattern uniqueItems maxContains minContains maxProperties minProperties dependentRequired format
contentEncoding contentMediaType contentSchema definitions dependencies additionalItems nullable x-anything
"""
"""Keywords of JSON Schema, old and new, that the subset does not have."""

NO_VALUE = "begins no JSON value; write a string, number, true, false, null, '[' or '{'"
KEY = "stands where a key belongs; write a string in double quotes"

TEXTS: list[tuple[str | bytes, int, str]] = [
    ("", 0, f"the end of the text {NO_VALUE}"),
    (" \n", 2, f"the end of the text {NO_VALUE}"),
    ("[1,]", 3, f"']' {NO_VALUE}"),
    ("[1", 2, "the end of the text comes after a member; write ',' or ']'"),
    ('{"a":1]', 6, "']' comes after a member; write ',' or '}'"),
    ('{"a":1,}', 7, f"'}}' {KEY}"),
    ("{a:1}", 1, f"'a' {KEY}"),
    ('{"a" 1}', 5, "'1' comes after a key; write ':'"),
    ("1 2", 2, "'2' follows the whole value; a text is one value"),
    ("01", 1, "'1' follows the whole value; a text is one value"),
    ("[] ]", 3, "']' follows the whole value; a text is one value"),
    ("NaN", 0, f"'NaN' {NO_VALUE}"),
    ("[Infinity]", 1, f"'Infinity' {NO_VALUE}"),
    ("-Infinity", 0, f"'-' {NO_VALUE}"),
    ("+1", 0, f"'+' {NO_VALUE}"),
    ("'a'", 0, f'"\'" {NO_VALUE}'),
    ("True", 0, f"'True' {NO_VALUE}"),
    ("\xa01", 0, rf"'\xa0' {NO_VALUE}"),
    ("[1e999]", 1, "1e999 overflows to infinity; a double ends near 1.8e308"),
    ("-1e309", 0, "-1e309 overflows to infinity; a double ends near 1.8e308"),
    ("\ufeff1", 0, "a byte-order mark comes before the value; remove it"),
    (b"\xef\xbb\xbf1", 0, "a byte-order mark comes before the value; remove it"),
    ('["a', 3, "the text ends inside a string; close it with '\"'"),
    ('"a\\', 3, "the text ends inside an escape; close the string with '\"'"),
    ('"a\\q"', 2, r"'q' after a backslash is no escape; write '\\' for a backslash"),
    ('"\\u12"', 1, r"'\u' comes without four hexadecimal digits; write such as '\u00e9'"),
    ('"a\nb"', 2, r"a control character stands raw in a string; write '\u000a'"),
    ('"\\ud800"', 1, r"\ud800 is a lone surrogate; write both halves of the pair"),
    ('"a\\udc00\\ud800"', 2, r"\udc00 is a lone surrogate; write both halves of the pair"),
    ('"\\ud800\\udbff\\udc00"', 1, r"\ud800 is a lone surrogate; write both halves of the pair"),
    ('"\\ud800\\u0041"', 1, r"\ud800 is a lone surrogate; write both halves of the pair"),
    ('"\ud800"', 1, "U+D800 is a lone surrogate, not a character; remove it"),
    (b'"\xc3\xa9\xff"', 2, "byte 0xff is not UTF-8 here; save the text as UTF-8"),
]
