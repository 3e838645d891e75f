"""What a general mutation tool could change in the reference without any other test seeing it (docs/mutation.md)."""

import math
import warnings

import numpy as np
import pytest

from reference.compile import regex_to_dfa
from reference.constraint import apply_mask
from reference.errors import MaskError, PatternError, Refused
from reference.masks import TokenIndex
from reference.patterns import Repeat, parse
from reference.pcg32 import Pcg32
from reference.sampling import SamplingError, SamplingParams, distribution, sample
from reference.toolstream import (
    Arguments,
    CallStart,
    Content,
    Event,
    Header,
    ToolCall,
    ToolParser,
    Value,
    collect,
    delta_json,
    message_json,
    read_header,
    step,
)
from reference.utf8 import byte_ranges
from reference.vocabulary import Vocabulary

MOST = (1 << 64) - 1
HAND = Vocabulary((b"a", b"b", b"", None, None), frozenset({4}), "hand")


def test_leading_zeros_of_a_bound_count_for_nothing() -> None:
    assert parse("a{0000000003}") == Repeat(parse("a"), 3, 3)


@pytest.mark.parametrize(("digits", "shown"), [("9" * 12, "9" * 12), ("9" * 13, "9" * 9 + "...")])
def test_a_bound_of_up_to_twelve_digits_is_shown_whole(digits: str, shown: str) -> None:
    with pytest.raises(PatternError) as refusal:
        parse(f"a{{{digits}}}")
    assert f"the bound {shown} is over 1000; " in str(refusal.value)


@pytest.mark.parametrize(
    ("state", "inc", "message"),
    [
        (0, 0.5, "Pcg32: inc 0.5 is not an integer; give one of 0 … 2⁶⁴ − 1"),
        (0, MOST + 2, f"Pcg32: inc {MOST + 2} is not in 0 … 2⁶⁴ − 1; reduce it first"),
        (-1, 1, "Pcg32: state -1 is not in 0 … 2⁶⁴ − 1; reduce it first"),
        ("0", 1, "Pcg32: state '0' is not an integer; give one of 0 … 2⁶⁴ − 1"),
    ],
)
def test_a_generator_goes_on_from_whole_numbers_of_64_bits_only(state: int, inc: int, message: str) -> None:
    with pytest.raises(Refused) as refusal:
        Pcg32.at(state, inc)
    assert str(refusal.value) == message


def test_the_largest_state_increment_seed_and_sequence_are_taken() -> None:
    last = Pcg32.at(MOST, MOST)
    assert (last.state, last.inc) == (MOST, MOST)
    assert Pcg32(MOST, MOST).inc == MOST


def test_top_p_of_one_keeps_tokens_of_no_weight() -> None:
    """1 is off: a token that top_k kept stays a candidate though it adds nothing to the sum."""
    ids, probabilities = distribution([0.0, -math.inf], [True, True], SamplingParams(top_k=2))
    assert (ids.tolist(), probabilities.tolist()) == ([0, 1], [1.0, 0.0])


def test_all_scalars_are_the_nine_products_of_rfc_3629() -> None:
    """§4, UTF8-1 to UTF8-4: no set is cut finer than the encoding asks for."""
    tail = (0x80, 0xBF)
    assert list(byte_ranges(((0, 0x10FFFF),))) == [
        ((0x00, 0x7F),),
        ((0xC2, 0xDF), tail),
        ((0xE0, 0xE0), (0xA0, 0xBF), tail),
        ((0xE1, 0xEC), tail, tail),
        ((0xED, 0xED), (0x80, 0x9F), tail),
        ((0xEE, 0xEF), tail, tail),
        ((0xF0, 0xF0), (0x90, 0xBF), tail, tail),
        ((0xF1, 0xF3), tail, tail, tail),
        ((0xF4, 0xF4), (0x80, 0x8F), tail, tail),
    ]


@pytest.mark.parametrize(
    ("params", "penalised"),
    [
        (SamplingParams(repetition_penalty=2), 1.0),
        (SamplingParams(presence_penalty=0.5), 1.5),
        (SamplingParams(frequency_penalty=0.5), 1.0),
        (SamplingParams(presence_penalty=0.5, frequency_penalty=0.5), 0.5),
        (SamplingParams(presence_penalty=1, frequency_penalty=1), -1.0),
    ],
)
def test_each_penalty_works_alone(params: SamplingParams, penalised: float) -> None:
    """Token 1 has logit 2 and is twice in the output; token 0 is nowhere."""
    _, probabilities = distribution([2.0, 2.0], [True, True], params, [], [1, 1])
    assert math.log(probabilities[1] / probabilities[0]) == pytest.approx(penalised - 2)


