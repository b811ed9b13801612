"""The paper's BlockLinear: a linear layer on complex numbers stored as pairs of reals.

Every 2x2 block of a tied layer's matrix is [[a, b], [-b, a]], so the layer multiplies by a - ib: half the parameters of
a dense layer, and three quarters of its multiplications.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

LAYOUTS = ("pairs", "halves")

# From this many rows on, three products of half size are faster than two with all rows of both parts.
THREE_PRODUCT_ROWS = 32


def layout_groups(layout: str, width: int) -> int:
    """How many groups [re | im] a width has: width/2 of one number each in "pairs", a single one in "halves"."""
    if layout not in LAYOUTS:
        raise ValueError(f"unknown layout '{layout}': expected {' or '.join(LAYOUTS)}")
    return width // 2 if layout == "pairs" else 1


def split_parts(x: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """Real and imaginary parts [..., N] of x[..., 2N], which holds `groups` groups [re | im]. Views where possible."""
    parts = x.unflatten(-1, (groups, 2, -1))
    return parts[..., 0, :].flatten(-2), parts[..., 1, :].flatten(-2)


def join_parts(re: Tensor, im: Tensor, groups: int) -> Tensor:
    """The inverse of split_parts: [..., 2N] from two [..., N]."""
    return torch.stack((re.unflatten(-1, (groups, -1)), im.unflatten(-1, (groups, -1))), -2).flatten(-3)


def split_quarters(weight: Tensor, out_groups: int, in_groups: int) -> Tensor:
    """[2, 2, M, N] from weight[2M, 2N]: re and im of the output by re and im of the input."""
    blocks: Tensor = weight.unflatten(1, (in_groups, 2, -1)).unflatten(0, (out_groups, 2, -1))
    return blocks.permute(1, 4, 0, 2, 3, 5).flatten(4, 5).flatten(2, 3)


def join_quarters(quarters: Tensor, out_groups: int, in_groups: int) -> Tensor:
    """The inverse of split_quarters: [2M, 2N] from [2, 2, M, N]."""
    blocks: Tensor = quarters.unflatten(3, (in_groups, -1)).unflatten(2, (out_groups, -1))
    return blocks.permute(2, 0, 3, 4, 1, 5).flatten(3, 5).flatten(0, 2)


def expand(a: Tensor, b: Tensor, out_groups: int, in_groups: int) -> Tensor:
    """The dense matrix [2M, 2N] of the pair a[M, N], b[M, N]."""
    quarters = torch.stack((torch.stack((a, b)), torch.stack((-b, a))))
    return join_quarters(quarters, out_groups, in_groups)


def contract(weight: Tensor, out_groups: int, in_groups: int) -> tuple[Tensor, Tensor]:
    """The pair a, b whose dense matrix is nearest to weight[2M, 2N]. Exact for a tied matrix."""
    quarters = split_quarters(weight, out_groups, in_groups)
    return (quarters[0, 0] + quarters[1, 1]) / 2, (quarters[0, 1] - quarters[1, 0]) / 2


def multiply_parts(re: Tensor, im: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """(a - ib)(re + i im) as two parts [..., M], from re, im[..., N] and a, b[M, N]."""
    rows = re.numel() // re.shape[-1]
    exact = re.dtype in (torch.float32, torch.float64) and not torch.is_autocast_enabled(re.device.type)
    if exact and rows >= THREE_PRODUCT_ROWS:
        # Gauss: three products instead of four. Their sums cancel digits that bfloat16 does not have.
        shared = functional.linear(re + im, a)
        return shared + functional.linear(im, b - a), shared - functional.linear(re, a + b)
    both = torch.stack((re, im))
    by_a, by_b = functional.linear(both, a), functional.linear(both, b)
    return by_a[0] + by_b[1], by_a[1] - by_b[0]


class BlockLinear(nn.Module):
    """y[..., out_features] from x[..., in_features], complex-linear when tied.

    Parameters: `a` and `b` [out/2, in/2] when tied, else `weight` [out, in] of an ordinary linear layer; `bias` [out].
    layout: where the real and imaginary parts are. "pairs": neighbours, z_p = x[2p] + i x[2p+1], as in the paper and
      in files; "halves": z_p = x[p] + i x[N+p].
    in_groups, out_groups: for mixed layouts, the number of groups [re | im] in the input and the output; for example
      one per head where each head is stored in halves. They override `layout`.
    conjugate_scale: of a tied layer of an annealed model, the factor s of a conjugate-linear part: the layer adds
      s (conjugate_a - i conjugate_b) conj(x). None: there is no such part.
    """

    a: Tensor
    b: Tensor
    conjugate_a: Tensor
    conjugate_b: Tensor
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        tied: bool = True,
        layout: str = "pairs",
        bias: bool = False,
        *,
        in_groups: int | None = None,
        out_groups: int | None = None,
        conjugate_scale: float | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.conjugate_scale = conjugate_scale if tied else None
        self.in_features, self.out_features, self.tied = in_features, out_features, tied
        self.in_groups = in_groups or layout_groups(layout, in_features)
        self.out_groups = out_groups or layout_groups(layout, out_features)
        for width, groups in ((in_features, self.in_groups), (out_features, self.out_groups)):
            if width % (2 * groups) != 0:
                raise ValueError(f"[BlockLinear] a width of {width} does not hold {groups} groups [re | im]")

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

        if tied:
            self.a = parameter(out_features // 2, in_features // 2)
            self.b = parameter(out_features // 2, in_features // 2)
            if conjugate_scale is not None:
                self.conjugate_a = parameter(out_features // 2, in_features // 2)
                self.conjugate_b = parameter(out_features // 2, in_features // 2)
        else:
            self.weight = parameter(out_features, in_features)
        self.register_parameter("bias", parameter(out_features) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Normal weights with std 1/sqrt(in_features), a and b alike: y varies as a dense layer's does."""
        for weight in (self.a, self.b) if self.tied else (self.weight,):
            nn.init.normal_(weight, std=1 / math.sqrt(self.in_features))
        if self.conjugate_scale is not None:
            nn.init.zeros_(self.conjugate_a)
            nn.init.zeros_(self.conjugate_b)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @classmethod
    def from_linear(
        cls,
        linear: nn.Linear,
        tied: bool = True,
        layout: str = "pairs",
        *,
        in_groups: int | None = None,
        out_groups: int | None = None,
    ) -> "BlockLinear":
        """The layer nearest to `linear`: the same function when not tied, else without its conjugate-linear part."""
        weight = linear.weight.detach()
        layer = cls(
            linear.in_features,
            linear.out_features,
            tied,
            layout,
            linear.bias is not None,
            in_groups=in_groups,
            out_groups=out_groups,
            device=weight.device,
            dtype=weight.dtype,
        )
        with torch.no_grad():
            if tied:
                a, b = contract(weight, layer.out_groups, layer.in_groups)
                layer.a.copy_(a)
                layer.b.copy_(b)
            else:
                layer.weight.copy_(weight)
            if layer.bias is not None and linear.bias is not None:
                layer.bias.copy_(linear.bias.detach())
        return layer

    def expand(self) -> Tensor:
        """The dense matrix W[out, in] with forward(x) == x W^T + bias."""
        if not self.tied:
            return self.weight
        if self.conjugate_scale is None:
            return expand(self.a, self.b, self.out_groups, self.in_groups)
        a, b = self.conjugate_scale * self.conjugate_a, self.conjugate_scale * self.conjugate_b
        rows = (torch.stack((self.a + a, self.b - b)), torch.stack((-self.b - b, self.a - a)))
        return join_quarters(torch.stack(rows), self.out_groups, self.in_groups)

    def forward(self, x: Tensor) -> Tensor:
        if not self.tied or self.conjugate_scale is not None:  # an annealed layer has the parameters of a dense one
            return functional.linear(x, self.expand(), self.bias)
        re, im = multiply_parts(*split_parts(x, self.in_groups), self.a, self.b)
        y = join_parts(re, im, self.out_groups)
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        groups = f"in_groups={self.in_groups}, out_groups={self.out_groups}"
        return f"{self.in_features}, {self.out_features}, tied={self.tied}, {groups}, bias={self.bias is not None}"
