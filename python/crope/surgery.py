"""Complex-linear attention for a Llama or Qwen model of transformers: a start for fine-tuning, not the same function.

Half of what a dense projection can do is conjugate-linear, and a tied one cannot. Two ways to drop it, those of
`crope upcycle`:

plain: each projection by itself becomes the nearest tied matrix.
fitted: first the coordinates of the residual stream are paired anew, which changes no function, so that Q and K, whose
  own pairs the rotary frequencies fix, lose less; then V and O of a head, of which only the product counts, become the
  pair whose product is nearest to the head's.

Letters: D residual width, N = D/2, H query heads, G key/value heads, r = H/G, K head width.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .block_linear import BlockLinear, expand
from .config import VARIANTS

# What a layer of a supported model may hold. Its names say which dimension of a weight is the residual stream.
READERS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj")
WRITERS = ("self_attn.o_proj", "mlp.down_proj")
NORMS = ("input_layernorm", "post_attention_layernorm")
OTHERS = ("self_attn.q_norm", "self_attn.k_norm")


@dataclass
class KeptEnergy:
    """How much of a layer's projections is kept, 1 - |W - W'|^2 / |W|^2; vo: of the products O V of its heads."""

    layer: int
    q: float
    k: float
    vo: float


def replace_attention(model: nn.Module, variant: str, method: str = "fitted") -> list[KeptEnergy]:
    """Makes the attention projections of `model` complex-linear in place. Returns what each layer kept.

    model: a Llama, Qwen2 or Qwen3 model for causal language modelling. variant: crope_qk, crope_qkv or crope_all.
    method: "fitted" or "plain". Computes in fp64 and keeps the weights' type. Norms, embeddings and feed-forward layers
    keep their values; "fitted" reorders their residual coordinates.
    To load weights saved after the surgery, apply it to a model of the same shape and then load_state_dict.
    """
    tied = VARIANTS.get(variant, ("", ""))[0]
    if not tied:
        raise ValueError(f"cannot turn a dense model into '{variant}': expected crope_qk, crope_qkv or crope_all")
    if method not in ("plain", "fitted"):
        raise ValueError(f"unknown method '{method}': expected plain or fitted")
    decoder = _decoder(model)
    with torch.no_grad():
        if method == "fitted":
            matrices = [(_real_rows(layer.self_attn.q_proj, layer), _real_rows(layer.self_attn.k_proj, layer))
                        for layer in decoder.layers]  # fmt: skip
            _reorder_residual(model, decoder, _pair_residual([each for pair in matrices for each in pair]))
        return [_replace_layer(index, layer.self_attn, tied, method) for index, layer in enumerate(decoder.layers)]


def _decoder(model: nn.Module) -> Any:
    """The module with embed_tokens, layers and norm. Raises ValueError if it is of another architecture."""
    decoder: Any = getattr(model, "model", model)
    missing = [name for name in ("embed_tokens", "layers", "norm") if not hasattr(decoder, name)]
    if missing:
        raise ValueError(f"expected a Llama or Qwen model of transformers: {type(model).__name__} has no {missing[0]}")
    known = {*READERS, *WRITERS, *NORMS, *OTHERS}
    for layer in decoder.layers:
        modules = {name.rpartition(".")[0] for name, _ in layer.named_parameters()}
        if unknown := sorted(modules - known):
            raise ValueError(f"{type(layer).__name__} has {unknown[0]}: only Llama, Qwen2 and Qwen3 layers are known")
        for name in (*READERS, *WRITERS):
            if not isinstance(layer.get_submodule(name), nn.Linear):
                raise ValueError(f"{name} is a {type(layer.get_submodule(name)).__name__}, expected nn.Linear")
    return decoder


def _head_width(attention: Any) -> int:
    return int(attention.head_dim)


def _real_rows(projection: nn.Linear, layer: Any) -> tuple[Tensor, Tensor]:
    """Real and imaginary rows [heads K/2, D] of Q or K, which transformers stores in halves within each head."""
    rows = projection.weight.double().unflatten(0, (-1, 2, _head_width(layer.self_attn) // 2))
    return rows[:, 0].flatten(0, 1), rows[:, 1].flatten(0, 1)


def _pair_residual(matrices: list[tuple[Tensor, Tensor]]) -> Tensor:
    """An order [D] of the residual coordinates in halves: the p-th and the (N+p)-th become one complex number.

    The part of the rows u (real) and v (imaginary) in the pair (i, j) is worth sum(u_i v_j - u_j v_i). Pairs of the
    largest worth are taken one after the other; the given neighbours, if they keep more.
    """
    D = matrices[0][0].shape[1]
    worth = torch.zeros(D, D, dtype=torch.float64, device=matrices[0][0].device)
    for real, imaginary in matrices:
        product = real.T @ imaginary
        worth += product - product.T
    worth = worth.cpu()
    ranked = worth.flatten().argsort(descending=True)
    used = torch.zeros(D, dtype=torch.bool)
    first: list[int] = []
    second: list[int] = []
    for chunk in ranked.split(max(1, 16 * D)):
        chunk = chunk[~used[chunk // D] & ~used[chunk % D]]
        for place in chunk.tolist():
            i, j = divmod(place, D)
            if i != j and not used[i] and not used[j]:
                used[i] = used[j] = True
                first.append(i)
                second.append(j)
        if len(first) == D // 2:
            break
    even, odd = torch.arange(0, D, 2), torch.arange(1, D, 2)
    chosen = torch.tensor(first), torch.tensor(second)
    if worth[chosen].sum() < worth[even, odd].sum():
        chosen = even, odd
    return torch.cat(chosen)


def _reorder_residual(model: Any, decoder: Any, order: Tensor) -> None:
    """The same function with the residual stream in another order."""
    weights: dict[int, tuple[Tensor, int]] = {}  # by identity: a tied output projection is the embedding

    def add(module: Any, dimension: int) -> None:
        weights[id(module.weight)] = module.weight, dimension
        if dimension == 0 and getattr(module, "bias", None) is not None:
            weights[id(module.bias)] = module.bias, 0

    add(decoder.embed_tokens, 1)
    add(decoder.norm, 0)
    head = getattr(model, "lm_head", None)
    if head is not None:
        add(head, 1)
    for layer in decoder.layers:
        for name in READERS:
            add(layer.get_submodule(name), 1)
        for name in (*WRITERS, *NORMS):
            add(layer.get_submodule(name), 0)
    for weight, dimension in weights.values():
        weight.copy_(weight.index_select(dimension, order.to(weight.device)))


def _replace_layer(index: int, attention: Any, tied: str, method: str) -> KeptEnergy:
    K, D = _head_width(attention), attention.q_proj.in_features
    stream = 1 if method == "fitted" else D // 2  # groups [re | im] of the residual stream
    kept = {}
    for name in ("q", "k"):
        dense = getattr(attention, f"{name}_proj")
        block = BlockLinear.from_linear(dense, in_groups=stream, out_groups=dense.out_features // K)
        kept[name] = _kept(dense.weight, block.expand())
        setattr(attention, f"{name}_proj", block)
    v, o = attention.v_proj, attention.o_proj
    before = v.weight.double(), o.weight.double()
    if "v" in tied:
        v_block = BlockLinear.from_linear(v, in_groups=stream, out_groups=v.out_features // 2)
        o_block = BlockLinear.from_linear(o, tied="o" in tied, in_groups=o.in_features // 2, out_groups=stream)
        if method == "fitted":
            _fit_products(v, o, v_block, o_block, K)
        attention.v_proj, attention.o_proj = v_block, o_block
        after = v_block.expand().double(), o_block.expand().double()
    else:
        after = before
    return KeptEnergy(index, kept["q"], kept["k"], _kept_products(before, after, K))


def _fit_products(v: nn.Linear, o: nn.Linear, v_block: BlockLinear, o_block: BlockLinear, K: int) -> None:
    """Sets both blocks to the pair nearest to the products of the heads. The residual stream is in halves."""
    D = v.in_features
    values = v.weight.double().unflatten(0, (-1, K))  # [G, K, D]
    outputs = o.weight.double().unflatten(1, (len(values), -1, K)).permute(1, 2, 0, 3)  # [G, r, D, K]
    biases = v.bias.double().unflatten(0, (-1, K)) if v.bias is not None else None
    for g, (value, output) in enumerate(zip(values, outputs)):
        stacked = output.flatten(0, 1)  # [r D, K]
        rows = slice(g * K // 2, (g + 1) * K // 2)
        if o_block.tied:
            v_new, o_new = _nearest_tied_head(value, output)
            a, b = o_new.real, -o_new.imag  # [r N, K/2]
            per_head = len(output) * K // 2
            columns = slice(g * per_head, (g + 1) * per_head)
            for target, part in ((o_block.a, a), (o_block.b, b)):
                target[:, columns] = part.unflatten(0, (-1, D // 2)).transpose(0, 1).flatten(1).to(target.dtype)
            dense = torch.cat([expand(x, y, 1, K // 2) for x, y in zip(a.split(D // 2), b.split(D // 2))])
        else:
            v_new, dense = _nearest_tied_value_head(value, stacked)
            columns = slice(g * len(output) * K, (g + 1) * len(output) * K)
            o_block.weight[:, columns] = dense.unflatten(0, (-1, D)).transpose(0, 1).flatten(1).to(o_block.weight.dtype)
        v_block.a[rows] = v_new.real.to(v_block.a.dtype)
        v_block.b[rows] = -v_new.imag.to(v_block.b.dtype)
        if biases is not None and v_block.bias is not None:
            solution = torch.linalg.lstsq(dense, (stacked @ biases[g])[:, None], driver="gelsd").solution
            v_block.bias[g * K : (g + 1) * K] = solution[:, 0].to(v_block.bias.dtype)


def _complex_columns(rows: Tensor) -> Tensor:
    """Rows [..., K, D] in halves as complex columns [..., N, K]."""
    return torch.complex(*rows.chunk(2, -1)).mT


def _leading(x: Tensor, count: int) -> Tensor:
    """The first `count` columns, filled up with zeros where there are fewer."""
    return nn.functional.pad(x[:, :count], (0, count - min(count, x.shape[1])))


def _nearest_tied_head(value: Tensor, output: Tensor) -> tuple[Tensor, Tensor]:
    """Complex v[K/2, N] and o[r N, K/2] whose product is nearest to that of value[K, D] and output[r, D, K].

    The complex-linear part of the product is O V^H / 2; the best product of K/2 complex channels is its truncated
    singular value decomposition. The norms of v and o keep their ratio.
    """
    channels = value.shape[0] // 2
    o_basis, o_rest = torch.linalg.qr(_complex_columns(output.mT).flatten(0, 1))
    v_basis, v_rest = torch.linalg.qr(_complex_columns(value))
    left, sizes, right = torch.linalg.svd(o_rest @ v_rest.mH / 2, full_matrices=False)
    root = sizes.sqrt()
    o = _leading(o_basis @ left * root, channels)
    v = _leading(v_basis @ right.mH * root, channels).mH
    size, wanted = v.norm() * output.norm(), o.norm() * value.norm()
    if size > 0 and wanted > 0:
        scale = (wanted / size).sqrt()
        v, o = v * scale, o / scale
    return v, o


def _nearest_tied_value_head(value: Tensor, output: Tensor) -> tuple[Tensor, Tensor]:
    """The same with the output free: complex v[K/2, N], and o[r D, K] with columns in pairs. Keeps the norm of v."""
    channels = value.shape[0] // 2
    rest = torch.linalg.qr(output).R  # rest^T rest = output^T output
    basis = torch.linalg.svd(_complex_columns(value) @ rest.T.to(torch.complex128), full_matrices=False).U
    v = _leading(basis, channels).mH
    rows = expand(v.real, -v.imag, channels, 1)  # [K, D], orthonormal
    scale = value.norm() / rows.norm()
    if not scale > 0:
        return v, torch.zeros_like(output)
    return v * scale, output @ (value @ rows.T) / scale


def _kept(before: Tensor, after: Tensor) -> float:
    total = before.double().square().sum()
    lost = (before.double() - after.double()).square().sum()
    return float(1 - lost / total) if total > 0 else 1.0


def _kept_products(before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor], K: int) -> float:
    """1 - |O V - O' V'|^2 / |O V|^2 over all query heads, from products of K x K matrices."""

    def split(pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        v, o = pair
        heads = o.unflatten(1, (-1, K)).transpose(0, 1)  # [H, D, K]
        values = v.unflatten(0, (-1, K))  # [G, K, D]
        return values.repeat_interleave(len(heads) // len(values), 0), heads

    def inner(x: tuple[Tensor, Tensor], y: tuple[Tensor, Tensor]) -> Tensor:
        return ((x[1].mT @ y[1]) * (x[0] @ y[0].mT)).sum()

    old, new = split(before), split(after)
    total = inner(old, old)
    lost = total - 2 * inner(old, new) + inner(new, new)
    return float(1 - lost / total) if total > 0 else 1.0


__all__ = ["KeptEnergy", "replace_attention"]
