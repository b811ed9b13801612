"""Our Muon against torch.optim.Muon itself: ten steps on the same gradients, odd shapes."""

import subprocess

import pytest
import torch
from safetensors.torch import load_file, save_file

from conftest import ROOT

SHAPES = {"square": (17, 17), "wide": (5, 33), "tall": (33, 5), "row": (1, 9), "large": (300, 140)}
STEPS = 10
LR = 0.02


def record(path):
    generator = torch.Generator().manual_seed(3)
    tensors = {}
    for name, shape in SHAPES.items():
        tensors[f"{name}.start"] = torch.randn(shape, generator=generator)
        for step in range(STEPS):
            tensors[f"{name}.grad.{step}"] = torch.randn(shape, generator=generator)
    save_file(tensors, path)
    return tensors


def orthogonalise_in_fp32(monkeypatch):
    """torch.optim.Muon iterates in bf16; this makes the same code iterate in fp32."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda self: self.clone())


@pytest.mark.parametrize("adjustment", ["original", "match_rms_adamw"])
@pytest.mark.parametrize("iteration", ["bf16", "fp32"])
def test_ten_steps(adjustment, iteration, tmp_path, monkeypatch):
    tensors = record(tmp_path / "in.safetensors")
    probe = ROOT / "build" / "release" / "muon_probe"
    subprocess.run([probe, tmp_path / "in.safetensors", tmp_path / "out.safetensors", adjustment, iteration], check=True)
    ours = load_file(tmp_path / "out.safetensors")

    if iteration == "fp32":
        orthogonalise_in_fp32(monkeypatch)
    parameters = {name: torch.nn.Parameter(tensors[f"{name}.start"].clone()) for name in SHAPES}
    optimizer = torch.optim.Muon(parameters.values(), lr=LR, weight_decay=0.1, momentum=0.95, adjust_lr_fn=adjustment)
    for step in range(STEPS):
        for name, parameter in parameters.items():
            parameter.grad = tensors[f"{name}.grad.{step}"].clone()
        optimizer.step()
    for name, parameter in parameters.items():
        error = (ours[name] - parameter.data).norm() / parameter.data.norm()
        assert error < 1e-5, (name, float(error))
