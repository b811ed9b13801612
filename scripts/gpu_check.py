#!/usr/bin/env python3
"""What this GPU makes of crope: speed beside PyTorch, memory, and losses beside the CPU, as a block to paste into a report.

    make gpu-check                                    the paper's rope and crope_all: about ten minutes
    .deps/venv/bin/python scripts/gpu_check.py --device cpu --size tiny       tries this script itself, without a GPU

Speed is that of the paper's model in bf16 with Muon in bf16: tokens/s of whole steps, the median of all but the first
ones, and its share of the product of two large bf16 matrices on the same device (MFU). PyTorch is the decoder of
bench/pytorch_model.py with torch.compile, bf16 autocast, torch.optim.Muon and fused AdamW. The losses of twenty steps of
a small model are compared with those of the CPU, in fp32 and in bf16.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
VARIANTS = ["rope", "crope_all"]
# Shape, rows of a batch, tokens of a row, rows of PyTorch's micro-batch, steps.
SIZES = {
    "paper": ({"num_layers": 16, "num_heads": 8, "d_model": 1024, "d_ff": 1024, "vocab_size": 50304}, 64, 512, 16, 30),
    "tiny": ({"num_layers": 2, "num_heads": 2, "d_model": 64, "d_ff": 64, "vocab_size": 512}, 4, 32, 2, 8),
}
SMALL = {"num_layers": 4, "num_heads": 4, "d_model": 128, "d_ff": 256, "vocab_size": 512}
SKIPPED = 5  # steps that fetch memory and choose kernels
PARITY_STEPS, PARITY_ROWS, PARITY_TOKENS = 20, 8, 64
FP32_LIMIT, BF16_LIMIT = 1e-3, 3e-2  # of a loss of about 6, after twenty steps


def fail(message, hint):
    print(f"gpu-check: {message}\nhint: {hint}", file=sys.stderr)
    sys.exit(1)


def import_torch(device):
    try:
        import torch
    except ImportError:
        fail("this Python has no torch", "run it as make gpu-check, which uses the environment of make setup")
    if device == "cuda" and not torch.cuda.is_available():
        built = "is built for CPUs alone" if torch.version.cuda is None else "is built with CUDA, but finds no GPU"
        fail(f"no GPU: torch {torch.__version__} {built}",
             "needs an NVIDIA GPU and driver, and a CUDA build of torch in .deps/venv (docs/gpu.md)")
    return torch


def write_shard(path, tokens):
    header = [20240520, 1, len(tokens)] + [0] * 253
    path.write_bytes(struct.pack("<256i", *header) + struct.pack(f"<{len(tokens)}H", *tokens))


def make_data(folder, vocab_size, count):
    """A walk with a pattern, so that there is something to learn."""
    folder.mkdir(parents=True)
    draw, tokens, at = random.Random(5), [], 0
    for _ in range(count):
        at = (at + draw.randint(1, 3)) % vocab_size
        tokens.append(at)
    write_shard(folder / "train_000000.bin", tokens)
    return folder


class MemoryWatch:
    """The most memory that nvidia-smi sees a process take; 0 where it sees none."""

    def __init__(self, pid):
        self.pid, self.peak, self.done = str(pid), 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while shutil.which("nvidia-smi") and not self.done.wait(0.2):
            rows = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"],
                                  capture_output=True, text=True).stdout
            for row in rows.splitlines():
                pid, _, used = row.partition(",")
                if pid.strip() == self.pid and used.strip().isdigit():
                    self.peak = max(self.peak, int(used) << 20)

    def finish(self):
        self.done.set()
        self.thread.join()
        return self.peak


def crope_run(out, data, shape, device, precision, variant, steps, rows, tokens, *flags):
    """The metrics of a run, and the peak of its memory on the device."""
    program = os.environ.get("CROPE_BINARY", str(ROOT / "build" / "release" / "crope"))
    sizes = [text for name, value in shape.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    command = [program, "train", "--data", data, "--out", out, "--variant", variant, *sizes, "--max-seq-len", tokens,
               "--seq-len", tokens, "--batch-size", rows, "--steps", steps, "--warmup-steps", 5, "--checkpoint-every", 0,
               "--validate-every", 0, "--device", device, "--precision", precision, *flags]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    watch = MemoryWatch(process.pid)
    _, errors = process.communicate()
    peak = watch.finish()
    if process.returncode != 0:
        fail(f"{' '.join(map(str, command[:2]))} with {variant} failed:\n{errors.strip()}",
             "report it with the message above")
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()], peak


def pytorch_speed(torch, device, size, variant):
    """Tokens/s and peak memory of PyTorch's steps."""
    sys.path.insert(0, str(ROOT / "bench"))
    import pytorch_model

    shape, rows, T, micro, steps = SIZES[size]
    config = {**shape, "rope_theta": 5000.0, "norm_eps": 1e-6, "max_seq_len": T, "variant": variant}
    model = pytorch_model.random_decoder(config).to(device)
    forward = torch.compile(model)
    muon = torch.optim.Muon(pytorch_model.hidden_matrices(model), lr=2e-3, adjust_lr_fn="match_rms_adamw")
    adamw = pytorch_model.adamw(model)
    for group in adamw.param_groups:
        group["fused"] = True
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    seconds = []
    for _ in range(steps):
        batch = torch.randint(shape["vocab_size"], (rows, T + 1), device=device)
        start = time.perf_counter()
        model.zero_grad(set_to_none=True)
        for first in range(0, rows, micro):
            with torch.autocast(device, torch.bfloat16):
                loss = forward(batch[first:first + micro]) * micro / rows
            loss.backward()
        muon.step()
        adamw.step()
        loss.item()
        seconds.append(time.perf_counter() - start)
    peak = torch.cuda.max_memory_reserved() if device == "cuda" else 0
    return rows * T / statistics.median(seconds[SKIPPED:]), peak


