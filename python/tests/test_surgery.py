"""replace_attention: the numbers of `crope upcycle`, grouped heads, biases, training on."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from conftest import GOLDENS, run_crope
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

import crope
from crope.block_linear import expand
from crope.surgery import _nearest_tied_head, _nearest_tied_value_head

METHODS = ["plain", "fitted"]
TIED = ["crope_qk", "crope_qkv", "crope_all"]
SIZES = {
    "vocab_size": 90,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
FAMILIES: dict[str, Any] = {
    "llama": (LlamaForCausalLM, LlamaConfig),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config),
}


def make(family: str, kv_heads: int = 2, **settings: Any) -> Any:
    torch.manual_seed(0)
    model_class, config_class = FAMILIES[family]
    if family == "qwen3":
        settings["head_dim"] = 8
    model = model_class(config_class(**SIZES, num_key_value_heads=kv_heads, **settings)).double().eval()
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1:  # gains and biases that differ, so that one in the wrong place shows
            torch.nn.init.uniform_(parameter, 0.5, 1.5) if "norm" in name else torch.nn.init.normal_(parameter)
    return model


@pytest.mark.parametrize("variant", TIED)
@pytest.mark.parametrize("method", METHODS)
def test_it_computes_what_crope_upcycle_does(variant: str, method: str, tmp_path: Path) -> None:
    run_crope("export", GOLDENS / "rope", tmp_path / "hf", "--format", "hf")
    text = run_crope("upcycle", GOLDENS / "rope", tmp_path / "ours", "--variant", variant, "--method", method, "--json")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf")
    kept = crope.replace_attention(model, variant, method)
    ids = torch.randint(97, (2, 20), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, crope.load(tmp_path / "ours")(ids), atol=1e-4, rtol=1e-4)
    for ours, other in zip(kept, json.loads(text)["kept"], strict=True):
        assert (ours.q, ours.k, ours.vo) == pytest.approx((other["q"], other["k"], other["vo"]), abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tie", [True, False])
def test_a_new_order_of_the_residual_stream_changes_nothing(family: str, tie: bool) -> None:
    model = make(family, tie_word_embeddings=tie)
    ids = torch.arange(10)[None]
    with torch.no_grad():
        before = model(ids).logits
        order = torch.randperm(32, generator=torch.Generator().manual_seed(1))
        crope.surgery._reorder_residual(model, model.model, order)
        torch.testing.assert_close(model(ids).logits, before)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("variant", TIED)
@pytest.mark.parametrize("method", METHODS)
def test_tied_models_lose_nothing(family: str, variant: str, method: str) -> None:
    """A model whose projections are complex-linear already stays the same function, whatever its groups and biases."""
    model = make(family)
    with torch.no_grad():
        for layer in model.model.layers:
            attention = layer.self_attn
            groups = {"q": (16, 4), "k": (16, 2), "v": (16, 8), "o": (16, 16)}  # neighbours in the stream, V and O
            for name, (inner, outer) in groups.items():
                linear = getattr(attention, f"{name}_proj")
                linear.weight.copy_(crope.BlockLinear.from_linear(linear, in_groups=inner, out_groups=outer).expand())
        ids = torch.arange(12)[None]
        before = model(ids).logits
    kept = crope.replace_attention(model, variant, method)
    for layer in kept:
        assert (layer.q, layer.k, layer.vo) == pytest.approx((1, 1, 1), abs=1e-9)
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, before, atol=1e-6, rtol=0)  # transformers' norms compute in fp32


@pytest.mark.parametrize("family", FAMILIES)
def test_fitted_keeps_more_and_trains(family: str) -> None:
    kept = {method: crope.replace_attention(make(family), "crope_all", method) for method in METHODS}
    for plain, fitted in zip(kept["plain"], kept["fitted"]):
        assert fitted.vo > plain.vo
    assert sum(layer.q + layer.k for layer in kept["fitted"]) > sum(layer.q + layer.k for layer in kept["plain"])
    model = make(family).float()
    crope.replace_attention(model, "crope_all")
    ids = torch.randint(90, (4, 16), generator=torch.Generator().manual_seed(0))
    optimizer = crope.Muon(crope.param_groups(model), lr=3e-3)
    kinds = {group["kind"] for group in optimizer.param_groups}
    assert kinds == {"pair", "matrix", "adamw"}
    losses = []
    for _ in range(6):
        loss = model(ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    other = make(family).float()
    crope.replace_attention(other, "crope_all")
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        assert torch.equal(other(ids).logits, model(ids).logits)


def test_products_of_a_head_are_the_nearest() -> None:
    """No small change of the fitted factors comes nearer to the product of the head."""
    torch.manual_seed(0)
    D, K = 12, 4
    value, output = torch.randn(K, D, dtype=torch.float64), torch.randn(2, D, K, dtype=torch.float64)
    target = output.flatten(0, 1) @ value
    v, o = _nearest_tied_head(value, output)

    def distance(v: torch.Tensor, o: torch.Tensor) -> float:
        rows = expand(v.real, -v.imag, K // 2, 1)
        columns = torch.cat([expand(part.real, -part.imag, 1, K // 2) for part in o.split(D // 2)])
        return float((columns @ rows - target).norm())

    best = distance(v, o)
    for _ in range(50):
        assert distance(v + 1e-3 * torch.randn_like(v), o) > best
        assert distance(v, o + 1e-3 * torch.randn_like(o)) > best
    v, free = _nearest_tied_value_head(value, output.flatten(0, 1))
    rows = expand(v.real, -v.imag, K // 2, 1)
    best = float((free @ rows - target).norm())
    for _ in range(50):
        other = v + 1e-3 * torch.randn_like(v)
        rows = expand(other.real, -other.imag, K // 2, 1)
        solution = torch.linalg.lstsq(rows.T, target.T).solution.T
        assert float((solution @ rows - target).norm()) > best


def test_refusals() -> None:
    with pytest.raises(ValueError, match="half_rope_qk"):
        crope.replace_attention(make("llama"), "half_rope_qk")
    with pytest.raises(ValueError, match="unknown method"):
        crope.replace_attention(make("llama"), "crope_all", "best")
    with pytest.raises(ValueError, match="expected a Llama or Qwen"):
        crope.replace_attention(torch.nn.Linear(2, 2), "crope_all")
    model = make("llama")
    crope.replace_attention(model, "crope_qk")
    with pytest.raises(ValueError, match=r"expected nn\.Linear"):
        crope.replace_attention(model, "crope_all")
    model = make("llama")
    model.model.layers[1].extra_norm = torch.nn.LayerNorm(32)
    with pytest.raises(ValueError, match="extra_norm"):
        crope.replace_attention(model, "crope_all")