def test_an_empty_prompt_and_output_hold_no_token() -> None:
    params = SamplingParams(repetition_penalty=2, presence_penalty=1, frequency_penalty=1)
    assert distribution([2.0, 2.0], [True, True], params)[1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("what", ["prompt", "output"])
def test_an_id_that_the_logits_lack_is_refused_with_the_ids_that_they_have(what: str) -> None:
    prompt, output = ([4], []) if what == "prompt" else ([], [4])
    with pytest.raises(SamplingError) as refusal:
        sample([0.0] * 4, [True] * 4, SamplingParams(), prompt, output, Pcg32(0, 0))
    assert str(refusal.value) == (f"sampling, {what}: an id outside 0 … 3; give ids that the logits have")


def test_ties_go_by_id_in_a_long_row_too() -> None:
    """A sort that is not stable keeps the order of a short row by chance."""
    logits = [float(token % 2) for token in range(5000)]
    ids, _ = distribution(logits, [True] * 5000, SamplingParams(top_k=1000))
    assert ids.tolist() == list(range(1, 2000, 2))


def test_an_infinite_logit_is_alone_at_any_temperature() -> None:
    ids, probabilities = distribution([math.inf, 0.0], [True, True], SamplingParams(temperature=1e-3))
    assert (ids.tolist(), probabilities.tolist()) == ([0, 1], [1.0, 0.0])


@pytest.mark.parametrize(("logits", "temperature"), [([1e308, -1e308], 1.0), ([0.0, -1e308], 1e-300)])
def test_logits_far_apart_are_no_cause_for_a_warning(logits: list[float], temperature: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ids, probabilities = distribution(logits, [True, True], SamplingParams(temperature=temperature))
    assert (ids.tolist(), probabilities.tolist()) == ([0, 1], [1.0, 0.0])


def test_a_finished_parser_says_what_to_do() -> None:
    parser = ToolParser("r")
    parser.finish()
    with pytest.raises(Refused) as refusal:
        parser.push("")
    assert str(refusal.value) == (
        "tool parser: this answer is finished; make a new ToolParser for the next one"
    )


def test_finishing_twice_gives_what_was_held_once() -> None:
    parser = ToolParser("r")
    assert parser.push("<tool") == []
    assert (parser.finish(), parser.finish()) == ([Content("<tool")], [])


def test_the_brace_that_closes_an_object_ends_the_arguments_whatever_follows() -> None:
    """A string inside does not make the parser forget that the arguments are an object."""
    header = '<tool_call>{"name":"f","arguments":'
    assert ToolParser("r").push(header + '{"a":"b"}X') == [
        CallStart(0, "call_r_0", "f"),
        Arguments(0, '{"a":"b"}'),
        Content("X"),
    ]


def test_the_last_character_of_arguments_says_on_which_side_they_end() -> None:
    assert step(Value(), "}") == step(Value("1"), "}") == "before"
    assert step(Value("{", 1), "}") == "after"
    assert step(Value("[", 1), "}") == Value("[", 0)


@pytest.mark.parametrize("length", [1, 63, 64])
def test_a_name_of_up_to_64_characters_makes_a_header(length: int) -> None:
    text = f'<tool_call>{{"name":"{"n" * length}","arguments":'
    assert read_header(text) == read_header(text + "{}") == Header("n" * length, len(text))
    assert read_header(text[:-1]) == "partial"


@pytest.mark.parametrize("name", ["", "n" * 65, "n.n", "é"])
def test_any_other_name_makes_none(name: str) -> None:
    assert read_header(f'<tool_call>{{"name":"{name}","arguments":') == "no"


def test_the_json_of_a_call_is_written_member_by_member() -> None:
    """The text, not only the value: a client that compares strings sees one order."""
    function = '"function":{"name":"f","arguments":"{}"}'
    assert message_json(None, [ToolCall("i", "f", "{}")]) == (
        '{"role":"assistant","content":null,"tool_calls":[{"id":"i","type":"function",' + function + "}]}"
    )
    assert message_json("x", []) == '{"role":"assistant","content":"x"}'
    assert delta_json(Content("x")) == '{"content":"x"}'
    start = '{"tool_calls":[{"index":2,"id":"i","type":"function","function":{"name":"f","arguments":""}}]}'
    assert delta_json(CallStart(2, "i", "f")) == start
    assert delta_json(Arguments(2, "{")) == '{"tool_calls":[{"index":2,"function":{"arguments":"{"}}]}'


def test_each_call_collects_its_own_arguments() -> None:
    events: list[Event] = [
        CallStart(0, "i", "f"),
        CallStart(1, "j", "g"),
        Arguments(1, "b"),
        Arguments(0, "a"),
        Arguments(1, "c"),
    ]
    assert collect(events) == (None, [ToolCall("i", "f", "a"), ToolCall("j", "g", "bc")])


@pytest.mark.parametrize(("token", "what"), [(1, "'b'"), (2, "empty"), (3, "special or padding"), (4, "EOS")])
def test_a_token_that_is_not_allowed_is_described(token: int, what: str) -> None:
    index = TokenIndex(regex_to_dfa("a"), HAND)
    with pytest.raises(MaskError) as refusal:
        index.next_state(0, token)
    assert str(refusal.value) == f"token {token} ({what}) is not allowed in state 0; ask mask() first"


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("0", "state '0' is not an integer; start from 0 and advance"),
        (2, "state 2 is not one of 0 … 1; start from 0 and advance"),
    ],
)
def test_a_state_is_a_whole_number_in_range(state: int, message: str) -> None:
    with pytest.raises(MaskError) as refusal:
        TokenIndex(regex_to_dfa("a"), HAND).mask(state)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (0.5, "token 0.5 is not an integer; give an id of the vocabulary"),
        (5, "token 5 is not one of 0 … 4; give an id of the vocabulary"),
    ],
)
def test_a_token_is_a_whole_number_in_range(token: int, message: str) -> None:
    with pytest.raises(MaskError) as refusal:
        TokenIndex(regex_to_dfa("a"), HAND).check_token(token)
    assert str(refusal.value) == message


def test_a_row_without_any_allowed_token_says_why() -> None:
    with pytest.raises(MaskError) as refusal:
        apply_mask([0.0], [False])
    assert str(refusal.value) == ("mask: no token is allowed; an output that is done, or stuck, cannot go on")


def test_whole_numbers_are_logits_too() -> None:
    assert apply_mask(np.array([1, 2]), [True, False]).tolist() == [1.0, -math.inf]
    assert apply_mask(np.array([1, 2], np.uint8), [True, False]).dtype == np.float64
