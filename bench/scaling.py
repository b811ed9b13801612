#!/usr/bin/env python3
"""Step time by number of ranks: a model of it, and what runs on this machine show beside it (docs/distributed.md).

    bench/scaling.py measure --data DIR [--program build/release/crope] [--namespaces 1000,100]
    bench/scaling.py predict --compute S --optimizer S --parameters N --matrices N --gbits X

`measure` times one rank by a dry run with one thread, the network by an all-reduce, and then trains with 1, 2 and 4 ranks, one
thread and the same rows each. With --namespaces also two ranks in network namespaces, joined by a cable of so many Mbit/s (needs
root and iproute2).

The model: a rank computes gradients (c seconds), then updates its matrices (its share of o seconds).
  sum of the gradients     2 (W - 1)/W * 4P / bandwidth + 2 (W - 1) * latency a bucket; hidden behind the last piece's backward pass,
                           two thirds of that piece's time
  sending the parameters   ceil(log2 W) * 4P / bandwidth, a tree for each; hidden behind the matrices still to be updated
  step = c + max(0, sum - hidden) + max(o * share, sending)
Ranks beyond the processors of a machine take turns: c and o grow by ranks/processors.
"""
import argparse, json, math, os, shlex, statistics, subprocess, sys, tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(os.environ.get("CROPE_DEPS", ROOT / ".deps")) / "venv/bin"
BUCKET = 25 << 20


def step_seconds(ranks, *, compute, optimizer, parameters, matrices, bandwidth, latency, pieces=1, crowding=1.0):
    """Seconds of a step with the same rows on every rank. bandwidth in bytes a second."""
    size = 4 * parameters
    compute, optimizer = compute * crowding, optimizer * crowding
    share = math.ceil(matrices / ranks) / matrices
    total = sending = 0.0
    if ranks > 1:
        buckets = max(1, math.ceil(size / BUCKET))
        total = 2 * (ranks - 1) / ranks * size / bandwidth + 2 * (ranks - 1) * latency * buckets
        sending = math.ceil(math.log2(ranks)) * (size / bandwidth + latency * matrices)
    hidden = compute / pieces * 2 / 3
    return compute + max(0.0, total - hidden) + max(optimizer * share, sending)


def run(command, **options):
    return subprocess.run(command, check=True, text=True, capture_output=True, **options).stdout


ALL_REDUCE = """
import sys, time, torch, torch.distributed as d
torch.set_num_threads(1); d.init_process_group("gloo")
def seconds(x, n):
    best = 1e9
    for _ in range(n):
        d.barrier(); t = time.perf_counter(); d.all_reduce(x); best = min(best, time.perf_counter() - t)
    return best
large, small = torch.ones(25 << 18), torch.ones(1)
big, tiny = seconds(large, int(sys.argv[1])), seconds(small, 50)
if d.get_rank() == 0:
    print(f"{(25 << 20) / big} {tiny / 2}")
d.destroy_process_group()
"""


def network(folder, launch, repeats):
    """Bytes a second and seconds of latency between two ranks, by c10d's own all-reduce (2 (W-1)/W = 1)."""
    script = folder / "all_reduce.py"
    script.write_text(ALL_REDUCE)
    return tuple(map(float, launch([str(script), str(repeats)], python=True).split()))


def flags(args, rows, out, threads=1):
    return [args.program, "train", "--data", args.data, "--out", str(out), "--variant", args.variant, "--recipe", "small_cpu",
            "--batch-size", str(rows), "--micro-batch-size", str(args.rows), "--validate-every", "0", "--checkpoint-every", "0",
            "--precision", "fp32", "--threads", str(threads), "--sample-tokens", "0"]


def median_step(run_dir, tokens):
    rates = [json.loads(line)["tokens_per_second"] for line in open(run_dir / "metrics.jsonl")]
    return tokens / statistics.median(rates[2:])


