"""Twenty losses of crope train against a PyTorch loop from the same weights, on the same rows, with and without a teacher."""

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


def mixed_loss(model, teacher, rows, weight, temperature, top_k):
    """The text's loss and the teacher's divergence, mixed."""
    with torch.no_grad():
        taught = teacher.logits(rows[:, :-1]) / temperature
        if top_k:
            taught = taught.masked_fill(taught < taught.topk(top_k).values[..., -1:], -torch.inf)
    student = torch.log_softmax(model.logits(rows[:, :-1]) / temperature, -1)
    p = torch.softmax(taught, -1)
    divergence = (torch.special.xlogy(p, p) - p * student).sum(-1).mean()
    return (1 - weight) * model(rows) + weight * temperature**2 * divergence


def bf16_losses(model_dir, tokens, pieces, compiled=False):
    """The losses of PyTorch's own bf16 autocast, in micro-batches of these rows of each batch."""
    model = pytorch_model.load_decoder(model_dir)
    forward = torch.compile(model) if compiled else model
    muon, adamw = pytorch_model.Fp32Muon(model), pytorch_model.adamw(model)
    losses = []
    for step in range(STEPS):
        first = step * ROWS
        rows = torch.tensor([tokens[r * T : r * T + T + 1] for r in range(first, first + ROWS)])
        muon.lr = pytorch_model.learning_rate(step, STEPS, **SCHEDULE)
        for group in adamw.param_groups:
            group["lr"] = muon.lr
        model.zero_grad()
        losses.append(0.0)
        for piece in pieces:
            with torch.autocast("cpu", torch.bfloat16):
                loss = forward(rows[list(piece)]) * len(piece) / ROWS
            loss.backward()
            losses[-1] += loss.item()
        muon.step()
        adamw.step()
    return losses


def distance(one, other):
    """The root mean square of the differences of two loss curves."""
    return (sum((x - y) ** 2 for x, y in zip(one, other)) / len(one)) ** 0.5


def pytorch_losses(model_dir, tokens, teacher_dir=None, **mix):
    teacher = pytorch_model.load_decoder(teacher_dir) if teacher_dir else None
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
        loss = mixed_loss(model, teacher, rows, **mix) if teacher else model(rows)
        model.zero_grad()
        loss.backward()
        muon.step()
        adamw.step()
        losses.append(loss.item())
    return losses


def train_losses(start, tmp_path, *flags, precision="fp32"):
    """The losses of crope train from `start`, and the tokens that it saw."""
    tokens = make_tokens(json.loads((start / "config.json").read_text())["vocab_size"])
    (tmp_path / "data").mkdir()
    write_shard(tmp_path / "data" / "train_000000.bin", tokens)
    # Pieces of four rows and two: accumulation is part of what is compared.
    run_crope("train", "--data", tmp_path / "data", "--out", tmp_path / "run", "--init-from", start,
              "--data-order", "sequential", "--steps", STEPS, "--batch-size", ROWS, "--micro-batch-size", 4,
              "--seq-len", T, "--lr", SCHEDULE["lr"], "--min-lr", SCHEDULE["min_lr"],
              "--warmup-steps", SCHEDULE["warmup"], "--validate-every", 0, "--precision", precision, *flags)
    return tokens, [json.loads(line)["loss"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("variant", ["rope", "crope_all", "half_rope_qk"])
def test_losses_of_twenty_steps(variant, tmp_path):
    start = GOLDENS / variant
    tokens, ours = train_losses(start, tmp_path)
    expected = pytorch_losses(start, tokens)
    assert len(ours) == STEPS
    assert expected[-1] < expected[0] - 0.4, "nothing was learned: the comparison would be empty"
    assert max(abs(x - y) for x, y in zip(ours, expected)) < 1e-4


@pytest.mark.parametrize("weight, temperature, top_k", [(1.0, 1.0, 0), (0.4, 2.0, 0), (0.7, 1.5, 9)])
def test_losses_with_a_teacher(weight, temperature, top_k, tmp_path):
    start, teacher = GOLDENS / "crope_all", GOLDENS / "rope"
    tokens, ours = train_losses(start, tmp_path, "--teacher", teacher, "--teacher-weight", weight,
                                "--temperature", temperature, "--teacher-top-k", top_k)
    expected = pytorch_losses(start, tokens, teacher, weight=weight, temperature=temperature, top_k=top_k)
    assert len(ours) == STEPS
    assert expected[-1] < expected[0] - 0.2, "nothing was learned: the comparison would be empty"
    assert max(abs(x - y) for x, y in zip(ours, expected)) < 1e-4 * max(1, expected[0])


@pytest.mark.parametrize("fused", ["1", "0"], ids=["cpu_plan", "device_plan"])
@pytest.mark.parametrize("variant", ["rope", "crope_all"])
def test_bf16_losses_are_within_the_spread_of_pytorch(variant, fused, tmp_path, monkeypatch):
    """Two runs of PyTorch, eager in the micro-batches of ours and compiled with whole batches, differ in rounding alone. Ours
    is as near to one of them as they are to each other, and as near to fp32 as the farther one."""
    monkeypatch.setenv("CROPE_FUSED", fused)
    start = GOLDENS / variant
    tokens, ours = train_losses(start, tmp_path, precision="bf16")
    exact = pytorch_losses(start, tokens)
    eager = bf16_losses(start, tokens, [(0, 1, 2, 3), (4, 5)])
    compiled = bf16_losses(start, tokens, [range(ROWS)], compiled=True)
    assert eager[-1] < eager[0] - 0.4, "nothing was learned: the comparison would be empty"
    assert ours != exact, "was it bf16 at all?"
    assert min(distance(ours, eager), distance(ours, compiled)) <= distance(eager, compiled)
    assert distance(ours, exact) <= max(distance(eager, exact), distance(compiled, exact))