def bf16_peak(torch, device, size):
    """Operations a second of a large product."""
    N = 8192 if size == "paper" else 256
    a, b = (torch.randn(N, N, device=device, dtype=torch.bfloat16) for _ in range(2))
    best = 0.0
    for _ in range(20):
        start = time.perf_counter()
        (a @ b)[0, 0].item()
        best = max(best, 2 * N**3 / (time.perf_counter() - start))
    return best


def training_flops(shape, T):
    """Operations of products for each token, forward and backward, of the model with dense projections."""
    D, F, V, layers = shape["d_model"], shape["d_ff"], shape["vocab_size"], shape["num_layers"]
    return 3 * (layers * (2 * (4 * D * D + 3 * D * F) + 2 * D * (T + 1)) + 2 * D * V)


def gigabytes(count):
    return f"{count / 1e9:.1f} GB" if count else "not known"


def speed_rows(torch, device, size, folder):
    shape, rows, T, _, steps = SIZES[size]
    peak, flops = bf16_peak(torch, device, size), training_flops(shape, T)
    data = make_data(folder / "data", shape["vocab_size"], steps * rows * T + 1)
    lines = [f"| bf16 product | {peak / 1e12:.1f} TFLOP/s | | |"]
    for variant in VARIANTS:
        metrics, memory = crope_run(folder / variant, data, shape, device, "bf16", variant, steps, rows, T,
                                    "--muon-precision", "bf16")
        speed = statistics.median(line["tokens_per_second"] for line in metrics[SKIPPED:])
        lines.append(f"| crope {variant} | {speed:,.0f} tokens/s | {100 * speed * flops / peak:.0f}% | {gigabytes(memory)} |")
        speed, memory = pytorch_speed(torch, device, size, variant)
        lines.append(f"| PyTorch compile {variant} | {speed:,.0f} tokens/s | {100 * speed * flops / peak:.0f}% | "
                     f"{gigabytes(memory)} |")
    return lines


def parity_rows(device, folder):
    """The largest difference of a loss to the CPU's in fp32, and whether all are small."""
    data = make_data(folder / "parity", SMALL["vocab_size"], PARITY_STEPS * PARITY_ROWS * PARITY_TOKENS + 1)
    lines, good = [], True
    for variant in VARIANTS:
        def losses(where, precision):
            out = folder / f"parity_{variant}_{where}_{precision}"
            metrics, _ = crope_run(out, data, SMALL, where, precision, variant, PARITY_STEPS, PARITY_ROWS, PARITY_TOKENS)
            return [line["loss"] for line in metrics]
        expected = losses("cpu", "fp32")
        for precision, limit in (("fp32", FP32_LIMIT), ("bf16", BF16_LIMIT)):
            if (device, precision) == ("cpu", "fp32"):
                continue
            difference = max(abs(x - y) for x, y in zip(losses(device, precision), expected))
            good = good and difference <= limit
            lines.append(f"| {variant} in {precision} | {difference:.1e} | {limit:.0e} | "
                         f"{'ok' if difference <= limit else 'TOO FAR'} |")
    return lines, good


def machine(torch, device):
    version = subprocess.run([os.environ.get("CROPE_BINARY", str(ROOT / "build" / "release" / "crope")), "--version"],
                             capture_output=True, text=True).stdout.strip().replace("\n", ", ")
    if device == "cpu":
        return f"{version}; PyTorch {torch.__version__}; the CPU"
    name = torch.cuda.get_device_name()
    return f"{version}; PyTorch {torch.__version__}, CUDA {torch.version.cuda}; {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--size", choices=sorted(SIZES), default="paper")
    arguments = parser.parse_args()
    torch = import_torch(arguments.device)
    with tempfile.TemporaryDirectory(prefix="crope_gpu_check_") as folder:
        folder = pathlib.Path(folder)
        parity, good = parity_rows(arguments.device, folder)
        speed = speed_rows(torch, arguments.device, arguments.size, folder)
    print("\n".join(["### gpu-check", "", machine(torch, arguments.device), "",
                     f"Size {arguments.size}, whole steps:", "", "| | speed | MFU | memory |", "|---|---:|---:|---:|", *speed, "",
                     f"Losses of {PARITY_STEPS} steps of a small model, largest difference to the CPU in fp32:", "",
                     "| | difference | limit | |", "|---|---:|---:|---|", *parity]))
    if not good:
        fail("losses differ from the CPU's by more than rounding", "report the block above")


if __name__ == "__main__":
    main()
