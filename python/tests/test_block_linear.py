"""BlockLinear: complex multiplication, layouts, gradients, compilation, reduced precision."""

import pytest
import torch
from conftest import relative_error
from torch import nn

import crope
from crope.block_linear import contract, expand, join_parts, join_quarters, split_parts, split_quarters

LAYOUTS = ["pairs", "halves"]


def complex_of(x: torch.Tensor, groups: int) -> torch.Tensor:
    return torch.complex(*split_parts(x, groups))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [1, 7, 33, 70])  # both ways to multiply
def test_it_multiplies_by_a_minus_ib(layout: str, rows: int) -> None:
    layer = crope.BlockLinear(6, 10, layout=layout, dtype=torch.float64)
    x = torch.randn(rows, 6, dtype=torch.float64)
    weight = torch.complex(layer.a, -layer.b)
    expected = complex_of(x, layer.in_groups) @ weight.T
    torch.testing.assert_close(complex_of(layer(x), layer.out_groups), expected)
    turn = torch.polar(torch.tensor(1.0, dtype=torch.float64), torch.tensor(0.7, dtype=torch.float64))
    turned = join_parts(*torch.view_as_real(complex_of(x, layer.in_groups) * turn).unbind(-1), layer.in_groups)
    torch.testing.assert_close(complex_of(layer(turned), layer.out_groups), expected * turn)


@pytest.mark.parametrize("groups", [(3, 1), (1, 5), (3, 5), (1, 1)])
@pytest.mark.parametrize("rows", [2, 40])
def test_expand_is_the_same_layer(groups: tuple[int, int], rows: int) -> None:
    layer = crope.BlockLinear(6, 10, bias=True, in_groups=groups[0], out_groups=groups[1], dtype=torch.float64)
    assert layer.bias is not None
    nn.init.normal_(layer.bias)
    x = torch.randn(2, rows, 6, dtype=torch.float64)
    torch.testing.assert_close(layer(x), nn.functional.linear(x, layer.expand(), layer.bias))
    a, b = contract(layer.expand(), layer.out_groups, layer.in_groups)
    torch.testing.assert_close((a, b), (layer.a.detach(), layer.b.detach()))


def test_blocks_are_those_of_the_paper() -> None:
    a, b = torch.randn(2, 3), torch.randn(2, 3)
    weight = expand(a, b, 2, 3)
    for i in range(2):
        for j in range(3):
            block = torch.stack((torch.stack((a[i, j], b[i, j])), torch.stack((-b[i, j], a[i, j]))))
            torch.testing.assert_close(weight[2 * i : 2 * i + 2, 2 * j : 2 * j + 2], block)
    quarters = split_quarters(weight, 2, 3)
    for i in (0, 1):
        for j in (0, 1):
            torch.testing.assert_close(quarters[i, j], weight[i::2, j::2])
    torch.testing.assert_close(join_quarters(quarters, 2, 3), weight)


@pytest.mark.parametrize("rows", [3, 40])
def test_gradients_by_finite_differences(rows: int) -> None:
    layer = crope.BlockLinear(4, 6, dtype=torch.float64)
    x = torch.randn(rows, 4, dtype=torch.float64, requires_grad=True)
    multiply = crope.block_linear.multiply_parts
    assert torch.autograd.gradcheck(
        lambda x, a, b: torch.cat(multiply(*split_parts(x, 2), a, b)), (x, layer.a, layer.b)
    )


def test_from_linear_is_the_nearest_tied_layer() -> None:
    linear = nn.Linear(8, 6)
    layer = crope.BlockLinear.from_linear(linear)
    best = (layer.expand() - linear.weight).norm()
    with torch.no_grad():
        for parameter in (layer.a, layer.b):
            for change in (0.01, -0.01):
                parameter[1, 2] += change
                assert (layer.expand() - linear.weight).norm() > best
                parameter[1, 2] -= change
    x = torch.randn(3, 8)
    torch.testing.assert_close(crope.BlockLinear.from_linear(linear, tied=False)(x), linear(x))


def test_a_tied_layer_starts_as_loud_as_a_dense_one() -> None:
    torch.manual_seed(0)
    y = crope.BlockLinear(512, 512)(torch.randn(2000, 512))
    assert abs(float(y.detach().std()) - 1) < 0.03


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="a width of 7"):
        crope.BlockLinear(7, 8)
    with pytest.raises(ValueError, match="unknown layout"):
        crope.BlockLinear(8, 8, layout="thirds")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [4, 64])
def test_compiled_without_graph_breaks(layout: str, rows: int) -> None:
    torch.compiler.reset()
    layer = crope.BlockLinear(16, 24, layout=layout)
    compiled = torch.compile(layer, fullgraph=True)
    x = torch.randn(rows, 16, requires_grad=True)
    expected, y = layer(x), compiled(x)
    assert relative_error(y, expected) < 1e-6
    grads = [torch.autograd.grad(out.square().sum(), (x, layer.a, layer.b)) for out in (expected, y)]
    for ours, other in zip(*grads):
        assert relative_error(other, ours) < 1e-5


@pytest.mark.parametrize("rows", [4, 64])
def test_autocast(rows: int) -> None:
    layer = crope.BlockLinear(64, 48)
    x = torch.randn(rows, 64)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(x)
        dense = nn.functional.linear(x, layer.expand())
    assert y.dtype == torch.bfloat16
    exact = layer(x)
    assert relative_error(y, exact) < 2 * relative_error(dense, exact) < 0.02
    y.float().square().sum().backward()
    assert layer.a.grad is not None and layer.a.grad.dtype == torch.float32
