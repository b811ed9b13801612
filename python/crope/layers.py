"""The paper's decoder block: attention with rotary positions and QK-norm, SwiGLU, RMSNorm.

Letters: B batch, T time, S keys, D width, H query heads, G key/value heads, K head width. All widths hold adjacent
pairs, as files do.
"""

import math
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from .block_linear import BlockLinear, join_parts, layout_groups, split_parts
from .config import ModelConfig, head_width, scaling_type, tied_projections
from .rope_scaling import rope_amplitude, rope_frequencies

RotaryTable = tuple[Tensor, Tensor]


class KeyValueStore(Protocol):
    """What a cache offers: the keys and values of a layer so far, with the new ones. transformers' caches fit."""

    def update(self, keys: Tensor, values: Tensor, layer: int) -> tuple[Tensor, Tensor]: ...


def rotary_table(positions: Tensor, width: int, base: float) -> RotaryTable:
    """cos and sin[..., T, K/2] of m theta_j for positions m[..., T], theta_j = base^(-2j/K), in fp32."""
    exponents = torch.arange(0, width, 2, dtype=torch.float32, device=positions.device) / width
    angles = positions[..., None].float() * torch.pow(base, -exponents)
    return angles.cos(), angles.sin()


def model_rotary_table(positions: Tensor, config: ModelConfig) -> RotaryTable:
    """The table of a model, whose frequencies may be stretched."""
    if scaling_type(config.rope_scaling) == "default":
        return rotary_table(positions, config.qk_width, config.rope_theta)
    theta = rope_frequencies(config.qk_width, config.rope_theta, config.rope_scaling, config.max_seq_len)
    angles = positions[..., None].float() * torch.tensor(theta, dtype=torch.float32, device=positions.device)
    amplitude = rope_amplitude(config.rope_scaling)
    return angles.cos() * amplitude, angles.sin() * amplitude


def rotate(x: Tensor, table: RotaryTable, layout: str = "pairs") -> Tensor:
    """Multiplies pair j of x[..., T, K] by cos + i sin."""
    groups = layout_groups(layout, x.shape[-1])
    cos, sin = (part.to(x.dtype) for part in table)
    re, im = split_parts(x, groups)
    return join_parts(re * cos - im * sin, re * sin + im * cos, groups)


def rotary(x: Tensor, positions: Tensor | None = None, base: float = 5000.0, layout: str = "pairs") -> Tensor:
    """RoPE: pair j of x[..., T, K] at position m is multiplied by exp(i m theta_j), theta_j = base^(-2j/K).

    positions: [T] or anything that broadcasts to x's leading sizes; None counts from 0.
    """
    if positions is None:
        positions = torch.arange(x.shape[-2], device=x.device)
    return rotate(x, rotary_table(positions, x.shape[-1], base), layout)


