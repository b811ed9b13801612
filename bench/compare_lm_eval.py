#!/usr/bin/env python3
"""Evaluation speed beside lm_eval's hf model: the same weights, the same items, two threads, one run.

    scripts/setup.sh parity
    .deps/parity/bin/python bench/compare_lm_eval.py --data DIR --gpt2 DIR [--rows hellaswag,mmlu,gsm8k,decode] [--json]

--data is a folder with hellaswag/, mmlu/ and gsm8k/ as `crope eval` takes it; --gpt2 a folder with GPT-2's encoder.json
and vocab.bpe. The model has the paper's size and random weights; lm_eval sees its export.

Both sides are timed from the loaded model to the finished results, and take turns; figures are medians. lm_eval runs at
the batch size that is fastest for it on some of the items. Answers are compared: log-likelihoods within 2e-3, generated
texts letter by letter. The row decode is bench/decode_bench beside transformers' generate.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SELF = Path(__file__).resolve()
ROOT = SELF.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "parity"))

VOCAB_SIZE = 50304
PAPER_SHAPE = {"num_layers": 16, "num_heads": 8, "d_model": 1024, "d_ff": 1024}

# Task, items, shots, batch sizes of lm_eval to choose from and the items that they are tried on.
ROWS = {
    "hellaswag": {"task": "hellaswag", "items": 200, "shots": 0, "batches": [1, 4, 8, 16, 32], "trial_items": 25},
    "mmlu": {"task": "mmlu_world_religions", "items": 64, "shots": 5, "batches": [1, 4, 8, 16], "trial_items": 16},
    "gsm8k": {"task": "gsm8k", "items": 16, "shots": 0, "batches": [4, 8, 16], "trial_items": 16},
}
GOALS = {"hellaswag": 2.5, "mmlu": 4.0, "gsm8k": 2.0}
DECODE_GOALS = {
    "decode fp32, share of the memory's bandwidth": 0.85,
    "decode fp32, to transformers' generate": 1.5,
    "decode fp32, crope_all to rope": 1.2,
    "decode bf16 weights, to fp32": 1.7,
    "prefill 512, share of the peak of matrix products": 0.75,
}
DECODED_TOKENS = 24  # after a prompt of 64, as decode_bench has it


def run_crope(args, *arguments):
    command = [str(args.crope), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def write_items(source, data):
    """Of HellaSwag 200 items from the middle, where long contexts from WikiHow and short ones from ActivityNet meet."""
    for name in ("mmlu/mmlu_test.jsonl", "mmlu/mmlu_dev.jsonl", "gsm8k/test.jsonl", "gsm8k/train.jsonl"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_bytes((source / name).read_bytes())
    lines = (source / "hellaswag" / "hellaswag_val.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    middle = len(lines) // 2
    (data / "hellaswag").mkdir()
    (data / "hellaswag" / "hellaswag_val.jsonl").write_text(
        "".join(line + "\n" for line in lines[middle - 100 : middle + 100]), encoding="utf-8"
    )
    # lm_eval opens the training split also when it shows no examples.
    (data / "hellaswag" / "hellaswag_train.jsonl").write_text(lines[0] + "\n", encoding="utf-8")


def make_model(args, folder):
    from eval_models import add_tokenizer, write_random_model

    if (folder / "hf").exists():
        return folder / "model", folder / "hf"
    files = ["--vocab", args.gpt2 / "encoder.json", "--merges", args.gpt2 / "vocab.bpe"]
    run_crope(args, "tokenizer", "import", *files, "--out", folder / "tokenizer")
    model = write_random_model(folder / "model", args.variant, VOCAB_SIZE, seed=1, **PAPER_SHAPE)
    add_tokenizer(model, folder / "tokenizer")
    run_crope(args, "export", model, folder / "hf", "--format", "hf")
    return model, folder / "hf"


def run_ours(args, row, model, data, out):
    flags = ["--tasks", row["task"], "--data", data, "--out", out, "--num-fewshot", row["shots"]]
    flags += ["--limit", row["items"], "--threads", args.threads, "--log-samples", "--json"]
    result = json.loads(run_crope(args, "eval", model, *flags))
    seconds = float(result["total_evaluation_time_seconds"]) - result["model_loading_seconds"]
    lines = (out / f"samples_{row['task']}.jsonl").read_text(encoding="utf-8").split("\n")
    return seconds, [json.loads(line)["resps"] for line in lines if line]


class Peer:
    """lm_eval in a process of its own: one request a line in, one answer a line out."""

    def __init__(self, args, export, data, folder):
        env = dict(os.environ, OMP_NUM_THREADS=str(args.threads), PYTHONWARNINGS="ignore")
        command = [sys.executable, str(SELF), "--peer", str(export), "--data", str(data), "--gpt2", str(folder)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        if not args.verbose:
            pipes["stderr"] = subprocess.DEVNULL
        self.process = subprocess.Popen(command, env=env, text=True, **pipes)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        sys.exit("lm_eval ended early; run with --verbose to see why")

    def run(self, row, items, batch):
        answer = self.ask({"task": row["task"], "shots": row["shots"], "items": items, "batch": batch})
        return answer["seconds"], answer["resps"]

    def decode(self):
        """Tokens a second of transformers' generate."""
        return self.ask({"decode": DECODED_TOKENS})["tokens_per_s"]


