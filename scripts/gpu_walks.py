"""Walks of Qwen3 on a GPU, and the same walks on the CPU, with torch and transformers and no other package we use.

Run it from a clone: `python scripts/gpu_walks.py`. Where the packages that carry Qwen3's vocabulary are not installed,
name a token file: `--tokens qwen.tiktoken`. Exit code 0: every output is whole and every mask is the expected one; 1:
something is not; 3: there is no GPU and nothing was run on one.
"""

import argparse
import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from engine.model_walks import Cost, Task, walk_all
from engine.models.registry import (
    QWEN3_LOGITS,
    TINY,
    WIDE,
    Placement,
    load_model,
    padded,
    random_qwen3,
)
from engine.models.transformer import TransformerModel
from engine.suite import languages
from engine.walks import Ground, Walk
from reference.vocabulary import Vocabulary, load_vocabulary

QWEN3_EOS = 151_645
NO_GPU = 3


def main() -> int:
    """Walk, judge, compare, and say what came out."""
    asked = arguments()
    if not asked.device.startswith("cuda"):
        print(f"running on {asked.device}, as asked; this says nothing about a GPU")
    elif not torch.cuda.is_available():
        print("no GPU: torch sees no CUDA device here, so that nothing was run on one")
        return NO_GPU
    validate = find_spec("jsonschema") is not None
    print(
        f"jsonschema is {'' if validate else 'not '}here; outputs are {'' if validate else 'not '}validated with it"
    )
    told = walked(asked, asked.device, asked.dtype, asked.walks, validate)
    report = {"device": device_name(asked.device), **{key: told[key] for key in told if key != "tokens"}}
    if asked.cpu_walks:
        beside = walked(asked, "cpu", "float32", asked.cpu_walks, validate)
        same = sum(told["tokens"].get(key) == tokens for key, tokens in beside["tokens"].items())
        report["cpu"] = {key: beside[key] for key in beside if key != "tokens"} | {"same_tokens": same}
    print(json.dumps(report, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if told["problems"] or report.get("cpu", {}).get("problems") else 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--model", default="qwen3-wide", help="tiny-qwen3, qwen3-wide, or a folder of a Qwen3"
    )
    parser.add_argument("--tokens", type=Path, help="token file of Qwen3 (.tiktoken or tokenizer.json)")
    parser.add_argument("--walks", type=int, default=1050)
    parser.add_argument(
        "--cpu-walks", type=int, default=21, help="of those, how many to walk again on the CPU in float32"
    )
    parser.add_argument("--batch", type=int, default=105)
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--json", type=Path, help="write the report here as well")
    return parser.parse_args()


def walked(asked: argparse.Namespace, device: str, dtype: str, walks: int, validate: bool) -> dict[str, Any]:
    """All walks on one device: how many ended how, every problem, what a step cost, and the tokens of each walk."""
    model = model_on(asked, Placement(device, dtype, asked.seed))
    grounds = [Ground(language, model.vocabulary, validate=validate) for language in languages()[:walks]]
    turns = -(-walks // len(grounds))
    tasks = [Task(ground, turn, ground.budget(None)) for turn in range(turns) for ground in grounds][:walks]
    cost, begun = Cost(), time.perf_counter()
    done = walk_all(
        model,
        tasks,
        seed=asked.seed,
        temperature=asked.temperature,
        batch=asked.batch,
        cost=cost,
        tell=lambda *_: None,
    )
    return {
        "model": asked.model,
        "dtype": dtype,
        "walks": len(done),
        "masks": sum(ground.masks.met for ground in grounds),
        "ends": {end: sum(walk.end == end for _, walk in done) for end in ("eos", "whole", "unfinished")},
        "problems": [said for task, walk in done for said in problems(task, walk)],
        "seconds": round(time.perf_counter() - begun, 2),
        "prefill_ms": round(1000 * cost.model[0], 3),
        "step_ms": round(1000 * median(cost.model[1:]), 3),
        "constraint_ms": round(1000 * median(cost.constraint[1:]), 3),
        "rows": min(asked.batch, walks),
        "cache_bytes": cost.cache_bytes,
        "tokens": {(task.ground.language.id, task.number): walk.tokens for task, walk in done},
    }


def problems(task: Task, walk: Walk) -> list[str]:
    """What was wrong on a walk, with where it was."""
    place = f"{task.ground.language.id}, walk {walk.number}"
    return [f"{place}: {said}" for said in (*walk.problems, *walk.mask_problems)]


def model_on(asked: argparse.Namespace, placement: Placement) -> TransformerModel:
    """The model; one with random weights over the named token file, if any."""
    if asked.tokens is None or asked.model not in ("tiny-qwen3", "qwen3-wide"):
        return load_model(asked.model, placement)
    read = load_vocabulary(str(asked.tokens))
    vocabulary = padded(Vocabulary((*read.tokens[:151_643],), frozenset(), "qwen3"), QWEN3_LOGITS)
    named = Vocabulary(vocabulary.tokens, frozenset({QWEN3_EOS}), "qwen3")
    return random_qwen3(asked.model, named, TINY if asked.model == "tiny-qwen3" else WIDE, placement)


def device_name(device: str) -> str:
    """What the device calls itself."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


if __name__ == "__main__":
    sys.exit(main())
