"""Muon: groups, pairs against their expanded matrices, state."""

import copy

import pytest
import torch
from conftest import GOLDENS, relative_error
from torch import nn

import crope
from crope.block_linear import contract, expand


def test_a_pair_moves_as_its_expanded_matrix() -> None:
    """With the tied gradient: Newton-Schulz keeps the tie."""
    torch.manual_seed(1)
    a, b = (nn.Parameter(torch.randn(6, 10, dtype=torch.float64)) for _ in range(2))
    dense = nn.Parameter(expand(a, b, 1, 1).detach().clone())
    settings = {"lr": 0.1, "iteration_dtype": torch.float64}
    pair = crope.Muon([{"params": [a, b], "kind": "pair"}], **settings)
    whole = crope.Muon([dense], **settings)
    for _ in range(3):
        a.grad, b.grad = torch.randn_like(a), torch.randn_like(b)
        dense.grad = expand(a.grad, b.grad, 1, 1)
        pair.step()
        whole.step()
        for ours, other in zip((a, b), contract(dense.detach(), 1, 1)):
            torch.testing.assert_close(ours.detach(), other)


@pytest.mark.parametrize("shape", [(16, 16), (8, 24), (24, 8)])
def test_a_real_matrix_moves_as_in_torch(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.optim.Muon iterates in bfloat16; here the same code iterates in fp32."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda self: self.clone())
    torch.manual_seed(2)
    ours, other = (nn.Parameter(torch.ones(shape)) for _ in range(2))
    steps = [torch.randn(shape) for _ in range(3)]
    optimizers = [
        crope.Muon([ours], lr=0.02),
        torch.optim.Muon([other], lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
    ]
    for grad in steps:
        for parameter, optimizer in zip((ours, other), optimizers):
            parameter.grad = grad.clone()
            optimizer.step()
    assert relative_error(ours - 1, other - 1) < 1e-5


def test_reduced_precision_costs_no_more_than_in_torch() -> None:
    torch.manual_seed(2)
    grad = torch.randn(64, 96)
    exact = crope.newton_schulz(grad.double())
    other = nn.Parameter(torch.zeros(64, 96))
    other.grad = grad
    torch.optim.Muon([other], lr=1.0, weight_decay=0.0, momentum=0.0, nesterov=False, adjust_lr_fn="original").step()
    errors = [relative_error(factor, exact) for factor in (crope.newton_schulz(grad.bfloat16()), -other)]
    assert errors[0] < 1.25 * errors[1] < 0.02
    a, b = contract(grad.bfloat16(), 1, 1)
    pair = torch.stack(crope.newton_schulz_pairs(a, b))
    # A part of a complex product is the sum of two rounded products, and S of more.
    assert relative_error(pair, torch.stack(crope.newton_schulz_pairs(a.double(), b.double()))) < 3 * errors[1]


def test_every_parameter_is_in_one_group() -> None:
    for name in ("crope_all", "rope", "crope_qk"):
        model = crope.load(GOLDENS / name)
        for settings in ({}, {"tied": "separate"}, {"dense": "quarters"}):
            groups = crope.param_groups(model, **settings)
            chosen = [id(parameter) for group in groups for parameter in group["params"]]
            assert sorted(chosen) == sorted(id(parameter) for parameter in model.parameters())
    kinds = {group["kind"]: group for group in crope.param_groups(crope.load(GOLDENS / "crope_qk"), dense="quarters")}
    assert {kind: len(group["params"]) for kind, group in kinds.items() if kind != "adamw"} == {
        "pair": 8,
        "quarters": 4,
        "matrix": 6,
    }


def test_embeddings_decay_and_gains_do_not() -> None:
    model = crope.load(GOLDENS / "crope_all")
    for group in crope.param_groups(model):
        if group["kind"] == "adamw":
            assert {parameter.ndim for parameter in group["params"]} == ({2} if group["weight_decay"] else {1})


def test_a_tied_output_projection_stays_with_its_embedding() -> None:
    model = nn.Module()
    model.head, model.embed = nn.Linear(8, 20, bias=False), nn.Embedding(20, 8)
    model.head.weight = model.embed.weight
    assert [group["kind"] for group in crope.param_groups(model)] == ["adamw"]
    model = nn.Sequential()
    model.lm_head, model.hidden = nn.Linear(8, 20), nn.Linear(8, 8)
    kinds = {group["kind"]: len(group["params"]) for group in crope.param_groups(model) if group["weight_decay"]}
    assert kinds == {"adamw": 1, "matrix": 1}


def test_state_comes_back() -> None:
    torch.manual_seed(3)
    models = [crope.load(GOLDENS / "crope_all")]
    optimizers = [crope.Muon(crope.param_groups(models[0]))]

    def step(model: nn.Module, optimizer: crope.Muon, seed: int) -> None:
        ids = torch.randint(97, (2, 9), generator=torch.Generator().manual_seed(seed))
        optimizer.zero_grad()
        model(ids).square().mean().backward()
        optimizer.step()

    step(models[0], optimizers[0], 0)
    models.append(copy.deepcopy(models[0]))
    optimizers.append(crope.Muon(crope.param_groups(models[1])))
    optimizers[1].load_state_dict(copy.deepcopy(optimizers[0].state_dict()))
    for model, optimizer in zip(models, optimizers):
        step(model, optimizer, 1)
    for ours, other in zip(*(model.parameters() for model in models)):
        assert torch.equal(ours, other)


def test_parameters_without_gradients_are_left_alone() -> None:
    layer = crope.BlockLinear(4, 4)
    before = layer.a.detach().clone()
    optimizer = crope.Muon(crope.param_groups(layer))
    optimizer.step()
    assert torch.equal(layer.a, before)
    layer.a.grad = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="only one part"):
        optimizer.step()


def test_wrong_groups() -> None:
    vector, matrix = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3, 3))
    with pytest.raises(ValueError, match="only matrices"):
        crope.Muon([vector])
    with pytest.raises(ValueError, match="a, b, a, b"):
        crope.Muon([{"params": [matrix], "kind": "pair"}])
    with pytest.raises(ValueError, match="unknown kind"):
        crope.Muon([{"params": [matrix], "kind": "vector"}])
    with pytest.raises(ValueError, match="lr_adjustment"):
        crope.Muon([matrix], lr_adjustment="none")
    with pytest.raises(ValueError, match="unknown tied"):
        crope.param_groups(nn.Linear(2, 2), tied="both")