def decode_speed(model, tokens):
    """The prompt is read outside of what is timed: the time of many new tokens less that of one."""
    import torch

    prompt = torch.tensor([[97 + 31 * t for t in range(64)]])

    def seconds(new_tokens):
        start = time.perf_counter()
        options = {"min_new_tokens": new_tokens, "max_new_tokens": new_tokens, "do_sample": False}
        model.generate(prompt, attention_mask=torch.ones_like(prompt), pad_token_id=0, **options)
        return time.perf_counter() - start

    seconds(2)
    return tokens / (seconds(1 + tokens) - seconds(1))


def serve_peer(args):
    import lm_eval
    from lm_eval.models.huggingface import HFLM
    from lm_eval_tasks import local_task_manager

    with tempfile.TemporaryDirectory() as folder:
        manager = local_task_manager(args.data, Path(folder))
        model = HFLM(pretrained=str(args.peer), dtype="float32", device="cpu", batch_size=1)
        for line in sys.stdin:
            request = json.loads(line)
            if "decode" in request:
                print("\n" + json.dumps({"tokens_per_s": decode_speed(model.model, request["decode"])}), flush=True)
                continue
            model.batch_size_per_gpu = request["batch"]
            start = time.perf_counter()
            result = lm_eval.simple_evaluate(
                model=model,
                tasks=[request["task"]],
                num_fewshot=request["shots"],
                limit=request["items"],
                task_manager=manager,
                log_samples=True,
            )
            seconds = time.perf_counter() - start
            resps = [sample["resps"] for sample in result["samples"][request["task"]]]
            print("\n" + json.dumps({"seconds": seconds, "resps": resps}), flush=True)


def check_same(name, ours, theirs):
    """Stops if the two sides do not say the same."""
    if len(ours) != len(theirs):
        sys.exit(f"{name}: {len(ours)} answers here, {len(theirs)} there")
    for place, (mine, other) in enumerate(zip(ours, theirs)):
        if isinstance(mine[0][0], str):
            same = mine == other
        else:
            pairs = zip(mine, other)
            same = all(abs(float(a[0][0]) - b[0][0]) < 2e-3 and a[0][1] == str(b[0][1]) for a, b in pairs)
        if not same:
            sys.exit(f"{name}: answer {place} differs: {mine} here, {other} there")


