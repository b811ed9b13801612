"""Twenty losses of crope train against a PyTorch loop from the same weights, on the same rows."""

import json
import struct
import sys

import pytest
import torch

from conftest import GOLDENS, ROOT, run_crope

sys.path.insert(0, str(ROOT / "bench"))
import pytorch_model  # noqa: E402

STEPS, ROWS, T = 20, 6, 24
SCHEDULE = {"lr": 6e-3, "min_lr": 2e-3, "warmup": 5}


def write_shard(path, tokens):
    header = [20240520, 1, len(tokens)] + [0] * 253
    path.write_bytes(struct.pack("<256i", *header) + struct.pack(f"<{len(tokens)}H", *tokens))


def make_tokens(vocab_size):
    """A walk with a pattern, so that there is something to learn."""
    generator = torch.Generator().manual_seed(5)
    steps = torch.randint(1, 4, (STEPS * ROWS * T + 1,), generator=generator)
    return (steps.cumsum(0) % vocab_size).tolist()


def pytorch_losses(model_dir, tokens):
    model = pytorch_model.load_decoder(model_dir)
    muon, adamw = pytorch_model.Fp32Muon(model), pytorch_model.adamw(model)
    losses = []
    for step in range(STEPS):
        first = step * ROWS
        rows = torch.tensor([tokens[r * T : r * T + T + 1] for r in range(first, first + ROWS)])
        rate = pytorch_model.learning_rate(step, STEPS, **SCHEDULE)
        muon.lr = rate
        for group in adamw.param_groups:
            group["lr"] = rate
        loss = model(rows)
        model.zero_grad()
        loss.backward()
        muon.step()
        adamw.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("variant", ["rope", "crope_all", "half_rope_qk"])
def test_losses_of_twenty_steps(variant, tmp_path):
    start = GOLDENS / variant
    tokens = make_tokens(json.loads((start / "config.json").read_text())["vocab_size"])
    (tmp_path / "data").mkdir()
    write_shard(tmp_path / "data" / "train_000000.bin", tokens)
    # Pieces of four rows and two: accumulation is part of what is compared.
    run_crope("train", "--data", tmp_path / "data", "--out", tmp_path / "run", "--init-from", start,
              "--data-order", "sequential", "--steps", STEPS, "--batch-size", ROWS, "--micro-batch-size", 4,
              "--seq-len", T, "--lr", SCHEDULE["lr"], "--min-lr", SCHEDULE["min_lr"],
              "--warmup-steps", SCHEDULE["warmup"], "--validate-every", 0, "--precision", "fp32")
    ours = [json.loads(line)["loss"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    expected = pytorch_losses(start, tokens)
    assert len(ours) == STEPS
    assert expected[-1] < expected[0] - 0.4, "nothing was learned: the comparison would be empty"
    assert max(abs(x - y) for x, y in zip(ours, expected)) < 1e-4
