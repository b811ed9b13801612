"""Muon for complex-linear layers: a tied pair is orthogonalised as one complex matrix.

One optimiser drives a whole model, as `crope train` does: Muon on matrices, AdamW on embeddings and gains.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

import torch
from torch import Tensor, nn

from .block_linear import BlockLinear, join_quarters, split_quarters

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
NORM_EPS = 1e-7

# Matrices of one shape are iterated together, as many as fit into this many elements.
BATCH_ELEMENTS = 16 * 1024 * 1024


def newton_schulz(matrices: Tensor, steps: int = 5) -> Tensor:
    """Approximate orthogonal factors of matrices[..., R, C]: X <- c0 X + (c1 S + c2 S^2) X with S = X X^T."""
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = (matrices.mT if tall else matrices).reshape(-1, min(matrices.shape[-2:]), max(matrices.shape[-2:]))
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=NORM_EPS)
    c0, c1, c2 = COEFFICIENTS
    for _ in range(steps):
        # Sums inside the products: in bfloat16 they are rounded once.
        s = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(s, s, s, beta=c1, alpha=c2), x, beta=c0)
    return (x.mT if tall else x).reshape(matrices.shape)


def newton_schulz_pairs(a: Tensor, b: Tensor, steps: int = 5) -> tuple[Tensor, Tensor]:
    """The same for complex matrices Z = a - ib, a and b[..., R, C]: eight products of half size for three of full size
    (ten in reduced precision).

    Equals newton_schulz of the expanded matrices, contracted.
    """
    tall = a.shape[-2] > a.shape[-1]
    shape = -1, min(a.shape[-2:]), max(a.shape[-2:])
    re, im = (a.mT.reshape(shape), b.mT.reshape(shape)) if tall else (a.reshape(shape), -b.reshape(shape))  # Z^H, or Z
    scale = (2 * (re.square().sum((-2, -1), keepdim=True) + im.square().sum((-2, -1), keepdim=True))).sqrt()
    scale = scale.clamp(min=NORM_EPS)
    re, im = re / scale, im / scale
    c0, c1, c2 = COEFFICIENTS
    exact = re.dtype in (torch.float32, torch.float64)  # the sums that save products cancel digits bfloat16 lacks
    for _ in range(steps):
        # S = Z Z^H is Hermitian: its real part is symmetric, its imaginary part q - q^T.
        q = im @ re.mT
        s_re, s_im = torch.baddbmm(re @ re.mT, im, im.mT), q - q.mT
        p = s_re @ s_im  # S_im S_re = -p^T
        u_im = c1 * s_im + c2 * (p - p.mT)
        if exact:
            # (S_re - S_im)(S_re - S_im)^T = Re S^2 + p + p^T, and U Z by Gauss's three products.
            difference = s_re - s_im
            u_re = torch.baddbmm(c1 * s_re - c2 * (p + p.mT), difference, difference.mT, alpha=c2)
            shared = u_re @ (re + im)
            re, im = (
                torch.baddbmm(c0 * re + shared, u_re + u_im, im, alpha=-1),
                torch.baddbmm(c0 * im + shared, u_im - u_re, re),
            )
        else:
            u_re = torch.baddbmm(torch.baddbmm(s_re, s_re, s_re, beta=c1, alpha=c2), s_im, s_im.mT, alpha=c2)
            re, im = (
                torch.baddbmm(torch.baddbmm(re, u_re, re, beta=c0), u_im, im, alpha=-1),
                torch.baddbmm(torch.baddbmm(im, u_re, im, beta=c0), u_im, re),
            )
    return (re.mT.reshape(a.shape), im.mT.reshape(a.shape)) if tall else (re.reshape(a.shape), -im.reshape(a.shape))


def lr_factor(rows: int, columns: int, adjustment: str) -> float:
    """How the learning rate follows the shape of the matrix that is orthogonalised."""
    if adjustment == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    if adjustment == "original":
        return math.sqrt(max(1.0, rows / columns))
    raise ValueError(f"unknown lr_adjustment '{adjustment}': expected match_rms_adamw or original")


def param_groups(
    model: nn.Module,
    *,
    tied: str = "complex",
    dense: str = "whole",
    weight_decay: float = 0.1,
    adamw: Sequence[str] = ("output", "lm_head"),
) -> list[dict[str, Any]]:
    """Parameter groups of a model for Muon, each parameter once.

    tied: "complex" orthogonalises a and b of a tied BlockLinear as one complex matrix, "separate" as two matrices.
    dense: "whole", or "quarters" to treat an untied BlockLinear as its four real and imaginary blocks.
    adamw: names of modules whose matrices AdamW updates, besides embeddings.
    Embeddings decay, vectors (gains, biases) do not.
    """
    if tied not in ("complex", "separate"):
        raise ValueError(f"unknown tied='{tied}': expected complex or separate")
    if dense not in ("whole", "quarters"):
        raise ValueError(f"unknown dense='{dense}': expected whole or quarters")
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    seen: set[int] = set()

    def add(parameters: Iterable[Tensor], kind: str, decay: float = weight_decay, **settings: Any) -> None:
        chosen = [parameter for parameter in parameters if id(parameter) not in seen and parameter.requires_grad]
        seen.update(id(parameter) for parameter in chosen)
        key = (kind, decay, *sorted(settings.items()))
        group = groups.setdefault(key, {"params": [], "kind": kind, "weight_decay": decay, **settings})
        group["params"].extend(chosen)

    modules = list(model.named_modules())
    for name, module in modules:  # first what AdamW takes, so that a tied output projection stays with its embedding
        if isinstance(module, nn.Embedding) or name.rpartition(".")[2] in adamw:
            for parameter in module.parameters(recurse=False):
                add([parameter], "adamw", weight_decay if parameter.ndim > 1 else 0.0)
    for _, module in modules:
        if isinstance(module, BlockLinear) and module.tied:
            add((module.a, module.b), "pair" if tied == "complex" else "matrix")
        elif isinstance(module, BlockLinear) and dense == "quarters":
            add([module.weight], "quarters", out_groups=module.out_groups, in_groups=module.in_groups)
        for parameter in module.parameters(recurse=False):
            if parameter.ndim == 2:
                add([parameter], "matrix")
            else:
                add([parameter], "adamw", weight_decay if parameter.ndim > 1 else 0.0)
    return [group for group in groups.values() if group["params"]]


class Muon(torch.optim.Optimizer):
    """Muon and AdamW by parameter group: pass param_groups(model), or plain 2-D tensors for Muon alone.

    A group's `kind`: "matrix"; "pair" (params: a, b, a, b, ...); "quarters" (with `out_groups`, `in_groups`); "adamw".
    lr_adjustment: "match_rms_adamw" (updates as large as AdamW's) or "original". A pair has the factor of its expanded
      matrix, a matrix in quarters that of one quarter.
    iteration_dtype: what Newton-Schulz computes in. bfloat16 is faster on GPUs, and slower on most CPUs.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float = 2e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_steps: int = 5,
        lr_adjustment: str = "match_rms_adamw",
        betas: tuple[float, float] = (0.9, 0.95),
        eps: float = 1e-8,
        iteration_dtype: torch.dtype = torch.float32,
    ) -> None:
        lr_factor(1, 1, lr_adjustment)
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_steps": ns_steps,
            "lr_adjustment": lr_adjustment,
            "betas": betas,
            "eps": eps,
            "iteration_dtype": iteration_dtype,
            "kind": "matrix",
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            _check_group(group)

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if group["kind"] == "adamw":
                self._step_adamw(group)
            else:
                self._step_muon(group)
        return loss

    def _step_adamw(self, group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        for parameter in group["params"]:
            if parameter.grad is None:
                continue
            value, grad = _local(parameter), _local(parameter.grad)
            state = self.state[parameter]
            if not state:
                state["step"] = 0
                state["first"], state["second"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
            state["step"] += 1
            first, second = _local(state["first"]), _local(state["second"])
            first.lerp_(grad, 1 - beta1)
            second.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            correction1, correction2 = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
            value.mul_(1 - group["lr"] * group["weight_decay"])
            divisor = (second / correction2).sqrt_().add_(group["eps"])
            value.addcdiv_(first, divisor, value=-group["lr"] / correction1)

    def _step_muon(self, group: dict[str, Any]) -> None:
        per_matrix = 2 if group["kind"] == "pair" else 1
        parameters = group["params"]
        batches: dict[tuple[Any, ...], list[Sequence[Tensor]]] = {}
        for start in range(0, len(parameters), per_matrix):
            parts = parameters[start : start + per_matrix]
            missing = [part.grad is None for part in parts]
            if all(missing):
                continue
            if any(missing):
                raise RuntimeError("[Muon] only one part of a pair has a gradient")
            batches.setdefault((parts[0].shape, parts[0].device, parts[0].dtype), []).append(parts)
        for (shape, *_), matrices in batches.items():
            at_once = max(1, BATCH_ELEMENTS // (per_matrix * shape.numel()))
            for start in range(0, len(matrices), at_once):
                self._update(group, matrices[start : start + at_once])

    def _update(self, group: dict[str, Any], matrices: list[Sequence[Tensor]]) -> None:
        """One step of matrices of one shape, each given by its parts."""
        updates = [torch.stack([self._momentum_update(part, group) for part in parts]) for parts in zip(*matrices)]
        updates = [update.to(group["iteration_dtype"]) for update in updates]
        kind, steps = group["kind"], group["ns_steps"]
        rows, columns = updates[0].shape[-2:]
        if kind == "pair":
            directions: Sequence[Tensor] = newton_schulz_pairs(updates[0], updates[1], steps)
            rows, columns = 2 * rows, 2 * columns
        elif kind == "quarters":
            places = group["out_groups"], group["in_groups"]
            quarters = torch.stack([split_quarters(update, *places) for update in updates[0]])
            directions = [torch.stack([join_quarters(each, *places) for each in newton_schulz(quarters, steps)])]
            rows, columns = rows // 2, columns // 2
        else:
            directions = [newton_schulz(updates[0], steps)]
        rate = group["lr"] * lr_factor(rows, columns, group["lr_adjustment"])
        for parts, direction in zip(zip(*matrices), directions):
            for part, step in zip(parts, direction):
                value = _local(part)
                value.mul_(1 - group["lr"] * group["weight_decay"])  # by the unadjusted rate
                value.add_(_own_shard(step, part).to(value.dtype), alpha=-rate)

    def _momentum_update(self, parameter: Tensor, group: dict[str, Any]) -> Tensor:
        """The whole matrix to orthogonalise, also where the parameter is sharded."""
        assert parameter.grad is not None
        state = self.state[parameter]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(parameter)
        grad, buffer = _local(parameter.grad), _local(state["momentum_buffer"])
        buffer.lerp_(grad, 1 - group["momentum"])
        return _whole(grad.lerp(buffer, group["momentum"]) if group["nesterov"] else buffer, parameter)


def _check_group(group: dict[str, Any]) -> None:
    kind, parameters = group["kind"], group["params"]
    if kind not in ("matrix", "pair", "quarters", "adamw"):
        raise ValueError(f"[Muon] unknown kind '{kind}' of a group: expected matrix, pair, quarters or adamw")
    if kind != "adamw" and any(parameter.ndim != 2 for parameter in parameters):
        raise ValueError("[Muon] only matrices can be orthogonalised: pass param_groups(model), or 2-D tensors")
    if kind != "pair":
        return
    if len(parameters) % 2 or any(a.shape != b.shape for a, b in zip(parameters[0::2], parameters[1::2])):
        raise ValueError("[Muon] a group of pairs lists a, b, a, b, ... with both of one shape")


# Parameters of FSDP2 are DTensors: every rank holds some rows. Sums work on those; Newton-Schulz needs whole matrices.


def _local(tensor: Tensor) -> Tensor:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _whole(local: Tensor, like: Any) -> Tensor:
    """All rows of the matrix of which this rank has `local`, on every rank."""
    if not hasattr(like, "device_mesh"):
        return local
    from torch.distributed.tensor import DTensor

    sharded = DTensor.from_local(
        local, like.device_mesh, like.placements, run_check=False, shape=like.shape, stride=like.stride()
    )
    return sharded.full_tensor()


def _own_shard(whole: Tensor, like: Any) -> Tensor:
    """This rank's rows of a matrix that every rank has."""
    if not hasattr(like, "device_mesh"):
        return whole
    from torch.distributed.tensor import DTensor, Replicate

    replicas = [Replicate()] * like.device_mesh.ndim
    replica = DTensor.from_local(whole, like.device_mesh, replicas, run_check=False)
    return replica.redistribute(placements=like.placements).to_local()