class RMSNorm(nn.Module):
    """Root-mean-square norm in fp32. gain: "free" (one per coordinate), "pair" (one per complex pair) or "none"."""

    weight: Tensor | None

    def __init__(self, width: int, eps: float = 1e-6, gain: str = "free") -> None:
        super().__init__()
        self.eps, self.gain = eps, gain
        size = {"free": width, "pair": width // 2, "none": 0}[gain]
        self.register_parameter("weight", nn.Parameter(torch.ones(size)) if size else None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        y = (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)).to(x.dtype)
        if self.weight is None:
            return y
        return y * (self.weight if self.gain == "free" else self.weight.repeat_interleave(2))


class CRopeAttention(nn.Module):
    """Causal attention of the paper in any of its six variants: y[B, T, D] from x[B, T, D].

    num_kv_heads: heads of K and V; query head h reads group h // (num_heads / num_kv_heads).
    head_dim: width of a full head, d_model / num_heads if None; the half_rope variants halve it.
    conjugate_scale: factor of the conjugate-linear parts of an annealed model; None: tied layers have none.
    layer: the index under which a cache keeps this layer's keys and values.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        variant: str = "crope_all",
        *,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        rope_theta: float = 5000.0,
        norm_eps: float = 1e-6,
        qk_norm: bool = True,
        qk_gain: str = "free",
        conjugate_scale: float | None = None,
        layer: int = 0,
    ) -> None:
        super().__init__()
        tied = tied_projections(variant)
        full = head_dim or d_model // num_heads
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads or num_heads
        if num_heads % self.num_kv_heads != 0:
            raise ValueError(f"num_kv_heads must divide num_heads (got {self.num_kv_heads} and {num_heads})")
        self.qk_width, self.v_width = head_width(variant, "q", full), head_width(variant, "v", full)
        self.rope_theta, self.layer = rope_theta, layer
        self.q = BlockLinear(d_model, num_heads * self.qk_width, "q" in tied, conjugate_scale=conjugate_scale)
        self.k = BlockLinear(d_model, self.num_kv_heads * self.qk_width, "k" in tied, conjugate_scale=conjugate_scale)
        self.v = BlockLinear(d_model, self.num_kv_heads * self.v_width, "v" in tied, conjugate_scale=conjugate_scale)
        self.o = BlockLinear(num_heads * self.v_width, d_model, "o" in tied, conjugate_scale=conjugate_scale)
        self.q_norm = RMSNorm(self.qk_width, norm_eps, qk_gain) if qk_norm else nn.Identity()
        self.k_norm = RMSNorm(self.qk_width, norm_eps, qk_gain) if qk_norm else nn.Identity()

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """[B, T, H Kv] from q[B, H, T, K], k[B, G, S, K], v[B, G, S, Kv], and the weights where they are computed."""
        T, S = q.shape[2], k.shape[2]
        group = self.num_heads // self.num_kv_heads
        if group > 1:
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        if mask is None and 1 < T < S:  # new tokens after cached ones
            mask = torch.ones(T, S, dtype=torch.bool, device=q.device).tril(S - T)
        out = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None and T > 1, scale=1 / math.sqrt(self.qk_width)
        )
        return out.transpose(1, 2).flatten(2), None

    def attend_to(
        self, x: Tensor, table: RotaryTable, mask: Tensor | None = None, cache: KeyValueStore | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """forward with a rotary table[..., T, K/2] that broadcasts to [B, H, T, K/2]; also gives attend's weights."""
        q = self.q(x).unflatten(-1, (self.num_heads, self.qk_width))
        k = self.k(x).unflatten(-1, (self.num_kv_heads, self.qk_width))
        v = self.v(x).unflatten(-1, (self.num_kv_heads, self.v_width)).transpose(1, 2)
        q = rotate(self.q_norm(q).transpose(1, 2), table)
        k = rotate(self.k_norm(k).transpose(1, 2), table)
        if cache is not None:
            k, v = cache.update(k, v, self.layer)
        out, weights = self.attend(q, k, v, mask)
        return self.o(out), weights

    def forward(self, x: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """positions: [T], or [B, 1, T] where rows differ; mask: as for scaled_dot_product_attention, causal if None."""
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)
        y, _ = self.attend_to(x, rotary_table(positions, self.qk_width, self.rope_theta), mask)
        return y


class FeedForward(nn.Module):
    """SwiGLU: down(silu(gate x) * up x)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return y


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    attention_class: type[CRopeAttention] = CRopeAttention

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.d_model, config.norm_eps, config.norm_gain)
        self.attention = self.attention_class(
            config.d_model,
            config.num_heads,
            config.variant,
            num_kv_heads=config.num_kv_heads,
            head_dim=config.head_dim,
            rope_theta=config.rope_theta,
            norm_eps=config.norm_eps,
            qk_norm=config.qk_norm,
            qk_gain=config.qk_gain,
            conjugate_scale=config.conjugate_scale,
            layer=layer,
        )
        self.feed_forward_norm = RMSNorm(config.d_model, config.norm_eps, config.norm_gain)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)

    def forward(
        self, x: Tensor, table: RotaryTable, mask: Tensor | None = None, cache: KeyValueStore | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """x[B, T, D] and the attention weights where they are computed."""
        y, weights = self.attention.attend_to(self.attention_norm(x), table, mask, cache)
        x = x + y
        return x + self.feed_forward(self.feed_forward_norm(x)), weights


def initialise(module: nn.Module) -> None:
    """The paper's defaults: projections with std 1/sqrt(real fan-in), embedding 0.02, gains 1."""
    if isinstance(module, BlockLinear):
        module.reset_parameters()
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=1 / math.sqrt(module.in_features))
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    elif isinstance(module, RMSNorm) and module.weight is not None:
        nn.init.ones_(module.weight)
