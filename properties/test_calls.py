"""ConstrainCall without a model: the files, the two decoders and their proof, the resumed output, the scores."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engine.calls.accuracy import call_in, is_same, score
from engine.calls.compiled import Compiled
from engine.calls.decoders import DECODERS, make_grammar
from engine.calls.equivalence import equivalence
from engine.calls.grammar import explore
from engine.calls.inputs import Function, Parameter, Prompt, problems_of_call, read_functions, read_prompts
from engine.calls.procedural import Procedural
from engine.calls.writing import Output, read_output
from engine.errors import BadInput
from fixtures import ROOT
from oracles.call_language import automaton, different_call
from reference.bitmasks import unpack
from reference.jsontext import dumps
from reference.vocabulary import Vocabulary, load_vocabulary

CALLS, SCHEMAS = ROOT / "calls", ROOT / "schemas"
FUNCTIONS = CALLS / "functions_definition.json"
BYTES = Vocabulary((*(bytes([byte]) for byte in range(256)), None), frozenset({256}), "bytes")
TYPES = ("string", "number", "integer", "boolean")


def the_functions() -> tuple[Function, ...]:
    return read_functions(FUNCTIONS)


def signatures(functions):
    return [(f.name, [(p.name, p.type) for p in f.parameters]) for f in functions]


def written(folder: Path, text: str) -> Path:
    path = folder / "file.json"
    path.write_text(text, encoding="utf-8")
    return path


# ---- the files


@pytest.mark.parametrize(
    ("file", "schema"),
    [
        ("functions_definition.json", "call-functions"),
        ("function_calling_tests.json", "call-prompts"),
        ("expected_calls.json", "call-prompts"),
    ],
)
def test_the_files_that_come_with_the_suite_are_what_their_schemas_describe(file, schema):
    described = json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(described).validate(json.loads((CALLS / file).read_text(encoding="utf-8")))


def test_the_seeds_five_functions_are_there():
    assert [(f.name, tuple(p.name for p in f.parameters)) for f in the_functions()] == [
        ("fn_add_numbers", ("a", "b")),
        ("fn_greet", ("name",)),
        ("fn_reverse_string", ("s",)),
        ("fn_get_square_root", ("a",)),
        ("fn_substitute_string_with_regex", ("source_string", "regex", "replacement")),
    ]


def test_at_least_forty_prompts_have_an_expected_call_and_every_function_is_wanted():
    prompts = read_prompts(CALLS / "expected_calls.json", the_functions())
    assert len(prompts) >= 40
    assert {prompt.expected["name"] for prompt in prompts} == {f.name for f in the_functions()}
    assert len({prompt.text for prompt in prompts}) == len(prompts)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[\n{\n", "line 3: JSON, position 4"),
        ('[{"name": "f", "name": "g", "parameters": {}}]', "line 1: JSON"),
        ("[]", "line 1: the file: a list with at least one object"),
        ('{"name": "f"}', "line 1: the file: a list"),
        ("[\n  3\n]", "line 2: 0: an object is expected, this is a number"),
        ('[\n{"parameters": {}}]', "line 2: 0: 'name' is missing"),
        (
            '[{"name":\n"", "parameters": {}}]',
            "line 2: 0.name: a non-empty string is expected, this is an empty string",
        ),
        ('[{"name": "f"}]', "line 1: 0: 'parameters' is missing"),
        (
            '[{"name": "f",\n"parameters":\n[]}]',
            "line 3: 0.parameters: an object is expected, this is a list",
        ),
        (
            '[{"name": "f", "parameters": {"a":\n{"type": "array"}}}]',
            "line 2: 0.parameters.a.type: a type is one of string",
        ),
        ('[{"name": "f", "parameters": {"a":\n{}}}]', "line 2: 0.parameters.a: a type is one of"),
        (
            '[{"name": "f", "parameters": {"a": {"type": "string",\n"minLength": 1}}}]',
            "line 2: 0.parameters.a.minLength: unknown key",
        ),
        (
            '[{"name": "f", "parameters": {}},\n{"name": "f", "parameters": {}}]',
            "line 2: 1.name: 'f' is the name of an earlier",
        ),
        (
            '[{"name": "f", "parameters": {}, "returns":\nnull}]',
            "line 2: 0.returns: an object is expected, this is null",
        ),
        ('[{"name": "f", "parameters": {}, "strict": true}]', "line 1: 0.strict: unknown key"),
    ],
)
def test_a_bad_functions_file_is_refused_with_file_line_and_reason(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        read_functions(path)
    assert str(caught.value).startswith(f"{path}, {said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[{"prompt": "a"},\n\n{"text": "b"}]',
            "line 3: 1.text: unknown key; an object here has prompt, expected",
        ),
        ('[{"prompt": 3}]', "line 1: 0.prompt: a non-empty string is expected, this is a number"),
        (
            '[{"prompt": "a",\n"expected": {"name": "no", "parameters": {}}}]',
            "line 2: 0.expected: no function is named 'no'",
        ),
        (
            '[{"prompt": "a", "expected": {"name": "fn_greet", "parameters": {"name": 3}}}]',
            "line 1: 0.expected: argument name of fn_greet is a string",
        ),
        (
            '[{"prompt": "a", "expected": {"name": "fn_add_numbers", "parameters": {"b": 1, "a": 2}}}]',
            "line 1: 0.expected: the arguments of fn_add_numbers are a, b, in this order",
        ),
    ],
)
def test_a_bad_prompts_file_is_refused_with_file_line_and_reason(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        read_prompts(path, the_functions())
    assert str(caught.value).startswith(f"{path}, {said}")


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path):
    with pytest.raises(BadInput, match=r"absent\.json: cannot be read"):
        read_functions(tmp_path / "absent.json")


def test_true_is_no_number_and_a_half_is_no_integer():
    functions = (Function("f", "", (Parameter("n", "number"), Parameter("i", "integer")), None),)
    good = {"name": "f", "parameters": {"n": 1, "i": 2}}
    assert problems_of_call(good, functions) is None
    assert (
        problems_of_call({"name": "f", "parameters": {"n": True, "i": 2}}, functions)
        == "argument n of f is a number"
    )
    assert (
        problems_of_call({"name": "f", "parameters": {"n": 1, "i": 2.5}}, functions)
        == "argument i of f is a integer"
    )


# ---- the language of calls

HAND = [("f", [("n", "number"), ("s", "string")]), ("go", []), ("fan", [("ok", "boolean")])]


@pytest.mark.parametrize(
    ("text", "is_call"),
    [
        (b'{"name":"go","parameters":{}}', True),
        (b'{"name":"fan","parameters":{"ok":true}}', True),
        (b'{"name":"f","parameters":{"n":-1.5e+3,"s":"a\\u00e9\xc3\xa9\\n"}}', True),
        (b'{"name":"f","parameters":{"n":0,"s":""}}', True),
        (b'{"name": "go","parameters":{}}', False),
        (b'{"name":"fa","parameters":{}}', False),
        (b'{"name":"fan","parameters":{"ok":1}}', False),
        (b'{"name":"f","parameters":{"n":01,"s":""}}', False),
        (b'{"name":"f","parameters":{"n":.5,"s":""}}', False),
        (b'{"name":"f","parameters":{"n":1.,"s":""}}', False),
        (b'{"name":"f","parameters":{"s":"","n":1}}', False),
        (b'{"name":"f","parameters":{"n":1,"s":"\n"}}', False),
        (b'{"name":"f","parameters":{"n":1,"s":"\xed\xa0\x80"}}', False),
        (b'{"name":"f","parameters":{"n":1,"s":"\xc0\x80"}}', False),
        (b'{"name":"go","parameters":{}}}', False),
    ],
)
def test_the_oracle_knows_calls_that_a_person_worked_out(text, is_call):
    accept, table = automaton(HAND)
    state = 0
    for byte in text:
        state = table[state][byte] if state >= 0 else -1
    assert (state in accept) is is_call


@pytest.mark.parametrize("vocabulary", ["bytes", "smollm2"])
def test_both_decoders_write_the_same_calls(vocabulary):
    """L(procedural) = L(oracle) = L(compiled), over all byte strings."""
    found = equivalence(the_functions(), BYTES if vocabulary == "bytes" else load_vocabulary("smollm2"))
    assert found.different == {"procedural": None, "automaton": None}
    assert found.not_alone == b""
    assert found.holds


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)
parameters = st.dictionaries(names, st.sampled_from(TYPES), max_size=3)
several_functions = st.dictionaries(names, parameters, min_size=1, max_size=3).map(
    lambda found: tuple(
        Function(name, "", tuple(Parameter(p, kind) for p, kind in given_.items()), None)
        for name, given_ in found.items()
    )
)


@settings(max_examples=12, deadline=None)
@given(several_functions)
def test_both_decoders_write_the_same_calls_of_any_functions(functions):
    assert equivalence(functions, BYTES).different == {"procedural": None, "automaton": None}


@pytest.mark.parametrize(
    "wrong",
    [
        [("f", [("n", "integer"), ("s", "string")]), ("go", []), ("fan", [("ok", "boolean")])],
        [("f", [("s", "string"), ("n", "number")]), ("go", []), ("fan", [("ok", "boolean")])],
        [("f", [("n", "number"), ("s", "string")]), ("go", [])],
        [("f", [("n", "number"), ("s", "string")]), ("goo", []), ("fan", [("ok", "boolean")])],
    ],
)
def test_the_oracle_finds_a_decoder_of_other_functions(wrong):
    functions = tuple(Function(n, "", tuple(Parameter(p, k) for p, k in given_), None) for n, given_ in wrong)
    for decoder in DECODERS:
        walked = explore(make_grammar(decoder, functions, BYTES))
        witness = different_call(HAND, walked.accept, walked.table)
        assert witness is not None
        assert json.loads(witness)["name"] in {name for name, _ in [*HAND, *wrong]}


def along(functions, vocabulary, text):
    """Positions of both decoders after every beginning of a call."""
    procedural, compiled = Procedural(functions, vocabulary), Compiled(functions, vocabulary)
    for end in range(len(text)):
        yield (
            procedural,
            procedural.step(procedural.start, text[:end]),
            compiled,
            compiled.step(0, text[:end]),
        )


CALL = (
    b'{"name":"fn_substitute_string_with_regex",'
    b'"parameters":{"source_string":"a\\"b \xc3\xa9","regex":"[0-9]","replacement":""}}'
)


def test_forced_text_is_the_same_for_both_decoders():
    for procedural, place, compiled, state in along(the_functions(), BYTES, CALL):
        assert procedural.forced(place) == compiled.forced(state)


def test_no_token_is_allowed_by_the_procedural_decoder_that_the_automaton_forbids():
    vocabulary = load_vocabulary("smollm2")
    for procedural, place, compiled, state in along(the_functions(), vocabulary, CALL):
        assert not (procedural.bitmask(place) & ~compiled.bitmask(state)).any()


def test_both_decoders_allow_the_same_single_bytes():
    for procedural, place, compiled, state in along(the_functions(), BYTES, CALL):
        assert (unpack(procedural.bitmask(place), 257) == unpack(compiled.bitmask(state), 257)).all()


def test_the_shortest_way_out_makes_a_call_whole():
    for procedural, place, compiled, state in along(the_functions(), BYTES, CALL):
        for grammar, position in ((procedural, place), (compiled, state)):
            assert grammar.is_complete(grammar.step(position, grammar.ending(position)))


def test_a_decoder_takes_no_token_that_it_does_not_allow():
    procedural = Procedural(the_functions(), BYTES)
    with pytest.raises(BadInput, match="does not go on here"):
        procedural.advance(procedural.start, ord("x"))


# ---- the output

PROMPTS = (Prompt("one"), Prompt("two"), Prompt("three"))
ANSWER = {"name": "fn_greet", "parameters": {"name": "Zoë"}}


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_an_answer_is_a_line_that_its_schema_describes(tmp_path):
    with Output(tmp_path / "out.jsonl", PROMPTS, the_functions()) as output:
        output.append(PROMPTS[0], ANSWER)
    (line,) = lines_of(tmp_path / "out.jsonl")
    described = json.loads((SCHEMAS / "call-answer.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(described).validate(json.loads(line))
    assert line.decode() == '{"prompt":"one","name":"fn_greet","parameters":{"name":"Zoë"}}\n'


@pytest.mark.parametrize("cut", range(0, 66, 5))
def test_a_torn_last_line_is_written_anew_and_whole_lines_stay(tmp_path, cut):
    path = tmp_path / "out.jsonl"
    line = dumps({"prompt": "two", **ANSWER}).encode()
    whole = dumps({"prompt": "one", **ANSWER}).encode() + b"\n"
    path.write_bytes(whole + line[:cut])
    with Output(path, PROMPTS, the_functions()) as output:
        assert output.done == [ANSWER]
        output.append(PROMPTS[1], ANSWER)
    assert path.read_bytes() == whole + line + b"\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"prompt":"two","name":"fn_greet","parameters":{"name":""}}\n',
            "line 1: .* it answers 'two', prompt 1 is 'one'",
        ),
        ('{"prompt":"one","name":"fn_no","parameters":{}}\n', "line 1: .* no function is named 'fn_no'"),
        (
            '{"prompt":"one","name":"fn_greet","parameters":{"name":3}}\n',
            "line 1: .* argument name of fn_greet is a string",
        ),
        ("hello\n", "line 1: .* JSON, position 0"),
        ('{"name":"fn_greet","parameters":{"name":""}}\n', "line 1: .* the keys prompt, name and parameters"),
    ],
)
def test_a_file_of_another_job_is_refused_and_left_as_it_is(tmp_path, text, said):
    path = tmp_path / "out.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=said):
        Output(path, PROMPTS, the_functions())
    assert path.read_text(encoding="utf-8") == text


def test_more_lines_than_prompts_are_another_job(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("".join(dumps({"prompt": p.text, **ANSWER}) + "\n" for p in PROMPTS), encoding="utf-8")
    assert read_output(path, PROMPTS, the_functions()) == [ANSWER] * 3
    with pytest.raises(BadInput, match=r"line 3: .* there are only 2 prompts"):
        Output(path, PROMPTS[:2], the_functions())


# ---- the scores


def test_numbers_are_the_same_by_value_and_truth_is_no_number():
    assert is_same({"a": 2, "b": "x"}, {"b": "x", "a": 2.0})
    assert not is_same({"a": 1}, {"a": True})
    assert not is_same({"a": 1}, {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            'Sure! {"name":"fn_greet","parameters":{"name":"Bo"}} done',
            {"name": "fn_greet", "parameters": {"name": "Bo"}},
        ),
        (
            '{"function":{"name":"fn_greet","arguments":{"name":"Bo"}}}',
            {"name": "fn_greet", "parameters": {"name": "Bo"}},
        ),
        (
            '{"function":"fn_add_numbers","args":{"b":1,"a":2}}',
            {"name": "fn_add_numbers", "parameters": {"a": 2, "b": 1}},
        ),
        ('{"answer": 5} {"name": "fn_x"}', {"name": "fn_x", "parameters": {}}),
        ('{"name": "fn_greet", "parameters": {"name": "Bo"', None),
        ("The answer is 5.", None),
        ("{" * 5000, None),
    ],
)
def test_the_best_is_read_out_of_free_text(text, found):
    call = call_in(text, the_functions())
    assert call == found
    assert call is None or list(call["parameters"]) == list(found["parameters"])


def test_a_score_counts_what_each_word_says():
    wanted = {"name": "fn_add_numbers", "parameters": {"a": 2, "b": 3}}
    prompts = [Prompt("p", wanted)] * 4 + [Prompt("unknown")]
    calls = [
        wanted,
        {"name": "fn_add_numbers", "parameters": {"a": 3, "b": 2}},
        {"name": "fn_x", "parameters": {}},
        None,
        wanted,
    ]
    found = score(zip(prompts, calls, strict=True), the_functions())
    assert (found.asked, found.called, found.valid, found.function, found.arguments, found.both) == (
        4,
        3,
        2,
        2,
        1,
        1,
    )
