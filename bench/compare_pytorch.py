#!/usr/bin/env python3
"""A training step of ours beside PyTorch's, in one run: forward + backward, optimiser, whole step, memory.

    .deps/venv/bin/python bench/compare_pytorch.py                     paper size, 2 x 512 tokens: about 35 minutes
    .deps/venv/bin/python bench/compare_pytorch.py --size small        4 layers, 256 wide, 16 x 256 tokens
    .deps/venv/bin/python bench/compare_pytorch.py --parts eager,optimizer --keep figures.json

Every side is a process of its own that does one piece of work when it is asked to. Two sides take turns, piece by piece,
and medians are compared; never more than two are in memory, at paper size up to 5 GB each. PyTorch is measured eager and compiled, with torch.optim.Muon and with an fp32
Muon; its better one counts. Parts:

    tied       crope_all beside rope, both ours: forward + backward, and Muon + AdamW
    eager      forward + backward of ours beside PyTorch eager, for each variant
    compile    the same beside torch.compile, which takes a minute and more to compile
    optimizer  Muon + AdamW beside an fp32 Muon in PyTorch; the peak of memory over whole steps
    stock      the same beside torch.optim.Muon, for the first variant alone: bf16 products of one layer take minutes where
               there is no bf16 arithmetic, so one layer is measured, once, and counted as often as there are layers
    long       whole steps of ours on 4,096 tokens
    linear     block_linear beside a dense linear layer (ops_bench)
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Shape, rows of a batch, tokens of a row. The same as in bench/step_bench.cc.
SIZES = {
    "paper": ({"num_layers": 16, "num_heads": 8, "d_model": 1024, "d_ff": 1024, "vocab_size": 50304}, 2, 512),
    "small": ({"num_layers": 4, "num_heads": 4, "d_model": 256, "d_ff": 512, "vocab_size": 4096}, 16, 256),
}
FIXED = {"rope_theta": 5000.0, "norm_eps": 1e-6, "max_seq_len": 512}
PARTS = ["tied", "eager", "compile", "optimizer", "stock", "long", "linear"]
LONG_TOKENS = 4096


def status_bytes(field):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def pytorch_worker(mode, size, variant, threads):
    """One process of PyTorch: a command a line in, a line of JSON out."""
    import torch

    import pytorch_model

    torch.set_num_threads(threads)
    before = status_bytes("VmRSS:")
    shape, rows, T = SIZES[size]
    config = {**shape, **FIXED, "variant": variant}
    model = pytorch_model.random_decoder(config)
    tokens = torch.randint(config["vocab_size"], (rows, T + 1))
    forward = torch.compile(model) if mode == "compile" else model
    optimizers = {}

    def gradients():
        model.zero_grad(set_to_none=True)
        forward(tokens).backward()

    def update(name):
        if not optimizers:
            optimizers["adamw"] = pytorch_model.adamw(model)
            optimizers["fp32"] = pytorch_model.Fp32Muon(model)
        if name == "stock" and "stock" not in optimizers:
            layer = pytorch_model.hidden_matrices(model.blocks[0])
            optimizers["stock"] = torch.optim.Muon(layer, lr=2e-3, adjust_lr_fn="match_rms_adamw")
        start = time.perf_counter()
        optimizers[name].step()
        matrices = time.perf_counter() - start
        optimizers["adamw"].step()
        rest = time.perf_counter() - start - matrices
        return (len(model.blocks) if name == "stock" else 1) * matrices + rest

    def lasting():
        """Weights, gradients and the state of fp32 Muon and AdamW."""
        parameters = sum(p.nbytes for p in model.parameters())
        matrices = sum(p.nbytes for p in pytorch_model.hidden_matrices(model))
        return 2 * parameters + matrices + 2 * (parameters - matrices)

    for command in map(str.strip, sys.stdin):
        if command == "gradients":
            start = time.perf_counter()
            gradients()
            answer = {"seconds": time.perf_counter() - start}
        elif command == "update":
            answer = {"seconds": update("fp32")}
        elif command == "stock_update":
            answer = {"seconds": update("stock")}
        else:
            answer = {"peak": status_bytes("VmHWM:"), "before": before, "lasting": lasting()}
        print(json.dumps(answer), flush=True)


class Side:
    """A process that works when it is asked to."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args[0]} ended early, status {self.process.wait()}")
        time.sleep(0.25)  # threads that wait for more work by spinning give up by then
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def ours(args, variant, *flags):
    return Side([args.step_bench, args.size, variant, "--serve", "--threads", str(args.threads), *flags])


def pytorch(args, variant, mode):
    return Side([sys.executable, __file__, "--worker", mode, "--size", args.size, "--variants", variant, "--threads",
                 str(args.threads)])


def say(text):
    print(text, file=sys.stderr, flush=True)


def take_turns(sides, command, rounds):
    """The medians and all figures of each side, in turn."""
    seconds = {name: [] for name in sides}
    for number in range(1, rounds + 1):
        for name, side in sides.items():
            answer = side.ask(command)["seconds"]
            say(f"  {command}, round {number} of {rounds}: {name} {answer:.3f} s")
            seconds[name].append(answer)
    return {name: {"seconds": statistics.median(each), "all": each} for name, each in seconds.items()}


