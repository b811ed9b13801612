#!/usr/bin/env python3
"""Lets every system call of a kind fail in turn, or kills the program there, and looks at what is left.

    faults.py PROGRAM LIBRARY [--commands train,...] [--operations rename,...] [--kinds once,on,kill] [--most N] [--stride N]

A command (prepare, train, eval, export, quantize) runs on a fresh copy of its input with the first call failing, then the second,
and so on until a run meets no failure. After each run
  - the program has ended by itself, with status 0 or 1 and a message (unless it was killed),
  - whatever has a final name is whole: the bytes of an undisturbed run,
  - the same command without failures gives the bytes of an undisturbed run, and leaves no temporary folders.
"""
import argparse
import filecmp
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

OPERATIONS = ["open", "write", "fsync", "rename", "lock", "unlink", "mmap", "malloc"]
KINDS = ["once", "on", "kill"]
FLAGS = ("--num-layers 1 --num-heads 2 --d-model 32 --d-ff 32 --batch-size 2 --seq-len 16 --warmup-steps 1 --lr 1e-3 "
         "--min-lr 1e-4 --threads 1 --precision fp32 --steps 4 --checkpoint-every 2 --validate-every 2 "
         "--keep-checkpoints 1").split()
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"}


class Failed(Exception):
    pass


def same_bytes(mine, reference):
    if not mine.is_file() or not filecmp.cmp(mine, reference, shallow=False):
        raise Failed(f"{mine} is not what an undisturbed run writes")


def same_tree(mine, reference):
    names = sorted(p.relative_to(reference) for p in reference.rglob("*"))
    found = sorted(p.relative_to(mine) for p in mine.rglob("*"))
    if names != found:
        raise Failed(f"{mine} has {found}, expected {names}")
    for name in names:
        if (reference / name).is_file():
            same_bytes(mine / name, reference / name)


def without_clock(text):
    """Lines of metrics without what differs from run to run; a line that a failure cut off at the end is not one."""
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [{k: v for k, v in line.items() if k not in ("tokens_per_second", "elapsed_s")} for line in lines]


class Prepare:
    def arguments(self, world, folder):
        return ["data", "prepare", world / "corpus/train.jsonl", "--tokenizer", world / "tokenizer", "--out", folder / "out"]

    def check(self, folder, reference, whole):
        if whole or (folder / "out").exists():
            same_tree(folder / "out", reference / "out")


class Export(Prepare):
    def __init__(self, kind):
        self.kind = kind

    def arguments(self, world, folder):
        return ["export", world / "run", folder / "out", "--format", self.kind]

    def check(self, folder, reference, whole):
        if (reference / "out").is_dir():
            return super().check(folder, reference, whole)
        if whole or (folder / "out").exists():
            same_bytes(folder / "out", reference / "out")


class Quantize(Prepare):
    def arguments(self, world, folder):
        return ["quantize", world / "run", folder / "out", "--weights", "int4"]


class Train:
    def arguments(self, world, folder):
        return ["train", "--data", world / "data", "--out", folder / "out", "--variant", "crope_all", *FLAGS]

    def check(self, folder, reference, whole):
        run, expected = folder / "out", reference / "out"
        for name in ("run.json", "latest", "best"):
            if (run / name).is_symlink():
                if not (run / name / "train_state.json").exists():
                    raise Failed(f"{name} points to {os.readlink(run / name)}, which is not whole")
            elif (run / name).exists():
                json.loads((run / name).read_text())
        for checkpoint in sorted(run.glob("checkpoints/step_*")):
            for name in ("config.json", "model.safetensors", "train_state.safetensors", "tokenizer.json"):
                # The reference keeps all its checkpoints.
                same_bytes(checkpoint / name, reference / "all" / "checkpoints" / checkpoint.name / name)
            json.loads((checkpoint / "train_state.json").read_text())
        metrics = run / "metrics.jsonl"
        lines = without_clock(metrics.read_text()) if metrics.exists() else []
        if lines != without_clock((expected / "metrics.jsonl").read_text())[: len(lines)]:
            raise Failed("metrics.jsonl differs")
        if not whole:
            return
        if len(lines) != len(without_clock((expected / "metrics.jsonl").read_text())):
            raise Failed("metrics.jsonl has a gap")
        for link in ("latest", "best"):
            if os.readlink(run / link) != os.readlink(expected / link):
                raise Failed(f"{link} points to {os.readlink(run / link)}")


class Eval:
    def arguments(self, world, folder):
        return ["eval", world / "run", "--tasks", "hellaswag", "--data", world / "corpus/eval", "--limit", "3", "--threads", "1", "--out", folder / "out"]

    def check(self, folder, reference, whole):
        results, items = folder / "out/results.json", folder / "out/items.jsonl"
        if whole or results.exists():
            mine, theirs = json.loads(results.read_text()), json.loads((reference / "out/results.json").read_text())
            for key in ("results", "n-samples"):
                if mine[key] != theirs[key]:
                    raise Failed(f"results.json: {key} differs")
        if whole or items.exists():
            same_bytes(items, reference / "out/items.jsonl")


