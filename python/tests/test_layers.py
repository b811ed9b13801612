"""rotary and CRopeAttention."""

import pytest
import torch
from conftest import GOLDENS, VARIANTS, relative_error

import crope
from crope.files import read_tensors
from crope.model import KeyValueCache


@pytest.mark.parametrize("layout", ["pairs", "halves"])
def test_scores_depend_on_the_distance_alone(layout: str) -> None:
    q, k = torch.randn(2, 8, dtype=torch.float64)

    def score(m: int, n: int) -> torch.Tensor:
        rotated = [crope.rotary(x[None], torch.tensor([p]), layout=layout) for x, p in ((q, m), (k, n))]
        return rotated[0][0] @ rotated[1][0]

    torch.testing.assert_close(score(7, 3), score(104, 100), atol=1e-4, rtol=0)  # angles are fp32
    assert abs(score(7, 3) - score(7, 4)) > 1e-3


def test_rotary_multiplies_pairs_by_a_phase() -> None:
    x = torch.randn(3, 5, 6)
    theta = 100.0 ** -(torch.arange(0, 6, 2) / 6)
    phase = torch.polar(torch.ones(5, 3), torch.arange(5)[:, None] * theta)
    expected = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (3, 2))) * phase).flatten(-2)
    torch.testing.assert_close(crope.rotary(x, base=100.0), expected)
    halves = torch.cat((x[..., 0::2], x[..., 1::2]), -1)
    turned = crope.rotary(halves, base=100.0, layout="halves")
    torch.testing.assert_close(turned, torch.cat((expected[..., 0::2], expected[..., 1::2]), -1))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_attention_is_causal_and_has_the_shape_it_is_given(variant: str, kv_heads: int) -> None:
    attention = crope.CRopeAttention(32, 4, variant, num_kv_heads=kv_heads)
    x = torch.randn(2, 9, 32)
    y = attention(x)
    assert y.shape == x.shape
    x[:, 6:] = torch.randn(2, 3, 32)
    torch.testing.assert_close(attention(x)[:, :6], y[:, :6])
    assert relative_error(attention(x)[:, 6:], y[:, 6:]) > 0.1


def test_attention_has_no_absolute_positions() -> None:
    attention = crope.CRopeAttention(32, 4)
    x = torch.randn(2, 9, 32)
    torch.testing.assert_close(attention(x, torch.arange(9) + 50), attention(x), atol=1e-5, rtol=1e-4)


def test_grouped_heads_read_the_group_of_their_number() -> None:
    """One group of four heads is four heads with equal keys and values."""
    grouped, full = crope.CRopeAttention(32, 4, num_kv_heads=1), crope.CRopeAttention(32, 4)
    state = dict(grouped.state_dict())
    for name in ("k.a", "k.b", "v.a", "v.b"):
        state[name] = state[name].repeat(4, 1)
    full.load_state_dict(state)
    x = torch.randn(2, 7, 32)
    torch.testing.assert_close(full(x), grouped(x))


@pytest.mark.parametrize("variant", VARIANTS)
def test_models_compile_without_graph_breaks(variant: str) -> None:
    torch.compiler.reset()
    model = crope.load(GOLDENS / variant)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    ids = read_tensors(GOLDENS / variant / "golden.safetensors")["tokens"][:, :-1]
    y = compiled(ids)
    assert relative_error(y, model(ids)) < 1e-6
    y.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_model_compiled_by_inductor() -> None:
    torch.compiler.reset()
    model = crope.load(GOLDENS / "crope_all")
    compiled = torch.compile(model, fullgraph=True)
    golden = read_tensors(GOLDENS / "crope_all" / "golden.safetensors")
    y = compiled(golden["tokens"][:, :-1])
    assert relative_error(y, golden["logits"]) < 1e-5
    loss = torch.nn.functional.cross_entropy(y.flatten(0, 1), golden["tokens"][:, 1:].flatten())
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        assert relative_error(parameter.grad, golden[f"grad.{name}"]) < 1e-5, name


def test_a_model_under_autocast_trains() -> None:
    torch.manual_seed(0)
    shape = crope.ModelConfig(64, 2, 4, 32, 48, variant="crope_all", max_seq_len=32)
    model = crope.Transformer(shape)
    optimizer = crope.Muon(crope.param_groups(model), lr=5e-3)
    ids = torch.randint(64, (4, 17))
    losses = []
    for _ in range(8):
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(ids[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] - 0.3


@pytest.mark.parametrize("variant", ["crope_all", "half_rope_qk"])
def test_cached_pieces_equal_the_whole(variant: str) -> None:
    model = crope.load(GOLDENS / variant)
    ids = torch.randint(97, (2, 40))
    cache = KeyValueCache()
    with torch.no_grad():
        pieces = torch.cat([model(piece, cache) for piece in ids.split([20, 1, 1, 13, 5], 1)], 1)
        torch.testing.assert_close(pieces, model(ids), atol=1e-5, rtol=1e-5)
