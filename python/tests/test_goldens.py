"""The numbers of an independent implementation, for every golden: logits, gradients, three optimiser steps."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import GOLDENS, VARIANTS, relative_error, score
from torch.nn.functional import cross_entropy

import crope
from crope.files import read_tensors

# The six variants, and more/ with other settings.
MODELS = sorted(str(path.parent.relative_to(GOLDENS)) for path in GOLDENS.rglob("golden.safetensors"))
GROUPED = {"crope_all": 2, "crope_qk": 1, "rope": 2, "half_rope_qk": 2}  # variant: key/value heads


def check(folder: Path) -> None:
    golden = read_tensors(folder / "golden.safetensors")
    settings = json.loads((folder / "golden.json").read_text()) if (folder / "golden.json").exists() else {}
    model = crope.load(folder)
    groups = crope.param_groups(
        model, tied=settings.get("muon_tied", "complex"), dense=settings.get("muon_dense", "whole")
    )
    optimizer = crope.Muon(groups, lr=2e-3)
    ids, targets = golden["tokens"][:, :-1], golden["tokens"][:, 1:]
    losses = []
    for step in range(3):
        logits = model(ids)
        loss = cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            assert relative_error(logits, golden["logits"]) < 1e-5
            names = [name.removeprefix("grad.") for name in golden if name.startswith("grad.")]
            assert sorted(names) == sorted(name for name, _ in model.named_parameters())
            for name, parameter in model.named_parameters():
                assert parameter.grad is not None
                assert relative_error(parameter.grad, golden[f"grad.{name}"]) < 1e-5, name
        losses.append(loss.detach())
        optimizer.step()
    assert relative_error(torch.stack(losses), golden["step_losses"]) < 1e-5
    for name, parameter in model.named_parameters():
        assert relative_error(parameter, golden[f"after3.{name}"]) < 1e-4, name


@pytest.mark.parametrize("name", MODELS)
def test_golden(name: str) -> None:
    check(GOLDENS / name)


@pytest.mark.parametrize("variant", GROUPED)
def test_grouped_heads(variant: str, tmp_path: Path) -> None:
    """Goldens of grouped heads, drawn and computed by the script that made the others."""
    shape = {"vocab_size": 61, "num_layers": 2, "num_heads": 4, "d_model": 32, "d_ff": 40, "rope_theta": 5000.0}
    config = {**shape, "norm_eps": 1e-6, "max_seq_len": 64, "variant": variant, "num_kv_heads": GROUPED[variant]}
    (tmp_path / "given.json").write_text(json.dumps(config))
    command = [sys.executable, GOLDENS / "generate.py", "--new", tmp_path / "given.json", "--out", tmp_path / "golden"]
    subprocess.run(command, check=True)
    check(tmp_path / "golden")


@pytest.mark.parametrize("variant", VARIANTS)
def test_log_probabilities_are_those_of_crope_score(variant: str) -> None:
    ids = read_tensors(GOLDENS / variant / "golden.safetensors")["tokens"][0].tolist()
    with torch.no_grad():
        logits = crope.load(GOLDENS / variant)(torch.tensor([ids[:-1]]))[0]
    ours = torch.log_softmax(logits.double(), -1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    torch.testing.assert_close(
        ours, torch.tensor(score(GOLDENS / variant, ids), dtype=torch.float64), atol=1e-5, rtol=0
    )


def test_newton_schulz() -> None:
    golden = read_tensors(GOLDENS / "newton_schulz.safetensors")
    compared = 0
    for name, value in golden.items():
        if name.startswith("real.") and name.endswith(".in"):
            out = crope.newton_schulz(value)
            assert relative_error(out, golden[name.replace(".in", ".out")]) < 1e-5, name
        elif name.endswith(".in.a"):
            a, b = crope.newton_schulz_pairs(value, golden[name[:-1] + "b"])
            out_name = name.replace(".in.", ".out.")
            assert relative_error(a, golden[out_name]) < 1e-5, name
            assert relative_error(b, golden[out_name[:-1] + "b"]) < 1e-5, name
        else:
            continue
        compared += 1
    assert compared == 8
