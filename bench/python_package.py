"""Times of the Python package, each beside its dense peer in one process: BlockLinear, Muon, loading.

bench/python_package.py [--rounds N] [--threads N] [--json]

Needs torch and python/ (PYTHONPATH=python, or pip install ./python). Peers take turns, and the median of their ratios is
reported, so that a busy machine slows both.
"""

import argparse
import json
import resource
import statistics
import tempfile
import time

import torch
from torch import nn

import crope


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(ours, peer, rounds):
    """Medians of both and the median of peer/ours over interleaved rounds, after two to warm up."""
    times = [(seconds(ours), seconds(peer)) for _ in range(rounds + 2)][2:]
    ratios = sorted(peer_time / our_time for our_time, peer_time in times)
    return {
        "ours_ms": 1e3 * statistics.median(time for time, _ in times),
        "peer_ms": 1e3 * statistics.median(time for _, time in times),
        "times_faster": statistics.median(ratios),
        "range": [ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]],
    }


def block_linear(rounds, width=1024, rows=2048):
    results = {}
    x = torch.randn(rows, width, requires_grad=True)
    gradient = torch.randn(rows, width)
    dense = torch.compile(nn.Linear(width, width, bias=False))
    for layout in ("pairs", "halves"):
        layer = torch.compile(crope.BlockLinear(width, width, layout=layout), fullgraph=True)

        def train(module):
            module.zero_grad()
            module(x).backward(gradient)

        def infer(module):
            with torch.no_grad():
                module(x)

        for name, use in (("forward + backward", train), ("forward", infer)):
            results[f"BlockLinear {layout}, {name}"] = compare(lambda: use(layer), lambda: use(dense), rounds)
    return results


def muon(rounds, layers=2):
    """A step of models of the paper's width: complex pairs, and the dense model."""
    optimizers = {}
    for variant in ("crope_all", "rope"):
        model = crope.Transformer(crope.ModelConfig(vocab_size=1024, num_layers=layers, variant=variant))
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizers[variant] = crope.Muon(crope.param_groups(model))
    return {f"Muon, {layers} layers of the paper's width": compare(optimizers["crope_all"].step, optimizers["rope"].step, rounds)}


def loading():
    """A paper-size model of random weights: time to load, and memory of the process that only loading takes."""
    with tempfile.TemporaryDirectory() as folder:
        model = crope.Transformer(crope.ModelConfig(variant="crope_all"))
        size = sum(4 * parameter.numel() for parameter in model.parameters())
        model.save(folder)
        del model
        before = resident()
        loaded = []
        times = [seconds(lambda: loaded.append(crope.load(folder))) for _ in range(3)]
        grown = resident() - before
        first = seconds(lambda: loaded[-1](torch.tensor([[1, 2, 3]])))
        return {"load a paper-size model": {"seconds": min(times), "file_mb": size / 1e6, "memory_mb": grown / 1e6, "first_logits_s": first}}


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each comparison")
    parser.add_argument("--threads", type=int, default=2, help="threads")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch._dynamo.config.recompile_limit = 64
    torch.manual_seed(0)
    results = {**loading(), **block_linear(arguments.rounds), **muon(max(3, arguments.rounds // 3))}
    if arguments.json:
        print(json.dumps(results))
        return
    for name, values in results.items():
        print(name + ": " + ", ".join(f"{key} {value:.3g}" if isinstance(value, float) else
                                      f"{key} " + "-".join(f"{each:.2f}" for each in value) for key, value in values.items()))  # fmt: skip


if __name__ == "__main__":
    main()
