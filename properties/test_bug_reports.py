"""Kinds of faults that users of shipping engines reported: the reference and the derivative oracle are right on each.

The cases are data (fixtures/bug_kinds.json): a language with members and others, or what is refused, or a vocabulary
with the ids taken and the ids allowed after them. A text that begins with `hex:` stands for its bytes.
"""

import threading
from typing import Any, cast

import numpy as np
import pytest

from fixtures import ROOT
from oracles import derivatives, token_masks
from oracles.pattern_reader import Dialect, PatternRefused
from reference.compile import regex_to_dfa
from reference.constraint import Constraint, apply_mask
from reference.errors import MaskError, PatternError, Refused
from reference.jsontext import loads
from reference.lookahead import forced_bytes, stuck_states
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, distribution, sample
from reference.schema import json_schema_to_regex
from reference.vocabulary import Vocabulary

Case = dict[str, Any]
CASES = cast(list[Case], cast(Case, loads((ROOT / "bug_kinds.json").read_text(encoding="utf-8")))["cases"])


def having(key: str) -> pytest.MarkDecorator:
    """The cases with this key, one test each."""
    chosen = [case for case in CASES if key in case]
    return pytest.mark.parametrize("case", chosen, ids=[case["id"] for case in chosen])


def bytes_of(text: str) -> bytes:
    """The bytes that a text of the file stands for."""
    return bytes.fromhex(text[4:]) if text.startswith("hex:") else text.encode()


def read(case: Case) -> tuple[str, Dialect]:
    """The pattern and the dialect of a case."""
    language = case["language"]
    if "schema" in language:
        return json_schema_to_regex(language["schema"]), "bytes"
    if "generate" in language:
        left, lefts, middle, right, rights = language["generate"]
        return left * lefts + middle + right * rights, "bytes"
    return language["pattern"], language.get("dialect", "bytes")


def vocabulary(case: Case) -> Vocabulary:
    """The vocabulary of a case; null is a special token."""
    tokens = tuple(None if token is None else bytes_of(token) for token in case["tokens"])
    return Vocabulary(tokens, frozenset(case["eos"]))


def test_the_file_is_in_order() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES)
    for case in CASES:
        assert sum(key in case for key in ("members", "refused", "allowed")) == 1, case["id"]
        assert case["why"].endswith("."), case["id"]
        assert set(case["language"]) <= {"schema", "pattern", "dialect", "generate"}, case["id"]


@having("members")
def test_members_are_members_and_others_are_not(case: Case) -> None:
    pattern, dialect = read(case)
    dfa = regex_to_dfa(pattern, dialect)
    assert case["members"]
    for expected, texts in ((True, case["members"]), (False, case["others"])):
        for data in map(bytes_of, texts):
            assert dfa.matches(data) is expected, data
            assert derivatives.is_member(pattern, data, dialect) is expected, data


@having("members")
def test_every_beginning_of_a_member_is_viable(case: Case) -> None:
    pattern, dialect = read(case)
    dfa = regex_to_dfa(pattern, dialect)
    for data in map(bytes_of, case["members"]):
        assert all(dfa.step(0, data[:end]) >= 0 for end in range(len(data) + 1)), data


@having("refused")
def test_what_is_refused_is_refused_by_name(case: Case) -> None:
    with pytest.raises(Refused) as refusal:
        regex_to_dfa(*read(case))
    assert all(words in str(refusal.value) for words in case["refused"]), refusal.value


@having("refused")
def test_the_oracle_refuses_at_the_same_place(case: Case) -> None:
    with pytest.raises(Refused) as refusal:
        regex_to_dfa(*read(case))
    if isinstance(refusal.value, PatternError):  # a limit is each side's own
        with pytest.raises(PatternRefused) as oracle:
            derivatives.automaton(*read(case))
        assert oracle.value.position == refusal.value.position


@having("allowed")
def test_the_mask_after_a_path_is_exact(case: Case) -> None:
    pattern, dialect = read(case)
    tokens, constraint = (
        vocabulary(case),
        Constraint(TokenIndex(regex_to_dfa(pattern, dialect), vocabulary(case))),
    )
    for token in case["path"]:
        constraint.advance(token)
    prefix = b"".join(tokens.tokens[token] or b"" for token in case["path"])
    assert np.flatnonzero(constraint.mask()).tolist() == case["allowed"]
    assert token_masks.allowed(pattern, dialect, prefix, tokens.tokens, tokens.eos) == set(case["allowed"])


@having("allowed")
def test_a_token_is_taken_exactly_when_the_mask_has_it_and_a_refused_one_changes_nothing(case: Case) -> None:
    constraint = Constraint(TokenIndex(regex_to_dfa(*read(case)), vocabulary(case)))
    for token in case["path"]:
        constraint.advance(token)
    before = constraint.mask().copy(), constraint.state, constraint.done
    for token in range(len(case["tokens"])):
        probe = constraint.fork()
        if token in case["allowed"]:
            probe.advance(token)
            continue
        with pytest.raises(MaskError):
            constraint.advance(token)
        assert np.array_equal(constraint.mask(), before[0])
        assert (constraint.state, constraint.done) == before[1:]


@having("allowed")
def test_a_path_replayed_on_a_new_constraint_leads_to_the_same_state(case: Case) -> None:
    index = TokenIndex(regex_to_dfa(*read(case)), vocabulary(case))
    first, second = Constraint(index), Constraint(index)
    for token in case["path"]:
        first.advance(token)
    for token in case["path"]:
        second = second.fork()
        second.advance(token)
    assert (first.state, first.done) == (second.state, second.done)


