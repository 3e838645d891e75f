"""A packed mask on logits: unpacked on the device, and the two ways to choose from what is left.

What travels to the device is the packed row alone, V / 8 bytes; the bits are taken apart there. Forbidden logits become
−inf before anything else sees them.
"""

from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.errors import BadInput


def apply_bitmask(logits: torch.Tensor, rows: NDArray[np.uint32]) -> torch.Tensor:
    """Logits (rows, V) with −inf where the packed masks, uint32 (rows, ⌈V/32⌉), have no bit, and finite elsewhere.

    An allowed −inf becomes the least finite number, so that a mask's tokens can be chosen whatever the model thinks of
    them. A NaN among the logits and a mask without any bit are errors.
    """
    if logits.shape[0] != rows.shape[0] or -(-logits.shape[1] // 32) != rows.shape[1]:
        raise BadInput(f"masks of shape {rows.shape} do not fit logits of shape {tuple(logits.shape)}")
    if not rows.any(axis=1).all():
        raise BadInput("a mask allows no token at all; an output that is done must leave the batch")
    if torch.isnan(logits).any():
        raise BadInput("the logits hold a NaN; the model's weights or its number type are at fault")
    limits = torch.finfo(logits.dtype)
    return logits.clamp(limits.min, limits.max).masked_fill(~unpacked(rows, logits), -torch.inf)


def unpacked(rows: NDArray[np.uint32], logits: torch.Tensor) -> torch.Tensor:
    """The packed rows as booleans of the logits' shape, taken apart on the logits' device."""
    octets = torch.from_numpy(np.array(rows, "<u4").view(np.uint8)).to(logits.device)
    bits = _bits(logits.device)[octets.long()]
    return bits.reshape(len(rows), -1)[:, : logits.shape[1]]


def greedy(masked: torch.Tensor) -> torch.Tensor:
    """The id of the greatest logit in each row, the lowest of equals."""
    ids = torch.arange(masked.shape[1], device=masked.device)
    is_best = masked == masked.max(dim=1, keepdim=True).values
    return torch.where(is_best, ids, masked.shape[1]).min(dim=1).values


def draw(masked: torch.Tensor, temperature: float, uniforms: list[float]) -> torch.Tensor:
    """One id a row: the first whose running sum of exp((L − max L) / T) exceeds the row's uniform times the whole sum.

    Sums are float64 and run over ids ascending, as SPEC §6 has it; a forbidden id has weight 0 and is never the first.
    """
    scores = masked.double()
    sums = torch.exp((scores - scores.max(dim=1, keepdim=True).values) / temperature).cumsum(dim=1)
    places = torch.tensor(uniforms, dtype=torch.float64, device=masked.device)[:, None] * sums[:, -1:]
    return torch.searchsorted(sums, places, right=True)[:, 0]


@cache
def _bits(device: Any) -> torch.Tensor:
    """Row b holds the eight bits of byte b, lowest first."""
    octets = torch.arange(256, device=device)[:, None]
    return (octets >> torch.arange(8, device=device)) & 1 == 1