@contextlib.contextmanager
def both_sides(args, variant, mode):
    with ours(args, variant) as mine, pytorch(args, variant, mode) as theirs:
        yield {f"ours {variant}": mine, f"{mode} {variant}": theirs}


@contextlib.contextmanager
def our_variants(args, *flags):
    with contextlib.ExitStack() as stack:
        yield {variant: stack.enter_context(ours(args, variant, *flags)) for variant in ("rope", "crope_all")}


def measure_tied(args):
    with our_variants(args) as sides:
        for side in sides.values():
            side.ask("gradients")
        gradients = take_turns(sides, "gradients", args.rounds)
        for side in sides.values():
            side.ask("update")
        update = take_turns(sides, "update", args.rounds)
        return {"gradients": gradients, "update": update, **{name: side.ask("peak") for name, side in sides.items()}}


def measure_gradients(args, mode):
    times = {}
    for variant in args.variants:
        with both_sides(args, variant, mode) as sides:
            for side in sides.values():  # fetches memory from the system; compiles
                side.ask("gradients")
            times |= take_turns(sides, "gradients", args.rounds)
            times[f"ours {variant}"] |= sides[f"ours {variant}"].ask("peak")
    return times


def measure_optimizer(args):
    result = {"update": {}, "memory": {}}
    for variant in args.variants:
        with both_sides(args, variant, "eager") as sides:
            for name, side in sides.items():
                for command in ("gradients", "update", "gradients"):  # gradients with the optimiser's state in memory
                    side.ask(command)
                result["memory"][name] = side.ask("memory")
            result["update"] |= take_turns(sides, "update", args.rounds)
    return result


def measure_stock(args):
    with both_sides(args, args.variants[0], "eager") as sides:
        times = {name: [] for name in sides}
        for side in sides.values():
            side.ask("gradients")
        for number in range(args.stock_rounds):
            for name, side in sides.items():
                times[name].append(side.ask("update" if name.startswith("ours") else "stock_update")["seconds"])
                say(f"  update, round {number + 1} of {args.stock_rounds}: {name} {times[name][-1]:.3f} s")
    return {name: {"seconds": statistics.median(each), "all": each} for name, each in times.items()}


def measure_long(args):
    rows = LONG_TOKENS // SIZES[args.size][2]
    with our_variants(args, "--rows", str(rows)) as sides:
        times = {variant: [] for variant in sides}
        for number in range(args.rounds + 1):
            for variant, side in sides.items():
                step = side.ask("gradients")["seconds"]
                if number > 0:  # the first turn fetches memory from the system
                    step += side.ask("update")["seconds"]
                    times[variant].append(step)
                say(f"  {LONG_TOKENS} tokens, round {number} of {args.rounds}: {variant} {step:.3f} s")
    return {variant: {"seconds": statistics.median(each), "all": each} for variant, each in times.items()}


def measure_linear(args):
    command = [args.ops_bench, "--benchmark_filter=(block|dense)_linear", f"--benchmark_repetitions={max(7, args.rounds)}",
               "--benchmark_enable_random_interleaving=true", "--benchmark_format=json"]
    runs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["benchmarks"]
    medians = {run["name"].split("/")[0]: run["real_time"] / 1e3 for run in runs if run["run_type"] == "aggregate"
               and run["aggregate_name"] == "median"}
    return {name: {"seconds": seconds} for name, seconds in medians.items()}