class Namespaces:
    """Two namespaces and a cable of `mbits`."""

    def __init__(self, mbits):
        self.names = [f"crope{os.getpid()}{side}" for side in "ab"]
        a, b = self.names
        for name in self.names:
            run(["ip", "netns", "add", name])
        run(["ip", "link", "add", "va", "netns", a, "type", "veth", "peer", "name", "vb", "netns", b])
        for name, device, address in ((a, "va", "10.84.0.1/24"), (b, "vb", "10.84.0.2/24")):
            run(["ip", "-n", name, "addr", "add", address, "dev", device])
            run(["ip", "-n", name, "link", "set", device, "up"])
            run(["ip", "-n", name, "link", "set", "lo", "up"])
            run(["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{mbits}mbit", "burst", "256kb", "latency", "100ms"])

    def launch(self, command, python=False):
        """The first rank's standard output."""
        processes = []
        for number, name in enumerate(self.names):
            environment = dict(os.environ, GLOO_SOCKET_IFNAME=("va", "vb")[number])
            line = ["ip", "netns", "exec", name, str(BIN / "torchrun"), "--nnodes", "2", "--node-rank", str(number), "--nproc-per-node", "1",
                    "--master-addr", "10.84.0.1", "--master-port", "29511"] + ([] if python else ["--no-python"]) + command
            processes.append(subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        outs = [process.communicate()[0] for process in processes]
        if any(process.returncode for process in processes):
            sys.exit(f"failed: {shlex.join(command)}")
        return outs[0]

    def close(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name])


def local_launch(ranks):
    def launch(command, python=False):
        return run([str(BIN / "torchrun"), "--nproc-per-node", str(ranks)] + ([] if python else ["--no-python"]) + command)
    return launch


def measure(args):
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dry = json.loads(run(flags(args, args.rows, folder / "dry") + ["--dry-run", "--json"]))
        inputs = dict(compute=dry["seconds_per_step"] - dry["optimizer_seconds"], optimizer=dry["optimizer_seconds"],
                      parameters=dry["parameters"], matrices=args.matrices)
        print(f"one rank, one thread, {args.rows} rows: gradients {inputs['compute']:.3f} s, optimiser {inputs['optimizer']:.3f} s, {inputs['parameters']} parameters")

        def row(label, launch, ranks, net):
            out = folder / label.replace(" ", "_").replace("/", "_")
            launch(flags(args, args.rows * ranks, out) + ["--steps", str(args.steps)])
            measured = median_step(out, args.rows * ranks * 256)
            bandwidth, latency = net
            expected = step_seconds(ranks, bandwidth=bandwidth, latency=latency, crowding=max(1.0, ranks / cores), **inputs)
            print(f"{label:<28}{bandwidth * 8 / 1e9:>10.2f} Gbit/s{measured:>10.3f} s{expected:>10.3f} s{measured / expected:>8.2f}", flush=True)
            return measured

        print(f"{'ranks':<28}{'network':>17}{'measured':>12}{'model':>12}{'ratio':>8}")
        local = network(folder, local_launch(2), 8)
        alone = row("1", lambda command: run(command), 1, local)
        print(f"  two ranks take {row('2', local_launch(2), 2, local) / alone:.3f} of one rank's time")
        row("4 on two processors" if cores == 2 else "4", local_launch(4), 4, local)
        for mbits in filter(None, args.namespaces.split(",")):
            spaces = Namespaces(int(mbits))
            try:
                row(f"2 by a cable of {mbits} Mbit", spaces.launch, 2, network(folder, spaces.launch, 3))
            finally:
                spaces.close()


def predict(args):
    inputs = dict(compute=args.compute, optimizer=args.optimizer, parameters=args.parameters, matrices=args.matrices,
                  bandwidth=args.gbits * 1e9 / 8, latency=args.latency, pieces=args.pieces)
    alone = step_seconds(1, **inputs)
    print(f"{'ranks':>6}{'step':>12}{'speed-up':>12}{'efficiency':>12}")
    for ranks in [2**k for k in range(11)]:
        seconds = step_seconds(ranks, **inputs)
        print(f"{ranks:>6}{seconds:>10.3f} s{ranks * alone / seconds:>12.1f}{alone / seconds:>12.0%}")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
commands = parser.add_subparsers(required=True)
one = commands.add_parser("measure")
one.add_argument("--data", required=True)
one.add_argument("--program", default=str(ROOT / "build/release/crope"))
one.add_argument("--variant", default="crope_all")
one.add_argument("--rows", type=int, default=4, help="of one rank, 256 tokens each")
one.add_argument("--steps", type=int, default=10)
one.add_argument("--matrices", type=int, default=28)
one.add_argument("--namespaces", default="")
one.set_defaults(action=measure)
two = commands.add_parser("predict")
for name, kind in (("compute", float), ("optimizer", float), ("parameters", int), ("matrices", int), ("gbits", float)):
    two.add_argument(f"--{name}", type=kind, required=True)
two.add_argument("--latency", type=float, default=50e-6, help="seconds of one message")
two.add_argument("--pieces", type=int, default=1, help="micro-batches of a step on each rank")
two.set_defaults(action=predict)
arguments = parser.parse_args()
arguments.action(arguments)