COMMANDS = {"prepare": Prepare(), "train": Train(), "eval": Eval(), "export_hf": Export("hf"), "export_gguf": Export("gguf"),
            "export_native": Export("hf-native"), "quantize": Quantize()}


class Harness:
    def __init__(self, program, library, root):
        self.program, self.library, self.root = program, library, root
        self.world = root / "world"
        self.world.mkdir()

    def run(self, arguments, fault=None):
        environment = dict(ENVIRONMENT)
        if fault:
            environment.update(fault, LD_PRELOAD=str(self.library))
        return subprocess.run([self.program, *map(str, arguments)], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def must(self, arguments):
        result = self.run(arguments)
        if result.returncode != 0:
            raise Failed(f"{' '.join(map(str, arguments))}: status {result.returncode}\n{result.stderr}")

    def make_world(self):
        world = self.world
        self.must(["data", "synth", "--documents", 60, "--seed", 3, "--hellaswag-items", 4, "--mmlu-items", 8, "--gsm8k-items", 4, "--out", world / "corpus"])
        self.must(["tokenizer", "train", world / "corpus/train.jsonl", "--vocab-size", 300, "--out", world / "tokenizer"])
        self.must(["data", "prepare", world / "corpus/train.jsonl", "--tokenizer", world / "tokenizer", "--out", world / "data"])
        self.must(["train", "--data", world / "data", "--out", world / "run", "--variant", "rope", *FLAGS])

    def one(self, name, operation, kind, at, reference):
        """Whether a call was disturbed."""
        command, folder = COMMANDS[name], self.root / "try"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        count = self.root / "count"
        count.unlink(missing_ok=True)
        fault = {"CROPE_FAULT": operation, "CROPE_FAULT_AT": str(at), "CROPE_FAULT_KIND": kind, "CROPE_FAULT_UNDER": str(folder),
                 "CROPE_FAULT_COUNT": str(count)}
        if operation in ("mmap", "malloc") or name == "eval":
            fault["CROPE_FAULT_UNDER"] = str(self.root)  # inputs as well
        result = self.run(command.arguments(self.world, folder), fault)
        calls = int(count.read_text()) if count.exists() else 0
        reached = at > 0 and calls >= at
        if not reached and result.returncode != 0:
            raise Failed(f"status {result.returncode} without a failure\n{result.stderr}")
        if kind == "kill" and reached:
            if result.returncode != -9:
                raise Failed(f"status {result.returncode} of a killed program")
        elif result.returncode not in (0, 1):
            raise Failed(f"status {result.returncode}\n{result.stderr}")
        elif result.returncode == 1 and "error:" not in result.stderr:
            raise Failed(f"no message\n{result.stderr}")
        command.check(folder, reference, whole=result.returncode == 0)
        if result.returncode != 0:
            if name not in ("train", "eval") and (folder / "out").exists():
                return reached  # whole; the command would refuse to replace it
            self.must(command.arguments(self.world, folder))
            command.check(folder, reference, whole=True)
        left = [p for p in folder.rglob(".*.??????") if p.is_dir()]
        # Where the removal itself fails, or the lock that tells a leftover from work in progress, a later run removes it.
        if left and operation not in ("unlink", "lock") and kind != "kill":
            raise Failed(f"left {left}")
        return reached

    def all(self, name, operations, kinds, most, stride):
        command, reference = COMMANDS[name], self.root / f"reference_{name}"
        reference.mkdir()
        self.must(command.arguments(self.world, reference))
        if name == "train":
            arguments = command.arguments(self.world, reference)
            arguments[arguments.index("--out") + 1] = reference / "all"
            arguments[arguments.index("--keep-checkpoints") + 1] = "0"
            self.must(arguments)
        failures, points = 0, 0
        for operation in operations:
            for kind in kinds:
                at = 1
                while at <= most:
                    try:
                        if not self.one(name, operation, kind, at, reference):
                            break
                        points += 1
                    except Failed as failed:
                        failures += 1
                        points += 1
                        print(f"FAILED {name}: {operation} {at}, {kind}: {failed}", flush=True)
                    at += stride
                print(f"{name}: {operation}, {kind}: {(at - 1) // stride} points", flush=True)
        return failures, points


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--most", type=int, default=1 << 30, help="points of each kind at most")
    parser.add_argument("--stride", type=int, default=1, help="every how manieth call fails")
    options = parser.parse_args()
    failures = points = 0
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(options.program.resolve(), options.library.resolve(), pathlib.Path(folder).resolve())
        harness.make_world()
        for name in options.commands.split(","):
            more = harness.all(name, options.operations.split(","), options.kinds.split(","), options.most * options.stride, options.stride)
            failures, points = failures + more[0], points + more[1]
    print(f"{points} points, {failures} failures")
    sys.exit(1 if failures or points == 0 else 0)


if __name__ == "__main__":
    main()