def merged(old, new):
    """Figures of one variant join those of another that are there."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return {**old, **{key: merged(old.get(key), value) for key, value in new.items()}}


def activations(memory):
    """What a side holds above weights, gradients and optimiser state, and above its program and libraries."""
    return memory["peak"] - memory["before"] - memory["lasting"]


def lines_of(results, size):
    """The rows of the table: what was measured, the ratio (larger is better) and its target."""
    lines = []

    def line(what, value, target=None, form="{:.2f}x"):
        lines.append((what, form.format(value), "" if target is None else form.format(target)))

    goal = (lambda value: value) if size == "paper" else (lambda value: None)
    modes = [mode for mode in ("eager", "compile") if mode in results]
    for variant, times in (("rope", 1.3), ("crope_all", 1.5)):
        for mode in modes:
            if f"ours {variant}" in results[mode]:
                mine = results[mode][f"ours {variant}"]
                theirs = results[mode][f"{mode} {variant}"]["seconds"]
                line(f"forward + backward, {variant}: {mine['seconds']:.3f} s, PyTorch {mode} {theirs:.3f} s",
                     theirs / mine["seconds"], goal(times))
    if "tied" in results:
        for name, times in (("forward + backward", 1.06), ("Muon + AdamW", 1.35)):
            part = results["tied"]["gradients" if times == 1.06 else "update"]
            rope, tied = part["rope"]["seconds"], part["crope_all"]["seconds"]
            line(f"{name}: our crope_all {tied:.3f} s, our rope {rope:.3f} s", rope / tied, goal(times))
        for variant in ("rope", "crope_all"):
            mine, peak = results["tied"]["gradients"][variant]["seconds"], results["tied"][variant]
            line(f"share of the GEMM peak, {variant}: {peak['gemm_peak'] / 1e9:.0f} GF/s at best",
                 peak["flops"] / mine / peak["gemm_peak"], goal(0.8) if variant == "rope" else None, "{:.0%}")
    if "optimizer" in results:
        update, memory = (results["optimizer"][key] for key in ("update", "memory"))
        for variant in ("rope", "crope_all"):
            if f"ours {variant}" not in update:
                continue
            mine, theirs = update[f"ours {variant}"]["seconds"], update[f"eager {variant}"]["seconds"]
            line(f"Muon + AdamW, {variant}: {mine:.3f} s, fp32 Muon in PyTorch {theirs:.3f} s", theirs / mine,
                 goal(1.15) if variant == "rope" else None)
        for variant in ("rope", "crope_all"):
            for mode in modes:
                if f"ours {variant}" in update and f"ours {variant}" in results[mode]:
                    theirs = results[mode][f"{mode} {variant}"]["seconds"] + update[f"eager {variant}"]["seconds"]
                    mine = results[mode][f"ours {variant}"]["seconds"] + update[f"ours {variant}"]["seconds"]
                    line(f"whole step, {variant}: {mine:.3f} s, PyTorch {mode} {theirs:.3f} s", theirs / mine,
                         2.0 if size == "small" else None)
            if f"ours {variant}" in memory:
                mine, theirs = memory[f"ours {variant}"], memory[f"eager {variant}"]
                line(f"peak of memory, {variant}: {mine['peak'] / 1e6:.0f} MB, PyTorch eager {theirs['peak'] / 1e6:.0f} MB",
                     theirs["peak"] / mine["peak"])
                line(f"  above weights, gradients, state: {activations(mine) / 1e6:.0f} and {activations(theirs) / 1e6:.0f} MB",
                     activations(theirs) / activations(mine), goal(2.0))
    for variant in ("rope", "crope_all"):
        if f"ours {variant}" in results.get("stock", {}):
            mine, theirs = (results["stock"][f"{side} {variant}"] for side in ("ours", "eager"))
            line(f"Muon + AdamW, {variant}: {mine['seconds']:.3f} s, torch.optim.Muon {theirs['seconds']:.0f} s by one layer",
                 theirs["seconds"] / mine["seconds"], goal(5) if variant == "rope" else None)
    if {"rope", "crope_all"} <= results.get("long", {}).keys():
        rope, tied = (results["long"][variant]["seconds"] for variant in ("rope", "crope_all"))
        line(f"whole step, {LONG_TOKENS:,} tokens: our crope_all {tied:.2f} s, our rope {rope:.2f} s", rope / tied, goal(1.12))
    if "linear" in results:
        tied, dense = (results["linear"][name]["seconds"] for name in ("block_linear", "dense_linear"))
        line(f"block_linear, 2,048 x 1,024 x 1,024: {1e3 * tied:.1f} ms, dense {1e3 * dense:.1f} ms", dense / tied, 1.2)
    return lines


def print_table(results, size):
    lines = lines_of(results, size)
    width = max(len(what) for what, _, _ in lines)
    print(f"{'':<{width}}  {'measured':>9}{'target':>10}")
    for what, value, target in lines:
        print(f"{what:<{width}}  {value:>9}{target:>10}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="paper")
    parser.add_argument("--variants", default="rope,crope_all", help="comma-separated")
    parser.add_argument("--parts", default=",".join(PARTS), help="parts to run, comma-separated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--stock-rounds", type=int, default=1, help="rounds of torch.optim.Muon, which takes minutes at paper size")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--step-bench", default=str(ROOT / "build" / "release" / "bench" / "step_bench"))
    parser.add_argument("--ops-bench", default=str(ROOT / "build" / "release" / "bench" / "ops_bench"))
    parser.add_argument("--keep", metavar="FILE", help="store each part's figures in FILE; a later call skips the parts it holds")
    parser.add_argument("--json", action="store_true", help="all figures instead of the table")
    parser.add_argument("--worker", choices=["eager", "compile"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        pytorch_worker(args.worker, args.size, args.variants, args.threads)
        return
    args.variants = args.variants.split(",")
    kept = pathlib.Path(args.keep) if args.keep else None
    results = json.loads(kept.read_text()) if kept and kept.exists() else {}
    measures = {"tied": measure_tied, "optimizer": measure_optimizer, "stock": measure_stock, "long": measure_long, "linear": measure_linear}
    for part in filter(None, args.parts.split(",")):
        if part not in PARTS:
            parser.error(f"unknown part '{part}': expected some of {', '.join(PARTS)}")
        say(f"{part}, {args.size}")
        measured = measures[part](args) if part in measures else measure_gradients(args, part)
        results[part] = merged(results.get(part, {}), measured)
        if kept:
            kept.write_text(json.dumps(results, indent=1))
    if not results:
        parser.error("nothing to show")
    print(json.dumps(results, indent=2)) if args.json else print_table(results, args.size)


if __name__ == "__main__":
    main()
