"""Models: batches that equal rows alone, the real SmolLM2, walks and calls of models, and what the constraint costs."""

import json
import signal
import subprocess
import sys
import time

import pytest

from engine.errors import BadInput
from fixtures import ROOT
from reference.vocabulary import Vocabulary, load_vocabulary

pytestmark = pytest.mark.models

CALLS = ROOT / "calls"


def quiet(done, total, label):
    return None


def toy_model(seed=0):
    from engine.models.registry import TINY, Placement, random_qwen3

    return random_qwen3("tiny", load_vocabulary("toy"), TINY, Placement(seed=seed))


@pytest.fixture(scope="module")
def smollm2():
    from engine.models.registry import load_model

    return load_model("smollm2")


# ---- rows


def test_a_padded_row_has_the_logits_of_the_row_alone():
    import torch

    model = toy_model()
    prompts = [[1, 2, 3, 4, 5, 6, 7], [9], [30, 31, 32]]
    together, alone = model.rows(prompts), [model.rows([prompt]) for prompt in prompts]
    for step in range(4):
        logits = together.logits()
        for row, single in enumerate(alone):
            assert torch.allclose(logits[row], single.logits()[0], atol=1e-5)
            single.feed([[step + row]])
        together.feed([[step], [step + 1], [step + 2]])


def test_tokens_fed_one_by_one_or_at_once_give_the_logits_of_the_whole_text():
    import torch

    model = toy_model()
    text = list(range(20, 40))
    whole = model.rows([text]).logits()
    for cut in (1, 7, 19):
        rows = model.rows([text[:cut]])
        rows.logits()
        rows.feed([text[cut:]])
        assert torch.allclose(rows.logits(), whole, atol=1e-5)
    rows = model.rows([text[:1]])
    for token in text[1:]:
        rows.logits()
        rows.feed([[token]])
    assert torch.allclose(rows.logits(), whole, atol=1e-5)


def test_rewinding_forgets_exactly_what_came_after():
    import torch

    model = toy_model()
    rows = model.rows([[5, 6, 7]])
    first = rows.logits().clone()
    for ending in ([[8, 9, 10]], [[50]]):
        rows.feed(ending)
        rows.logits()
        rows.feed([[1, 2]])
        rows.rewind(3)
        assert rows.length == 3
        rows.rewind(2)
        rows.feed([[7]])
        assert torch.allclose(rows.logits(), first, atol=1e-6)
    with pytest.raises(BadInput, match="cannot rewind to 9: 3 positions are computed"):
        rows.rewind(9)


def test_logits_are_computed_once_however_often_they_are_asked_for():
    model = toy_model()
    rows = model.rows([[5, 6]])
    assert rows.logits() is rows.logits()
    assert (
        rows.cache_bytes == 2 * 2 * 2 * 16 * 2 * 4
    )  # layers, keys and values, heads, width, positions, bytes


@pytest.mark.parametrize("prompts", [[], [[]], [[1], []]])
def test_a_batch_without_a_token_is_refused(prompts):
    with pytest.raises(BadInput, match="at least one"):
        toy_model().rows(prompts)


# ---- masking


