"""Walks: whatever the logits want, outputs are whole, parse and validate, and every mask met is the expected one."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from engine import walk_checks
from engine.errors import BadInput, Refused
from engine.models import needs
from engine.suite import Language, languages, pattern_language, schema_language, select
from engine.walk_checks import OutputJudge, digest_of, golden_digests, oracle_digests
from engine.walk_job import Settings, model_job, random_job
from engine.walks import ADVERSARIES, Ground, RandomLogits, Walker, dealt, random_walk
from maskproof.__main__ import app, load_commands
from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.lookahead import token_distances
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary, load_vocabulary

TOY = load_vocabulary("toy")
IDS = [language.id for language in languages()]
WRITABLE = [name for name in IDS if name != "byte-classes"]
BYTES = Vocabulary((*(bytes([byte]) for byte in range(256)), None), frozenset({256}), "bytes")


def ground_of(name: str, vocabulary: Vocabulary = TOY) -> Ground:
    return Ground(select([name])[0], vocabulary)


def quiet(done: int, total: int, label: str) -> None:
    return None


# ---- budgets


@pytest.mark.parametrize(
    ("name", "vocabulary"), [(name, TOY) for name in WRITABLE] + [(name, BYTES) for name in IDS]
)
def test_within_any_budget_from_the_least_up_the_output_is_whole(name, vocabulary):
    """d(start) ≤ N ⇒ |output| ≤ N and output ∈ L, whatever the logits."""
    ground, logits = ground_of(name, vocabulary), RandomLogits(vocabulary, 3)
    for extra in (0, 1, 2, 3, 7, 20):
        for number in range(2):
            walk = random_walk(ground, logits, number, ground.least_budget + extra)
            assert not walk.problems and not walk.mask_problems
            assert walk.end == "eos" and len(walk.tokens) <= ground.least_budget + extra


@pytest.mark.parametrize("name", ["city", "number", "const-nested", "timestamp"])
def test_a_budget_below_the_least_is_refused_with_that_number(name):
    ground = ground_of(name)
    with pytest.raises(Refused, match=f"give at least {ground.least_budget}$"):
        Walker(ground, 0, ground.least_budget - 1)


def test_the_least_budget_is_the_shortest_output_and_its_end():
    assert ground_of("hand-mask").least_budget == 2
    assert ground_of("hand-words").least_budget == 4
    assert ground_of("array-unbounded").least_budget == len(("[", "]", "EOS"))


def test_a_budgeted_mask_is_the_mask_without_the_tokens_that_lead_too_far():
    """t ∈ budgeted(s, r) ⇔ t ∈ allowed(s) ∧ 1 + d(next(s, t)) ≤ r, EOS ⇔ accepting ∧ r ≥ 1; token by token."""
    index = ground_of("optional-pair").index
    distances = token_distances(index)
    for budget in range(int(distances[0]), int(distances[0]) + 8):
        constraint = Constraint(index, budget=budget)
        while not constraint.done:
            state, left = constraint.state, constraint.remaining
            wanted = {
                t
                for t in index.allowed(state)
                if t in TOY.eos or 1 + distances[index.next_state(state, t)] <= left
            }
            assert set(np.flatnonzero(constraint.mask())) == wanted
            constraint.advance(max(wanted))


# ---- adversaries


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("name", ["city", "tool-call", "any-of", "loose-number"])
def test_no_adversary_gets_anything_but_a_whole_output(adversary, name):
    ground, logits = ground_of(name), RandomLogits(TOY, 5, adversary)
    for number in range(5):
        walk = random_walk(ground, logits, number, ground.budget(None))
        assert (walk.problems, walk.mask_problems, walk.end) == ([], [], "eos")


def test_the_forbidding_adversary_prefers_a_forbidden_token_wherever_there_is_one():
    ground, logits = ground_of("city"), RandomLogits(TOY, 5, "forbidden")
    stream = logits.stream(0)
    for state in range(ground.index.n_states):
        mask = ground.index.mask(state)
        assert not mask[logits.row(stream, mask).argmax()]


def test_the_adversary_of_long_tokens_prefers_a_longest_one():
    logits = RandomLogits(TOY, 5, "longest")
    row = logits.row(logits.stream(0), np.ones(len(TOY), np.bool_))
    assert len(TOY.tokens[int(row.argmax())]) == max(len(data or b"") for data in TOY.tokens)


def test_the_endless_adversary_writes_until_the_budget_is_spent():
    ground = ground_of("city")
    walk = random_walk(ground, RandomLogits(TOY, 5, "endless"), 0, 200)
    assert len(walk.tokens) > 190
    assert len(random_walk(ground, RandomLogits(TOY, 5), 0, 200).tokens) < 190


def test_an_unknown_adversary_is_refused():
    with pytest.raises(BadInput, match="adversary 'mild' is none of none, forbidden"):
        RandomLogits(TOY, 1, "mild")


# ---- the ends of a walk


def test_without_eos_a_walk_ends_once_it_is_whole():
    vocabulary = Vocabulary((b"a", b"b", b"c"), frozenset(), "no end")
    ground = Ground(pattern_language("p", "ab+c?"), vocabulary)
    walk = random_walk(ground, RandomLogits(vocabulary, 1), 0, None)
    assert (walk.end, walk.text(vocabulary), walk.problems) == ("whole", b"ab", [])


def test_a_walk_that_gets_stuck_is_a_problem_and_no_output():
    vocabulary = Vocabulary((b"a", None), frozenset({1}), "no b")
    ground = Ground(pattern_language("p", "ab"), vocabulary)
    assert not ground.is_finishable
    walk = random_walk(ground, RandomLogits(vocabulary, 1), 0, None)
    assert (walk.end, walk.problems) == ("unfinished", ["unfinished after 1 tokens"])


def test_a_language_that_the_vocabulary_cannot_write_is_skipped_and_counted_as_that():
    (found,) = list(random_job(select(["byte-classes"]), "toy", Settings(walks=3), quiet))
    assert [record.verdict for record in found] == ["skipped"]
    assert "cannot write any whole output" in found[0].message


# ---- the judges


def test_a_walk_can_be_taken_again_alone():
    ground = ground_of("tool-call")
    several = [random_walk(ground, RandomLogits(TOY, 8), number, 60).tokens for number in range(4)]
    assert random_walk(ground, RandomLogits(TOY, 8), 3, 60).tokens == several[3]
    assert len({tuple(tokens) for tokens in several}) == 4
    assert random_walk(ground, RandomLogits(TOY, 9), 3, 60).tokens != several[3]


@pytest.mark.parametrize("name", ["city", "any-of", "hand-mask", "unicode-ranges"])
def test_the_expected_digests_are_those_of_every_state(name):
    """sha256(packed mask(s)) = sha256(packed first-principles row of s), for all s."""
    index = ground_of(name).index
    expected = oracle_digests(index.automaton, TOY)
    assert [digest_of(row) for row in index.bitmask_table()] == expected


@pytest.mark.parametrize("bit", [0, 31, 32, 94, 121])
def test_one_wrong_bit_in_a_mask_is_told(bit):
    ground = ground_of("city")
    row = ground.index.bitmask(0).copy()
    row[bit // 32] ^= np.uint32(1 << bit % 32)
    assert ground.masks.problem(0, ground.index.bitmask(0), budgeted=False) is None
    assert (
        ground.masks.problem(0, row, budgeted=False) == "state 0: the mask differs from the expected digest"
    )


def test_a_budgeted_mask_with_a_forbidden_token_is_told():
    ground = ground_of("city")
    row = ground.index.bitmask(0) | ground.index.bitmask(1)
    assert "allows a token that the mask forbids" in ground.masks.problem(0, row, budgeted=True)


@pytest.mark.parametrize(
    ("language", "data", "said"),
    [
        ("city", b'{"city":"Paris"}', None),
        ("city", b'{"city":"Paris"', "not a member"),
        ("city", b'{"city": "Paris"}', "not a member"),
        ("hand-mask", b"ab", None),
        ("hand-mask", b"abb", "not a member"),
    ],
)
def test_outputs_are_held_to_their_language(language, data, said):
    problem = OutputJudge(select([language])[0]).problem(data)
    assert problem is None if said is None else said in problem


def test_an_output_that_the_pattern_lets_through_must_still_validate():
    wrong = Language("x", "schema", "bytes", '{"type":"integer"}', '[0-9a"]+', "")
    judge = OutputJudge(wrong)
    assert judge.problem(b"12") is None
    assert "does not parse" in judge.problem(b"1a")
    assert "does not validate" in judge.problem(b'"1"')


def test_a_fault_in_the_masks_is_found_by_walking(monkeypatch):
    """A mask that forgets one token is refuted with a witness and a command that shows it again."""
    whole = TokenIndex.bitmask
    all_but_a_quote = ~np.array([1 << 2, 0, 0, 0], np.uint32)
    monkeypatch.setattr(TokenIndex, "bitmask", lambda index, state: whole(index, state) & all_but_a_quote)
    (found,) = list(random_job(select(["city"]), "toy", Settings(walks=6), quiet))
    outputs, masks = found
    assert (outputs.verdict, masks.verdict, masks.kind) == ("tested", "refuted", "walk_masks")
    assert "--language city --walks 1 --first 0" in masks.reproduce


def test_a_mask_that_allows_too_much_is_caught_when_the_output_is_read(monkeypatch):
    monkeypatch.setattr(walk_checks.MaskJudge, "problem", lambda *_, **__: None)
    ground = ground_of("hand-words")
    walker = Walker(ground, 0, None)
    for token in (TOY.tokens.index(b"c"), TOY.tokens.index(b"a")):
        walker.take(token)
    walker._finish("eos")
    assert walker.walk.problems == ["the output is not a member of the language"]


def test_golden_digests_are_the_oracles_where_the_golden_file_has_them():
    vocabulary = load_vocabulary("qwen3")
    language = select(["hand-words"])[0]
    dfa = regex_to_dfa(language.pattern)
    golden = golden_digests(language, dfa, vocabulary)
    if golden is None:
        pytest.skip("no golden masks of qwen3 in fixtures/golden")
    expected = oracle_digests(dfa, vocabulary)
    assert golden == dict(enumerate(expected))


def test_golden_digests_that_differ_from_the_oracles_are_refuted(monkeypatch):
    monkeypatch.setattr(walk_checks, "golden_digests", lambda *_: {0: "00" * 32})
    (found,) = list(random_job(select(["hand-words"]), "toy", Settings(walks=1), quiet))
    assert [(record.check, record.verdict, record.kind) for record in found] == [
        ("outputs", "tested", ""),
        ("masks", "refuted", "golden_differs"),
    ]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(ADVERSARIES), st.integers(0, 30))
def test_walks_of_any_seed_are_whole(seed, adversary, extra):
    language = schema_language("x", {"type": "array", "items": {"type": "number"}, "maxItems": 3})
    ground = Ground(language, TOY)
    walk = random_walk(ground, RandomLogits(TOY, seed, adversary), seed % 7, ground.least_budget + extra)
    assert (walk.problems, walk.mask_problems) == ([], [])
    assert isinstance(json.loads(walk.text(TOY)), list)


def test_walks_are_dealt_evenly():
    assert dealt(["a", "b", "c"], 7) == {"a": 3, "b": 2, "c": 2}


# ---- the whole vocabulary and the command


@pytest.mark.slow
def test_ten_thousand_walks_on_qwen3_all_finish_parse_and_validate():
    records = [r for found in random_job(languages(), "qwen3", Settings(walks=10_000), quiet) for r in found]
    assert [r.verdict for r in records] == ["tested"] * 2 * len(languages())
    assert sum(r.domain["walks"] for r in records if r.check == "outputs") == 10_000
    assert all(r.detail["ends"]["eos"] == r.domain["walks"] for r in records if r.check == "outputs")


def test_the_command_walks_and_prints_one_json_document(tmp_path):
    load_commands()
    asked = ["walk", "--vocab", "toy", "--walks", "8", "--language", "city", "--language", "number", "--json"]
    result = CliRunner().invoke(app, [*asked, "--results", str(tmp_path)])
    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (document["format"], document["command"], document["exit"]) == (1, "walk", 0)
    assert document["summary"]["walks"] == 8
    assert [record["check"] for record in document["records"]] == ["outputs", "masks"] * 2


def test_all_commands_are_there_without_torch_and_say_what_models_need():
    without = "import sys; sys.modules.update(torch=None, transformers=None)\n"
    start = f"{without}from maskproof.__main__ import main; sys.argv[1:] = "
    helped = subprocess.run(
        [sys.executable, "-c", f"{start}['--help']; main()"], capture_output=True, check=True
    )
    assert all(name in helped.stdout for name in (b"walk", b"call", b"bench"))


def test_a_model_without_its_packages_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(needs, "PACKAGES", ("torch_is_not_here",))
    with pytest.raises(BadInput, match="models need torch_is_not_here, which is not installed"):
        next(model_job(select(["city"]), "smollm2", Settings(), quiet))
