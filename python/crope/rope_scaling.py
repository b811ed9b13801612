"""Rotary frequencies of models whose context was stretched after training. Names and formulas are Hugging Face's."""

import math
from typing import Any

from .config import scaling_type


def rope_frequencies(width: int, base: float, scaling: dict[str, Any] | None, window: int) -> list[float]:
    """theta_j of the width/2 pairs of a head, for a model whose window has `window` positions.

    With "dynamic" they are those of a text that fills the window.
    """
    values = scaling or {}
    kind, factor = scaling_type(values), float(values.get("factor") or 1)
    original = float(values.get("original_max_position_embeddings") or window)
    if kind == "dynamic" and width > 2:
        base *= (factor * max(window, original) / original - (factor - 1)) ** (width / (width - 2))
    theta = [base ** (-2 * j / width) for j in range(width // 2)]
    if kind == "linear":
        return [each / factor for each in theta]
    if kind == "yarn":
        return _yarn(theta, base, values, factor, original)
    if kind == "llama3":
        return [_llama3(each, values, factor, original) for each in theta]
    return theta


def rope_amplitude(scaling: dict[str, Any] | None) -> float:
    """The factor of cos and sin."""
    values = scaling or {}
    if scaling_type(values) != "yarn":
        return 1.0
    if values.get("attention_factor"):
        return float(values["attention_factor"])
    factor = float(values["factor"])
    scale, scale_all = float(values.get("mscale") or 0), float(values.get("mscale_all_dim") or 0)
    if factor <= 1:
        return 1.0
    if scale and scale_all:
        return (0.1 * scale * math.log(factor) + 1) / (0.1 * scale_all * math.log(factor) + 1)
    return 0.1 * math.log(factor) + 1


def _yarn(theta: list[float], base: float, values: dict[str, Any], factor: float, length: float) -> list[float]:
    """Slow pairs are divided by factor, fast ones stay, with a ramp over the pairs between them."""
    width = 2 * len(theta)

    def pair_of_turns(turns: float) -> float:
        return width * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = pair_of_turns(float(values.get("beta_fast") or 32))
    high = pair_of_turns(float(values.get("beta_slow") or 1))
    if values.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    divided = [min(max((j - low) / (high - low), 0.0), 1.0) for j in range(len(theta))]
    return [each / factor * share + each * (1 - share) for each, share in zip(theta, divided, strict=True)]


def _llama3(theta: float, values: dict[str, Any], factor: float, length: float) -> float:
    turns = length * theta / (2 * math.pi)
    low, high = float(values["low_freq_factor"]), float(values["high_freq_factor"])
    if turns > high:
        return theta
    if turns < low:
        return theta / factor
    kept = (turns - low) / (high - low)
    return (1 - kept) * theta / factor + kept * theta