def test_the_mask_on_the_device_is_the_mask_of_the_reference():
    import numpy as np
    import torch

    from engine.models.masking import apply_bitmask
    from reference.bitmasks import pack
    from reference.constraint import apply_mask

    draw = np.random.default_rng(1)
    for size in (1, 31, 32, 33, 123, 1000):
        logits = draw.standard_normal((3, size)).astype(np.float32)
        masks = draw.random((3, size)) < 0.3
        masks[:, size // 2] = True
        found = apply_bitmask(torch.from_numpy(logits), pack(masks)).numpy()
        assert all(
            (row == apply_mask(*given)).all() for row, *given in zip(found, logits, masks, strict=True)
        )


def test_choices_on_the_device_are_those_of_the_reference():
    """Greedy and drawn tokens equal SPEC §6's on the same logits, masks and uniforms."""
    import numpy as np
    import torch

    from engine.models.masking import apply_bitmask, draw, greedy
    from reference.bitmasks import pack
    from reference.pcg32 import Pcg32
    from reference.sampling import SamplingParams, sample

    numbers = np.random.default_rng(2)
    for number in range(60):
        logits = (numbers.standard_normal(123) * numbers.choice([0.1, 1, 20])).astype(np.float32)
        mask = numbers.random(123) < numbers.choice([0.03, 0.5, 1])
        mask[7] = True
        masked = apply_bitmask(torch.from_numpy(logits)[None], pack(mask)[None])
        assert greedy(masked).tolist() == [
            sample(logits, mask, SamplingParams(temperature=0), [], [], Pcg32(1, 1))[0]
        ]
        for temperature in (0.3, 1.0, 2.0):
            token, _ = sample(logits, mask, SamplingParams(temperature=temperature), [], [], Pcg32(5, number))
            assert draw(masked, temperature, [Pcg32(5, number).uniform()]).tolist() == [token]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("value", [1e30, -1e30, float("inf"), float("-inf"), 0.0])
def test_extreme_logits_never_give_a_forbidden_token(dtype, value):
    import numpy as np
    import torch

    from engine.models.masking import apply_bitmask, draw, greedy
    from reference.bitmasks import pack

    mask = np.zeros(123, np.bool_)
    mask[[3, 64, 122]] = True
    for filled in ([3], [3, 64, 122], [0, 64, 121], list(range(123))):
        logits = torch.zeros(1, 123)
        logits[0, filled] = value
        masked = apply_bitmask(logits.to(getattr(torch, dtype)), pack(mask)[None])
        assert not torch.isnan(masked).any()
        drawn = {draw(masked, t, [u]).item() for t in (0.01, 1.0) for u in (0, 0.5, 1 - 2**-32)}
        assert {greedy(masked).item(), *drawn} <= {3, 64, 122}


def test_a_nan_an_empty_mask_and_a_wrong_shape_are_refused():
    import numpy as np
    import torch

    from engine.models.masking import apply_bitmask

    row = np.array([[1, 0, 0, 0]], np.uint32)
    with pytest.raises(BadInput, match="hold a NaN"):
        apply_bitmask(torch.full((1, 123), float("nan")), row)
    with pytest.raises(BadInput, match="allows no token at all"):
        apply_bitmask(torch.zeros(1, 123), row * 0)
    with pytest.raises(BadInput, match="do not fit"):
        apply_bitmask(torch.zeros(1, 200), row)


# ---- names of models


def test_a_vocabulary_is_padded_to_the_logits_with_nothing():
    from engine.models.registry import padded

    small = Vocabulary((b"a", None), frozenset({1}), "small")
    assert padded(small, 2) is small
    assert padded(small, 5).tokens == (b"a", None, None, None, None)
    with pytest.raises(BadInput, match="2 tokens, but the model has 1 logits"):
        padded(small, 1)


@pytest.mark.parametrize(
    ("spec", "how", "said"),
    [
        ("no/such-model-here", {}, "model 'no/such-model-here'"),
        ("nothing.gguf", {}, "nothing.gguf: not a GGUF file"),
        ("tiny-qwen3", {"device": "cuda:77"}, "device 'cuda:77' cannot be used"),
        ("tiny-qwen3", {"dtype": "int32"}, "dtype 'int32' is no floating type"),
    ],
)
def test_a_model_that_cannot_be_had_is_refused_in_one_line(spec, how, said, monkeypatch):
    from engine.models.registry import Placement, load_model

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(BadInput) as caught:
        load_model(spec, Placement(**how))
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_the_wide_model_is_refused_where_memory_is_short(monkeypatch):
    from engine.models import registry

    monkeypatch.setattr(registry, "available_memory", lambda: 3_000_000_000)
    with pytest.raises(BadInput, match=r"model qwen3-wide: needs about 4.8 GB .* 3.0 GB are free"):
        registry.load_model("qwen3-wide")


def test_a_local_folder_is_read_as_transformers_wrote_it(tmp_path):
    """A folder with config, weights, tokenizer and generation settings: the same logits, vocabulary and EOS ids."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from engine.models.gguf_llama import GgufLlama
    from engine.models.registry import load_model, smollm2_file

    config = LlamaConfig(vocab_size=49_216, hidden_size=32, intermediate_size=32, num_hidden_layers=1)
    network = LlamaForCausalLM(config)
    network.generation_config.eos_token_id = [2, 0]
    network.generation_config.pad_token_id = 0
    network.save_pretrained(tmp_path)
    GgufLlama(smollm2_file()).tokenizer().save_pretrained(tmp_path)
    model = load_model(str(tmp_path))
    assert model.vocabulary.tokens[:49_152] == load_vocabulary("smollm2").tokens
    assert model.vocabulary.tokens[49_152:] == (None,) * 64
    assert model.vocabulary.eos == {0, 2}
    with torch.inference_mode():
        wanted = network.eval()(torch.tensor([model.encode("hello there")])).logits[0, -1]
    assert torch.allclose(model.rows([model.encode("hello there")]).logits()[0], wanted, atol=1e-5)


# ---- SmolLM2


def test_smollm2_is_the_real_model(smollm2):
    from engine.calls.job import free_text

    rows = smollm2.rows([smollm2.chat([("user", "What is the capital of France?")])])
    assert free_text(rows, smollm2.vocabulary, tokens=20) == b"The capital of France is Paris."


def test_the_tokenizer_spells_every_text_with_the_vocabularys_bytes(smollm2):
    for text in (
        "",
        "Hello, world",
        "x  y\n\n  1234 don't",
        "é漢😀",
        '{"name":"fn_add_numbers","parameters":{"a":12}}',
    ):
        ids = smollm2.encode(text)
        assert b"".join(smollm2.vocabulary.tokens[token] for token in ids) == text.encode()
    assert [smollm2.vocabulary.tokens[token] for token in smollm2.encode("1234")] == [b"1", b"2", b"3", b"4"]


def test_interleaved_rotary_rows_become_halves():
    import numpy as np

    from engine.models.gguf_llama import rotary_halves

    rows = np.arange(8, dtype=np.float32)[:, None]
    assert rotary_halves(rows, 1)[:, 0].tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert rotary_halves(rows, 2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


# ---- walks


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny-qwen3", "smollm2"])
def test_two_hundred_walks_of_a_model_all_finish_parse_and_validate(name):
    from engine.suite import languages
    from engine.walk_job import Settings, model_job

    records = [
        record for found in model_job(languages(), name, Settings(walks=200), quiet) for record in found
    ]
    outputs = [record for record in records if record.check == "outputs"]
    assert sum(record.domain["walks"] for record in outputs) == 200
    assert {record.verdict for record in records} == {"tested"}
    assert all(record.detail["ends"]["eos"] == record.domain["walks"] for record in outputs)


def test_walks_of_a_small_model_are_judged_and_their_cost_is_told():
    from engine.model_walks import Cost, Task, walk_batch
    from engine.suite import languages
    from engine.walks import Ground

    model = bytes_model()
    grounds = [Ground(language, model.vocabulary) for language in languages()]
    tasks = [Task(g, n, g.budget(None)) for n, g in enumerate(grounds) if g.is_finishable]
    cost = Cost()
    walks = walk_batch(model, tasks, seed=4, temperature=1.0, cost=cost)
    assert all((walk.problems, walk.mask_problems, walk.end) == ([], [], "eos") for walk in walks)
    assert len(cost.model) == len(cost.constraint) == max(len(walk.tokens) for walk in walks)
    assert cost.cache_bytes > 0


# ---- the script for a machine with a GPU

OTHERS = ("jsonschema", "msgspec", "networkx", "typer", "z3", "gguf")


def gpu_script(*arguments):
    """The script in a Python where none of our other dependencies can be imported."""
    without = f"import runpy, sys; sys.modules.update(dict.fromkeys({OTHERS}))"
    script = ROOT.parent / "scripts" / "gpu_walks.py"
    code = f"{without}; sys.argv = ['gpu_walks', *{arguments!r}]; runpy.run_path({str(script)!r}, run_name='__main__')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_gpu_script_says_plainly_when_there_is_no_gpu():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    found = gpu_script()
    assert (found.returncode, found.stdout) == (
        3,
        "no GPU: torch sees no CUDA device here, so that nothing was run on one\n",
    )


def test_the_gpu_script_walks_with_torch_and_transformers_alone():
    found = gpu_script("--device", "cpu", "--model", "tiny-qwen3", "--walks", "3", "--cpu-walks", "1")
    assert found.returncode == 0, found.stderr
    report = json.loads(found.stdout[found.stdout.index("{") :])
    assert "not validated with it" in found.stdout
    assert (report["ends"], report["problems"], report["cpu"]["walks"]) == (
        {"eos": 3, "whole": 0, "unfinished": 0},
        [],
        1,
    )


# ---- calls


def job_of(model, decoder="procedural", prompts="function_calling_tests.json", first=11):
    from engine.calls.inputs import read_functions, read_prompts
    from engine.calls.job import Job

    functions = read_functions(CALLS / "functions_definition.json")
    return Job(functions, read_prompts(CALLS / prompts, functions)[:first], model, decoder, 24)


def bytes_model():
    """A random model that writes bytes."""
    from engine.models.registry import TINY, Placement, random_qwen3

    vocabulary = Vocabulary(
        (*(bytes([byte]) for byte in range(256)), b'"}}', b'","', None), frozenset({258}), "bytes"
    )
    return random_qwen3("bytes", vocabulary, TINY, Placement(seed=2))


@pytest.mark.parametrize("decoder", ["procedural", "automaton"])
def test_a_call_that_was_stopped_anywhere_and_taken_up_writes_the_same_file(tmp_path, decoder):
    from engine.calls.job import answer

    job = job_of(bytes_model(), decoder)
    answer(job, tmp_path / "whole.jsonl", quiet)
    stopped = tmp_path / "stopped.jsonl"
    for stop in (0, 1, 4, 4, 9):

        def interrupt(done, total, label, stop=stop):
            if done == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            answer(job, stopped, interrupt)
        with stopped.open("ab") as file:
            file.write(b'{"prompt":"What')
    assert answer(job, stopped, quiet).resumed == 9
    assert stopped.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert len(stopped.read_bytes().splitlines()) == 11


@pytest.mark.slow
def test_ctrl_c_on_the_command_line_loses_no_answer(tmp_path):
    asked = ["--functions_definition", str(CALLS / "functions_definition.json"), "--model", "tiny-qwen3"]
    asked += ["--input", str(CALLS / "function_calling_tests.json"), "--results", str(tmp_path / "results")]

    def start(output):
        command = [sys.executable, "-m", "maskproof", "call", *asked, "--output", str(output)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    whole, stopped = tmp_path / "whole.jsonl", tmp_path / "stopped.jsonl"
    assert start(whole).wait() == 0
    process = start(stopped)
    while not stopped.exists() or stopped.read_bytes().count(b"\n") < 2:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert 2 <= stopped.read_bytes().count(b"\n") < 11
    assert start(stopped).wait() == 0
    assert stopped.read_bytes() == whole.read_bytes()


def test_an_answer_does_not_depend_on_the_prompts_before_it(tmp_path):
    from dataclasses import replace

    from engine.calls.job import answer

    job = job_of(bytes_model())
    whole = answer(job, tmp_path / "a.jsonl", quiet).calls
    backwards = replace(job, prompts=job.prompts[::-1])
    assert answer(backwards, tmp_path / "b.jsonl", quiet).calls == whole[::-1]


def test_forced_text_is_encoded_once_and_costs_no_step():
    from engine.calls.decoders import make_grammar
    from engine.calls.decoding import ForcedText, decode

    model = bytes_model()
    job, forced = job_of(model), ForcedText(model)
    grammar = make_grammar("procedural", job.functions, model.vocabulary)
    first = decode(model.rows([[65]]), grammar, model.vocabulary, forced, choices=12)
    count = len(forced)
    again = decode(model.rows([[65]]), grammar, model.vocabulary, forced, choices=12)
    assert (again.text, len(forced)) == (first.text, count)
    assert 40 < first.forced < len(first.text)
    assert len(first.model) == first.chosen <= 12
    assert first.cut_short and json.loads(first.text)["name"] in {f.name for f in job.functions}


def test_forced_bytes_that_cut_a_character_are_spelled_byte_by_byte():
    from engine.calls.decoding import ForcedText, whole_text

    model = bytes_model()
    assert ForcedText(model).ids(b"\xa9x") == [0xA9, ord("x")]
    assert whole_text("aé".encode()[:-1]) == b"a"
    assert whole_text(b"\xa9x") == b""


def test_smollm2_calls_the_functions_of_the_seed(smollm2, tmp_path):
    from engine.calls.job import answer
    from engine.calls.writing import read_output

    job = job_of(smollm2, first=3)
    found = answer(job, tmp_path / "out.jsonl", quiet)
    assert found.calls[0] == {"name": "fn_add_numbers", "parameters": {"a": 2, "b": 3}}
    assert found.calls[1] == {"name": "fn_add_numbers", "parameters": {"a": 265, "b": 345}}
    assert found.calls == read_output(tmp_path / "out.jsonl", job.prompts, job.functions)


# ---- the page


def test_the_example_in_the_page_runs_as_it_stands(capsys):
    page = (ROOT.parent / "docs" / "models.md").read_text(encoding="utf-8")
    example = page.split("```python\n")[1].split("```")[0]
    exec(compile(example, "docs/models.md", "exec"), {})
    assert json.loads(capsys.readouterr().out.splitlines()[-1]).keys() == {"city"}


# ---- cost


def test_the_constraint_s_share_of_smollm2s_own_step_is_measured_for_every_language(smollm2):
    """The figure itself is for `maskproof bench`: a timed test would fail on a busy machine."""
    from engine.bench.decoding import LANGUAGES, compare, overheads
    from engine.suite import select

    sides = compare(smollm2, select(list(LANGUAGES)), rounds=1, tokens=8, seed=1, tell=quiet)
    shares = overheads(sides)
    assert len(shares) == len(LANGUAGES)
    assert all(share > 0 for share in shares.values())
