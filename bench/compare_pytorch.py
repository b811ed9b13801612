#!/usr/bin/env python3
"""One training step of ours beside PyTorch's, in one run: forward + backward, optimiser, whole step, peak memory.

    .deps/venv/bin/python bench/compare_pytorch.py                     paper size, 2 x 512 tokens
    .deps/venv/bin/python bench/compare_pytorch.py --size small        4 layers, 256 wide, 16 x 256 tokens
    .deps/venv/bin/python bench/compare_pytorch.py --json

Every measurement is a process of its own, so that each has its own peak of memory; the sides take turns, round by
round, and medians are compared. PyTorch is measured eager and compiled, with torch.optim.Muon and with an fp32 Muon;
the better of each pair is what counts.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = {
    "paper": ({"num_layers": 16, "num_heads": 8, "d_model": 1024, "d_ff": 1024, "vocab_size": 50304}, 2, 512),
    "small": ({"num_layers": 4, "num_heads": 4, "d_model": 256, "d_ff": 512, "vocab_size": 4096}, 16, 256),
}
FIXED = {"rope_theta": 5000.0, "norm_eps": 1e-6, "max_seq_len": 512}


def peak_memory():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def median_seconds(work, repetitions, limit=20.0):
    times = []
    while len(times) < repetitions and (not times or sum(times) < limit):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def pytorch_worker(mode, size, variant, threads, repetitions):
    """One process of PyTorch: prints its figures as JSON."""
    import torch

    import pytorch_model

    torch.set_num_threads(threads)
    shape, rows, T = SIZES[size]
    config = {**shape, **FIXED, "variant": variant}
    model = pytorch_model.random_decoder(config)
    tokens = torch.randint(config["vocab_size"], (rows, T + 1))
    forward = torch.compile(model) if mode == "compile" else model

    def gradients():
        model.zero_grad(set_to_none=True)
        forward(tokens).backward()

    start = time.perf_counter()
    gradients()
    result = {"first_s": time.perf_counter() - start}
    gradients()
    result["forward_backward_s"] = median_seconds(gradients, repetitions)
    adamw = pytorch_model.adamw(model)
    muon = pytorch_model.Fp32Muon(model)

    def update():
        muon.step()
        adamw.step()

    update()
    result["fp32_muon_s"] = median_seconds(update, repetitions)
    result["peak_memory"] = peak_memory()
    if mode == "eager":  # the optimiser does not depend on how the model is run
        stock = torch.optim.Muon(pytorch_model.hidden_matrices(model), lr=2e-3, adjust_lr_fn="match_rms_adamw")

        def stock_update():
            stock.step()
            adamw.step()

        result["torch_muon_s"] = median_seconds(stock_update, repetitions)
    print(json.dumps(result))


def run_pytorch(mode, args, variant):
    command = [sys.executable, __file__, "--worker", mode, "--size", args.size, "--variants", variant,
               "--threads", str(args.threads), "--repetitions", str(args.repetitions)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def run_ours(args, variant, data):
    shape, rows, T = SIZES[args.size]
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in shape.items()]
    with tempfile.TemporaryDirectory() as out:
        command = [args.program, "train", "--dry-run", "--json", "--data", data, "--out", f"{out}/run", "--variant", variant,
                   f"--seq-len={T}", f"--batch-size={rows}", f"--micro-batch-size={rows}", f"--threads={args.threads}",
                   "--precision=fp32", *flags]
        text = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ}).stdout
    run = json.loads(text)
    return {"forward_backward_s": run["seconds_per_step"] - run["optimizer_seconds"], "optimizer_s": run["optimizer_seconds"],
            "peak_memory": run["memory"], "gemm_share": run["gemm_share"]}


def write_random_shard(path, vocab_size, count):
    chooser = random.Random(1)
    header = struct.pack("<256i", 20240520, 1, count, *[0] * 253)
    path.write_bytes(header + struct.pack(f"<{count}H", *(chooser.randrange(vocab_size) for _ in range(count))))


def median_of(rounds):
    return {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}


def compare(args, variant, data):
    rounds = {"ours": [], "eager": [], "compile": []}
    for number in range(args.rounds):
        print(f"{variant}: round {number + 1} of {args.rounds}", file=sys.stderr, flush=True)
        rounds["ours"].append(run_ours(args, variant, data))
        rounds["eager"].append(run_pytorch("eager", args, variant))
        if not args.no_compile and number < max(1, args.rounds // 2):  # compiling takes minutes
            rounds["compile"].append(run_pytorch("compile", args, variant))
    ours, eager = median_of(rounds["ours"]), median_of(rounds["eager"])
    compiled = median_of(rounds["compile"]) if rounds["compile"] else None
    forward = min(x["forward_backward_s"] for x in (eager, compiled) if x)
    optimizer = min(eager["fp32_muon_s"], eager["torch_muon_s"])
    return {
        "variant": variant,
        "ours": ours,
        "pytorch_eager": eager,
        "pytorch_compile": compiled,
        "ratios": {
            "forward_backward": forward / ours["forward_backward_s"],
            "optimizer_against_torch_muon": eager["torch_muon_s"] / ours["optimizer_s"],
            "optimizer_against_fp32_muon": eager["fp32_muon_s"] / ours["optimizer_s"],
            "step": (forward + optimizer) / (ours["forward_backward_s"] + ours["optimizer_s"]),
            "peak_memory": eager["peak_memory"] / ours["peak_memory"],
        },
    }


def print_table(results):
    print(f"{'':<34}" + "".join(f"{result['variant']:>16}" for result in results))

    def row(name, value, form="{:.3f}"):
        cells = []
        for result in results:
            try:
                cells.append(form.format(value(result)))
            except TypeError:  # not measured
                cells.append("-")
        print(f"{name:<34}" + "".join(f"{cell:>16}" for cell in cells))

    row("ours: forward + backward, s", lambda r: r["ours"]["forward_backward_s"])
    row("PyTorch eager, s", lambda r: r["pytorch_eager"]["forward_backward_s"])
    row("PyTorch compiled, s", lambda r: r["pytorch_compile"]["forward_backward_s"])
    row("ours: Muon + AdamW, s", lambda r: r["ours"]["optimizer_s"])
    row("torch.optim.Muon + AdamW, s", lambda r: r["pytorch_eager"]["torch_muon_s"])
    row("fp32 Muon in PyTorch + AdamW, s", lambda r: r["pytorch_eager"]["fp32_muon_s"])
    row("ours: peak memory, MB", lambda r: r["ours"]["peak_memory"] / 1e6, "{:.0f}")
    row("PyTorch eager: peak memory, MB", lambda r: r["pytorch_eager"]["peak_memory"] / 1e6, "{:.0f}")
    row("ours: share of the GEMM peak", lambda r: r["ours"]["gemm_share"], "{:.0%}")
    print("ratios, PyTorch's better over ours:")
    for key in results[0]["ratios"]:
        row("  " + key.replace("_", " "), lambda r, key=key: r["ratios"][key], "{:.2f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="paper")
    parser.add_argument("--variants", default="rope,crope_all", help="comma-separated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=5, help="of each measurement within a process")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out: it takes minutes")
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "crope"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", choices=["eager", "compile"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        pytorch_worker(args.worker, args.size, args.variants, args.threads, args.repetitions)
        return
    shape, rows, T = SIZES[args.size]
    with tempfile.TemporaryDirectory() as data:
        write_random_shard(pathlib.Path(data) / "train_000000.bin", shape["vocab_size"], 4 * rows * T + 1)
        results = [compare(args, variant, data) for variant in args.variants.split(",")]
    print(json.dumps(results, indent=2)) if args.json else print_table(results)


if __name__ == "__main__":
    main()