@pytest.mark.parametrize(
    ("size", "words"), [(1, 1), (31, 1), (32, 1), (33, 2), (64, 2), (65, 3), (151_936, 4_748)]
)
def test_a_packed_mask_has_a_word_for_every_32_logits_and_no_bit_past_them(size: int, words: int) -> None:
    tokens = (b"p", *[None] * (size - 2), b"p")[:size]
    row = TokenIndex(regex_to_dfa("p"), Vocabulary(tokens)).bitmask(0)
    assert row.dtype == np.uint32
    assert row.shape == (words,)
    last = {0, size - 1}
    assert {32 * w + b for w in range(words) for b in range(32) if row[w] >> np.uint32(b) & 1} == last


def test_one_pattern_over_two_vocabularies_has_two_masks_in_either_order() -> None:
    dfa = regex_to_dfa("[0-9]+")
    one, other = Vocabulary((b"7", b"k", None)), Vocabulary((b"k", b"7", None))
    assert [TokenIndex(dfa, each).allowed(0) for each in (one, other, one)] == [[0], [1], [0]]


def test_a_thousand_names_from_shared_halves_are_exactly_those_names() -> None:
    halves = [f"{a}{b}" for a in "bdfgklmnprst" for b in "aeiou"]
    names = {
        f"{first}-{last}"
        for i, first in enumerate(halves)
        for j, last in enumerate(halves)
        if (i + j * j) % 3
    }
    dfa = regex_to_dfa("|".join(sorted(names)))
    assert len(names) > 1_000
    for first in halves:
        for last in halves:
            assert dfa.matches(f"{first}-{last}".encode()) is (f"{first}-{last}" in names)


@pytest.mark.parametrize(
    ("pattern", "after", "forced"),
    [
        ("<(?:水|氷)>", b"<", "hex:e6b0"),
        ('"id":[0-9]+', b"", '"id":'),
        ("item(?:s|)", b"it", "em"),
        ("item(?:s|)", b"item", ""),
    ],
)
def test_forced_bytes_are_what_all_completions_begin_with_even_inside_a_character(
    pattern: str, after: bytes, forced: str
) -> None:
    dfa = regex_to_dfa(pattern, "unicode")
    assert forced_bytes(dfa, dfa.step(0, after)) == bytes_of(forced)


def test_a_choice_that_cannot_be_spelled_is_told_before_generation() -> None:
    index = TokenIndex(regex_to_dfa("yes|já"), Vocabulary((b"yes", b"j", b"a", None), frozenset({3})))
    assert [(stuck.path, stuck.allowed) for stuck in stuck_states(index)] == [((1,), 0)]


@pytest.mark.parametrize("temperature", [0.0, 1.0, 0.01])
def test_allowed_logits_of_minus_infinity_give_an_allowed_token_and_never_nan(temperature: float) -> None:
    logits = np.array([-np.inf, 4.0, -np.inf, 9.0])
    mask = np.array([True, False, True, False])
    for seed in range(20):
        token, logprob = sample(logits, mask, SamplingParams(temperature=temperature), [], [], Pcg32(seed, 1))
        assert mask[token]
        assert not np.isnan(logprob)


def test_a_mask_that_allows_nothing_is_an_error() -> None:
    with pytest.raises(MaskError, match="no token is allowed"):
        apply_mask(np.zeros(3), np.zeros(3, np.bool_))


def test_probabilities_are_those_of_the_masked_row() -> None:
    ids, chances = distribution(np.array([3.0, 8.0, 1.0]), np.array([True, False, True]), SamplingParams())
    assert ids.tolist() == [0, 2]
    assert chances.tolist() == pytest.approx([1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))])
    only, sure = distribution(
        np.array([3.0, 8.0, 1.0]), np.array([True, False, True]), SamplingParams(top_k=1)
    )
    assert (only.tolist(), sure.tolist()) == ([0], [1.0])


def test_compiling_in_many_threads_gives_what_one_thread_gives() -> None:
    patterns = [f"{'v' * length}(?:<{length}>|é{{{length % 7}}})" for length in range(1, 41)]
    patterns[::8] = [f"{pattern}(" for pattern in patterns[::8]]
    found: dict[str, Any] = {}

    def compiled(pattern: str) -> Any:
        try:
            return regex_to_dfa(pattern, "unicode")
        except Refused as refusal:
            return str(refusal)

    def work(pattern: str) -> None:
        found[pattern] = compiled(pattern)

    threads = [threading.Thread(target=work, args=[pattern]) for pattern in patterns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {pattern: compiled(pattern) for pattern in patterns}


def test_drafts_are_judged_each_from_its_own_parent() -> None:
    index = TokenIndex(regex_to_dfa("uv|xy"), Vocabulary((b"u", b"v", b"x", b"y", None), frozenset({4})))
    nodes = {0: Constraint(index)}
    for node, parent, token in ((1, 0, 0), (2, 0, 2), (3, 1, 1), (4, 2, 3)):
        nodes[node] = nodes[parent].fork()
        nodes[node].advance(token)
    masks = {node: np.flatnonzero(constraint.mask()).tolist() for node, constraint in nodes.items()}
    assert masks == {0: [0, 2], 1: [1], 2: [3], 3: [4], 4: [4]}
