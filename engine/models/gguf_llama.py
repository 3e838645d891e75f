"""A llama-shaped model out of a GGUF file: weights made whole again, tokenizer and chat template from its metadata.

The transformers library reads GGUF too, but wants one more package and half a minute; this is the part that a small
llama needs. Two things are easily missed: the file stores the query and key rows in an order of its own (pairs of the
rotary embedding interleaved), and the pre-tokenizer named `smollm` splits digits one by one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from engine.errors import BadInput

TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
NORMAL_TOKEN = 1


class GgufLlama:
    """One opened file."""

    def __init__(self, path: Path) -> None:
        """Open the file and check that it holds a llama with a byte-level BPE tokenizer of the smollm kind."""
        try:
            self._reader = gguf.GGUFReader(path)
        except (OSError, ValueError) as error:
            raise BadInput(f"{path}: not a GGUF file ({error})") from error
        self._demand(path, "general.architecture", "llama")
        self._demand(path, "tokenizer.ggml.model", "gpt2")
        self._demand(path, "tokenizer.ggml.pre", "smollm")

    def network(self, dtype: torch.dtype) -> Any:
        """The model with its weights dequantised, in evaluation mode."""
        config = self._config()
        with torch.device("meta"):
            network = LlamaForCausalLM(config)
        weights = {name: torch.from_numpy(weight).to(dtype) for name, weight in self._weights(config)}
        if config.tie_word_embeddings:
            weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
        network.load_state_dict(weights, assign=True, strict=True)
        network.tie_weights()
        return _with_real_buffers(network, config).eval()

    def tokenizer(self) -> Any:
        """The tokenizer with its special tokens and chat template."""
        tokens, kinds = self._field("tokenizer.ggml.tokens"), self._field("tokenizer.ggml.token_type")
        merges = [tuple(merge.split(" ")) for merge in self._field("tokenizer.ggml.merges")]
        tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
        digits = pre_tokenizers.Digits(individual_digits=True)
        bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, bytes_])
        tokenizer.decoder = decoders.ByteLevel()
        special = [token for token, kind in zip(tokens, kinds, strict=True) if kind != NORMAL_TOKEN]
        tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            chat_template=self._field("tokenizer.chat_template"),
            bos_token=tokens[self._field("tokenizer.ggml.bos_token_id")],
            eos_token=tokens[self._field("tokenizer.ggml.eos_token_id")],
            pad_token=tokens[self._field("tokenizer.ggml.padding_token_id")],
        )

    def _config(self) -> Any:
        return LlamaConfig(
            vocab_size=self._field("llama.vocab_size"),
            hidden_size=self._field("llama.embedding_length"),
            intermediate_size=self._field("llama.feed_forward_length"),
            num_hidden_layers=self._field("llama.block_count"),
            num_attention_heads=self._field("llama.attention.head_count"),
            num_key_value_heads=self._field("llama.attention.head_count_kv"),
            max_position_embeddings=self._field("llama.context_length"),
            rms_norm_eps=self._field("llama.attention.layer_norm_rms_epsilon"),
            rope_parameters={"rope_type": "default", "rope_theta": self._field("llama.rope.freq_base")},
            tie_word_embeddings=all(tensor.name != "output.weight" for tensor in self._reader.tensors),
            bos_token_id=self._field("tokenizer.ggml.bos_token_id"),
            eos_token_id=self._field("tokenizer.ggml.eos_token_id"),
            pad_token_id=self._field("tokenizer.ggml.padding_token_id"),
        )

    def _weights(self, config: Any) -> Iterator[tuple[str, NDArray[np.float32]]]:
        for tensor in self._reader.tensors:
            weight = np.array(gguf.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
            stem = tensor.name.removesuffix(".weight")
            if stem in TOP:
                yield f"{TOP[stem]}.weight", weight
                continue
            _, block, part = stem.split(".")
            if part in ("attn_q", "attn_k"):
                heads = config.num_attention_heads if part == "attn_q" else config.num_key_value_heads
                weight = rotary_halves(weight, heads)
            yield f"model.layers.{block}.{BLOCK[part]}.weight", weight

    def _field(self, key: str) -> Any:
        if key not in self._reader.fields:
            raise BadInput(
                f"GGUF file: no metadata {key}; a llama with tokenizer and chat template is needed"
            )
        return self._reader.fields[key].contents()

    def _demand(self, path: Path, key: str, wanted: str) -> None:
        if self._field(key) != wanted:
            raise BadInput(f"{path}: {key} is {self._field(key)!r}; only {wanted!r} is read")


def rotary_halves(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """From interleaved rotary pairs of rows (2i, 2i+1) to halves (i, i + d/2), head by head."""
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows, columns)


def _with_real_buffers(network: Any, config: Any) -> Any:
    """Compute the rotary table, which is a buffer and in no file, where the meta device left it empty."""
    rotary = type(network.model.rotary_emb)(config)
    network.model.rotary_emb = rotary
    return network