def compare_row(args, name, model, peer, data, out):
    row = ROWS[name] | ({"items": args.items} if args.items else {})
    trials = {}
    if args.batch:
        best = args.batch
    else:
        for batch in row["batches"]:
            trials[batch] = peer.run(row, row["trial_items"], batch)[0]
        best = min(trials, key=trials.get)
    ours, theirs = [], []
    for _ in range(args.rounds):
        seconds, mine = run_ours(args, row, model, data, out)
        ours.append(seconds)
        seconds, other = peer.run(row, row["items"], best)
        theirs.append(seconds)
        check_same(name, mine, other)
    return {
        "task": row["task"],
        "items": row["items"],
        "num_fewshot": row["shots"],
        "lm_eval_batch_size": best,
        "trial_seconds": trials,
        "crope_seconds": ours,
        "lm_eval_seconds": theirs,
        "ratio": statistics.median(theirs) / statistics.median(ours),
        "at_least": GOALS[name],
    }


def compare_decode(args, peer):
    program = args.crope.parent / "bench" / "decode_bench"
    ours, theirs = [], []
    for _ in range(args.rounds):
        command = [program, "--rounds", "1", "--threads", str(args.threads), "--tokens", str(DECODED_TOKENS), "--json"]
        result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        ours.append({model["name"]: model for model in result["models"]})
        theirs.append(peer.decode())

    def median(model, key):
        return statistics.median(each[model][key] for each in ours)

    fp32, tied = median("rope fp32", "decode_tokens_per_s"), median("crope_all fp32", "decode_tokens_per_s")
    values = (
        median("rope fp32", "share_of_bandwidth"),
        fp32 / statistics.median(theirs),
        tied / fp32,
        median("rope bf16", "decode_tokens_per_s") / fp32,
        median("rope fp32", "share_of_gemm_peak"),
    )
    return {"runs": ours, "transformers_tokens_per_s": theirs, "values": dict(zip(DECODE_GOALS, values))}


def compare(args):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        data = scratch / "data"
        write_items(args.data, data)
        model, export = make_model(args, args.work or scratch)
        peer = Peer(args, export, data, args.gpt2)
        rows = {}
        decode = None
        for name in args.rows.split(","):
            if name == "decode":
                decode = compare_decode(args, peer)
            else:
                rows[name] = compare_row(args, name, model, peer, data, scratch / "out")
            # What was measured is not lost when a later row fails.
            print(json.dumps(decode if name == "decode" else rows[name]), file=sys.stderr, flush=True)
        peer.process.stdin.close()
        peer.process.wait()
    return {"variant": args.variant, "threads": args.threads, "rounds": args.rounds, "rows": rows, "decode": decode}


def print_table(result):
    print(f"paper-size {result['variant']}, {result['threads']} threads, medians of {result['rounds']}\n")
    print(f"{'task':<24}{'items':>7}{'shots':>7}{'crope s':>10}{'lm_eval s':>11}{'batch':>7}{'ratio':>8}{'at least':>10}")
    for row in result["rows"].values():
        ours, theirs = statistics.median(row["crope_seconds"]), statistics.median(row["lm_eval_seconds"])
        print(
            f"{row['task']:<24}{row['items']:>7}{row['num_fewshot']:>7}{ours:>10.1f}{theirs:>11.1f}"
            f"{row['lm_eval_batch_size']:>7}{row['ratio']:>7.2f}x{row['at_least']:>9.1f}x"
        )
    if result["decode"]:
        print()
        for name, value in result["decode"]["values"].items():
            print(f"{name:<56}{value:>8.2f}{DECODE_GOALS[name]:>10.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--gpt2", type=Path, required=True)
    parser.add_argument("--rows", default=",".join([*ROWS, "decode"]))
    parser.add_argument("--variant", default="rope", choices=["rope", "crope_qk", "crope_qkv", "crope_all"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--items", type=int, help="fewer items than the table asks for, for a quick look")
    parser.add_argument("--batch", type=int, help="batch size of lm_eval, instead of trying several")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=Path, help="folder to keep the model in, for further runs")
    parser.add_argument("--crope", type=Path, default=ROOT / "build" / "release" / "crope")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="show what lm_eval says")
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        serve_peer(args)
        return
    result = compare(args)
    if args.json:
        print(json.dumps(result))
    else:
        print_table(result)


if __name__ == "__main__":
    main()
