"""The LogitsProcessor inside transformers' own `generate()`: our loop's tokens, whatever generate does with rows."""

import json

import pytest

pytestmark = pytest.mark.models


def quiet_model(seed=0, vocabulary="toy"):
    from engine.models.registry import TINY, Placement, random_qwen3
    from reference.vocabulary import load_vocabulary

    return random_qwen3("tiny", load_vocabulary(vocabulary), TINY, Placement(seed=seed))


def index_of(language, vocabulary):
    from engine.suite import select
    from reference.compile import regex_to_dfa
    from reference.masks import TokenIndex

    found = select([language])[0]
    return TokenIndex(regex_to_dfa(found.pattern, found.dialect), vocabulary)


def padded(prompts, pad):
    import torch

    width = max(map(len, prompts))
    ids = torch.tensor([[pad] * (width - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    return ids, mask


def generated(model, index, prompts, *, budget, processor=None, **how):
    """The ids that generate() adds to each prompt, padding after EOS taken off."""
    from engine.logits_processor import ConstraintProcessor

    eos = sorted(model.vocabulary.eos)
    ids, mask = padded(prompts, 0)
    output = model.network.generate(
        input_ids=ids,
        attention_mask=mask,
        max_new_tokens=budget,
        eos_token_id=eos,
        pad_token_id=0,
        logits_processor=[processor or ConstraintProcessor(index, budget=budget)],
        **how,
    )
    return [upto(row[ids.shape[1] :].tolist(), eos) for row in output]


def upto(tokens, eos):
    end = next((place for place, token in enumerate(tokens) if token in eos), len(tokens) - 1)
    return tokens[: end + 1]


def text_of(model, tokens):
    return b"".join(model.vocabulary.tokens[t] or b"" for t in tokens if t not in model.vocabulary.eos)


PROMPTS = ["write", 'the {"city":"x"} of it', "a", "cats and dogs", "{", "1 2 3 4 5 6 7 8", "}", '{"city":"']


@pytest.mark.parametrize("language", ["city", "tool-call", "hand-mask", "json-object"])
@pytest.mark.parametrize("count", [1, 8])
def test_greedy_generate_is_our_own_loop_token_for_token(language, count, monkeypatch):
    from engine import model_walks
    from engine.suite import select
    from engine.walks import Ground

    model = quiet_model()
    ground = Ground(select([language])[0], model.vocabulary)
    prompts = [model.encode(text) for text in PROMPTS[:count]]
    tasks = [model_walks.Task(ground, number, 40) for number in range(count)]
    monkeypatch.setattr(model_walks, "request", lambda task: [("user", PROMPTS[task.number])])
    monkeypatch.setattr(type(model), "chat", lambda self, messages: self.encode(messages[0][1]))
    walks = model_walks.walk_batch(model, tasks, seed=0, temperature=0)
    assert all(not walk.problems and not walk.mask_problems for walk in walks)
    assert [walk.tokens for walk in walks] == generated(
        model, ground.index, prompts, budget=40, do_sample=False
    )


@pytest.mark.parametrize("language", ["city", "any-of", "awkward-keys"])
def test_sampling_under_the_processor_ends_whole_within_its_budget(language):
    import torch

    from engine.suite import select
    from engine.walk_checks import OutputJudge

    model = quiet_model()
    index, judge = index_of(language, model.vocabulary), OutputJudge(select([language])[0])
    prompts = [model.encode(text) for text in PROMPTS]
    for seed in range(3):
        torch.manual_seed(seed)
        rows = generated(model, index, prompts, budget=30, do_sample=True, temperature=1.5)
        assert all(row[-1] in model.vocabulary.eos for row in rows)
        assert [judge.problem(text_of(model, row)) for row in rows] == [None] * len(rows)


def test_the_prompt_is_not_constrained_though_it_looks_like_output():
    model = quiet_model()
    eos = next(iter(model.vocabulary.eos))
    prompts = [[*model.encode('{"city":"x"}'), eos, *model.encode('{"city":')], model.encode("x")]
    rows = generated(model, index_of("city", model.vocabulary), prompts, budget=30, do_sample=False)
    assert all(json.loads(text_of(model, row)).keys() == {"city"} for row in rows)


def scored(model, prompt, tokens):
    """Σ log p(token | prompt and before) over the masked, renormalised logits is what beams add up; here unmasked."""
    import torch

    ids = torch.tensor([[*prompt, *tokens]])
    with torch.inference_mode():
        logits = model.network(input_ids=ids).logits[0].float().log_softmax(-1)
    return sum(float(logits[len(prompt) - 1 + place, token]) for place, token in enumerate(tokens))


def spellings(index, state=0):
    """All token sequences of a finite language, EOS at the end."""
    for token in index.allowed(state):
        if token in index.vocabulary.eos:
            yield (token,)
        else:
            yield from ((token, *rest) for rest in spellings(index, index.next_state(state, token)))


@pytest.mark.parametrize("seed", range(4))
def test_wide_beams_find_the_best_of_all_outputs(seed):
    """With as many beams as there are outputs, beam search is exhaustive: it returns argmax Σ log p."""
    model = quiet_model(seed)
    index = index_of("hand-words", model.vocabulary)
    prompt = model.encode("what is it")
    every = list(spellings(index))
    best = max(every, key=lambda tokens: scored(model, prompt, tokens))
    (found,) = generated(
        model, index, [prompt], budget=8, num_beams=len(every) + 2, do_sample=False, length_penalty=0.0
    )
    assert tuple(found) == best


@pytest.mark.parametrize("beams", [2, 3, 5])
@pytest.mark.parametrize("language", ["hand-words", "city", "const-nested"])
def test_beams_of_a_padded_batch_are_whole(beams, language):
    from engine.suite import select
    from engine.walk_checks import OutputJudge

    model = quiet_model()
    judge = OutputJudge(select([language])[0])
    index = index_of(language, model.vocabulary)
    prompts = [model.encode(text) for text in PROMPTS[:3]]
    rows = generated(model, index, prompts, budget=44, num_beams=beams, do_sample=False)
    assert [judge.problem(text_of(model, row)) for row in rows] == [None] * 3
    sampled = generated(model, index, prompts, budget=44, num_beams=beams, do_sample=True)
    assert [judge.problem(text_of(model, row)) for row in sampled] == [None] * 3


def called(processor, rows, width):
    """Which tokens the processor allows in each row."""
    import torch

    scores = processor(torch.tensor(rows), torch.zeros(len(rows), width))
    return [set((row > -1).nonzero()[:, 0].tolist()) for row in scores]


def ids(vocabulary, text):
    return [vocabulary.tokens.index(bytes([byte])) for byte in text]


def test_rows_may_be_reordered_copied_and_dropped_between_calls():
    from engine.logits_processor import ConstraintProcessor
    from reference.vocabulary import load_vocabulary

    toy = load_vocabulary("toy")
    index = index_of("hand-words", toy)
    processor, start = ConstraintProcessor(index), [5, 6]
    cat, dog, car = ids(toy, b"cat"), ids(toy, b"dog"), ids(toy, b"car")
    one = called(processor, [start, start], 123)
    assert one == [set(index.allowed(0))] * 2
    called(processor, [start + cat[:1], start + dog[:1]], 123)
    two = called(processor, [start + dog[:2], start + cat[:2]], 123)
    assert two == [
        set(index.allowed(index.automaton.step(0, b"do"))),
        set(index.allowed(index.automaton.step(0, b"ca"))),
    ]
    three = called(processor, [start + car, start + cat, start + car, start + dog], 123)
    assert three == [set(index.allowed(index.automaton.step(0, b"cat")))] * 4


def test_a_row_after_eos_is_left_with_eos_and_a_dead_beam_with_nothing():
    from engine.logits_processor import ConstraintProcessor
    from reference.vocabulary import load_vocabulary

    toy = load_vocabulary("toy")
    processor = ConstraintProcessor(index_of("hand-words", toy))
    called(processor, [[0], [1], [2]], 123)
    rows = [[0, *ids(toy, b"cat"), 122, 7], [1, *ids(toy, b"dxgs"), 0], [2, *ids(toy, b"cars"), 122]]
    assert called(processor, rows, 123) == [{122}, set(), {122}]


def test_several_eos_ids_all_end_an_output():
    from engine.models.registry import TINY, Placement, random_qwen3
    from reference.vocabulary import Vocabulary, load_vocabulary

    toy = load_vocabulary("toy")
    vocabulary = Vocabulary(toy.tokens, frozenset({120, 121, 122}), "three ends")
    model = random_qwen3("tiny", vocabulary, TINY, Placement(seed=3))
    index = index_of("hand-mask", vocabulary)
    assert {120, 121, 122} < set(index.allowed(index.automaton.step(0, b"a")))
    rows = generated(model, index, [model.encode(text) for text in PROMPTS], budget=5, do_sample=True)
    assert all(row[-1] in vocabulary.eos and text_of(model, row) in (b"a", b"ab") for row in rows)
    assert len({row[-1] for row in rows}) > 1


def test_wider_scores_are_padding_and_narrower_ones_are_refused():
    from engine.errors import BadInput
    from engine.logits_processor import ConstraintProcessor
    from reference.vocabulary import load_vocabulary

    index = index_of("hand-words", load_vocabulary("toy"))
    assert called(ConstraintProcessor(index), [[1]], 160) == [set(index.allowed(0))]
    with pytest.raises(BadInput, match="scores for 100 tokens, but the vocabulary has 123"):
        called(ConstraintProcessor(index), [[1]], 100)


def test_a_processor_that_served_another_call_is_refused():
    from engine.errors import BadInput
    from engine.logits_processor import ConstraintProcessor
    from reference.vocabulary import load_vocabulary

    toy = load_vocabulary("toy")
    for rows in ([[7]], [[7, 8, 9]], [[5, 6, *ids(toy, b"xx")]]):
        processor = ConstraintProcessor(index_of("hand-words", toy))
        called(processor, [[5, 6]], 123)
        with pytest.raises(BadInput, match=r"make a new processor for every"):
            called(processor, rows, 123)


def test_a_vocabulary_without_eos_and_a_budget_below_the_least_are_refused():
    from engine.errors import BadInput, Refused
    from engine.logits_processor import ConstraintProcessor
    from reference.vocabulary import Vocabulary, load_vocabulary

    toy = load_vocabulary("toy")
    endless = Vocabulary(toy.tokens, frozenset(), "endless")
    with pytest.raises(BadInput, match="no EOS id"):
        ConstraintProcessor(index_of("hand-words", endless))
    with pytest.raises(Refused, match="give at least 4"):
        ConstraintProcessor(index_of("hand-words", toy), budget=3)


def test_half_precision_scores_stay_what_they_are():
    import torch

    from engine.logits_processor import ConstraintProcessor
    from reference.vocabulary import load_vocabulary

    index = index_of("hand-words", load_vocabulary("toy"))
    for dtype in (torch.float16, torch.bfloat16):
        scores = torch.arange(123, dtype=dtype)[None]
        found = ConstraintProcessor(index)(torch.tensor([[1]]), scores)
        assert found.dtype == dtype
        assert found[0, index.allowed(0)].tolist() == scores[0, index.allowed(0)].tolist()
