#!/usr/bin/env python3
"""Tokenizer speed beside tiktoken and Hugging Face tokenizers, on one machine in one run.

    scripts/setup.sh parity
    .deps/parity/bin/python bench/compare_tokenizers.py --data corpus.jsonl --gpt2 DIR [--json]

--data is a file of JSON lines with a field `text`; --gpt2 a folder with GPT-2's encoder.json and vocab.bpe.

Encoding is timed inside each program, without loading and reading. Every pass starts with a new tokenizer that has
not encoded the text before. The programs take turns, so that a machine that slows down slows all of them; figures are medians,
and ours, which last a fraction of a second, are of several passes each turn.
Wall-clock figures need a quiet machine; processor time, given beside them, also holds on a busy one.
Training is timed as a whole process, from the file to the written tokenizer.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VOCAB_SIZE = 8192
PASSES = 5
SELF = Path(__file__).resolve()


def read_texts(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def byte_alphabet():
    """GPT-2's characters for the 256 bytes."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + n): byte for n, byte in enumerate(others)}


def make_tiktoken(gpt2):
    import tiktoken

    alphabet = byte_alphabet()
    encoder = json.loads((gpt2 / "encoder.json").read_text(encoding="utf-8"))
    special = {"<|endoftext|>": encoder.pop("<|endoftext|>")}
    ranks = {bytes(alphabet[c] for c in token): rank for token, rank in encoder.items()}
    pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
    return tiktoken.Encoding("gpt2-files", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)


# Each of these runs in a process of its own and prints one JSON object.


def peer_tiktoken(args):
    encoding = make_tiktoken(args.gpt2)
    texts = read_texts(args.data)
    start, cpu_start = time.perf_counter(), time.process_time()
    tokens = sum(len(encoding.encode_ordinary(text)) for text in texts)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "tokens": tokens}


def peer_huggingface(args):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(args.tokenizer / "tokenizer.json"))
    texts = read_texts(args.data)
    start, cpu_start = time.perf_counter(), time.process_time()
    # The fast variant computes no offsets.
    results = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "tokens": sum(len(result.ids) for result in results)}


def peer_huggingface_training(args):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    start = time.perf_counter()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    with open(args.data, encoding="utf-8") as lines:
        tokenizer.train_from_iterator((json.loads(line)["text"] for line in lines), trainer)
    tokenizer.save(str(args.out / "tokenizer.json"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": time.perf_counter() - start, "peak_mb": peak}


PEERS = {
    "tiktoken": peer_tiktoken,
    "huggingface": peer_huggingface,
    "huggingface-training": peer_huggingface_training,
}


def run_peer(name, args, threads, **paths):
    env = dict(os.environ, RAYON_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="true" if threads > 1 else "false")
    command = [sys.executable, str(SELF), "--data", str(args.data), "--gpt2", str(args.gpt2), "--peer", name]
    for flag, path in paths.items():
        command += [f"--{flag}", str(path)]
    return json.loads(subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE).stdout)


def run_crope(args, tokenizer, threads):
    command = [str(args.crope), "tokenizer", "encode", "--tokenizer", str(tokenizer), "--jsonl", "text"]
    command += ["--threads", str(threads), "--bench", str(PASSES), "--json"]
    with open(args.data, "rb") as data:
        result = json.loads(subprocess.run(command, stdin=data, check=True, stdout=subprocess.PIPE).stdout)
    seconds, cpu_seconds = result["median_seconds"], result["median_cpu_seconds"]
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "tokens": result["tokens"]}


def train_crope(args, out, threads):
    command = [str(args.crope), "tokenizer", "train", str(args.data), "--vocab-size", str(VOCAB_SIZE)]
    command += ["--out", str(out), "--threads", str(threads), "--json"]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed")
    return {"seconds": time.perf_counter() - start, "peak_mb": usage.ru_maxrss / 1024}


def compare(args):
    megabytes = sum(len(text.encode()) for text in read_texts(args.data)) / 1e6
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        tokenizer = scratch / "gpt2"
        files = ["--vocab", str(args.gpt2 / "encoder.json"), "--merges", str(args.gpt2 / "vocab.bpe")]
        command = [str(args.crope), "tokenizer", "import", *files, "--out", str(tokenizer)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        encode = {
            "crope, 1 thread": lambda: run_crope(args, tokenizer, 1),
            "crope, 2 threads": lambda: run_crope(args, tokenizer, 2),
            "tiktoken, 1 thread": lambda: run_peer("tiktoken", args, 1),
            "tokenizers, 1 thread": lambda: run_peer("huggingface", args, 1, tokenizer=tokenizer),
        }
        times = {name: [] for name in encode}
        cpu_times = {name: [] for name in encode}
        tokens = {}
        for _ in range(args.rounds):
            for name, run in encode.items():
                result = run()
                times[name].append(result["seconds"])
                cpu_times[name].append(result["cpu_seconds"])
                tokens[name] = result["tokens"]
        if len(set(tokens.values())) != 1:
            sys.exit(f"the programs disagree about the number of tokens: {tokens}")
        train_times, train_peaks = {}, {}
        for turn in range(args.train_rounds):
            out = scratch / f"huggingface_{turn}"
            out.mkdir()
            for name, result in (
                ("crope, 2 threads", train_crope(args, scratch / f"crope_{turn}", 2)),
                ("tokenizers, 2 threads", run_peer("huggingface-training", args, 2, out=out)),
            ):
                train_times.setdefault(name, []).append(result["seconds"])
                train_peaks.setdefault(name, []).append(result["peak_mb"])
    median = {name: statistics.median(values) for name, values in times.items()}
    cpu = {name: statistics.median(values) for name, values in cpu_times.items()}
    ours, train = median["crope, 1 thread"], {name: statistics.median(v) for name, v in train_times.items()}
    return {
        "data": args.data.name,
        "megabytes": megabytes,
        "tokens": tokens["crope, 1 thread"],
        "rounds": args.rounds,
        "encode_mb_per_s": {name: megabytes / seconds for name, seconds in median.items()},
        "encode_seconds": times,
        "encode_cpu_seconds": cpu_times,
        "train_seconds": train,
        "train_peak_mb": {name: max(values) for name, values in train_peaks.items()},
        "ratios": {
            "encode, 1 thread, to tiktoken": median["tiktoken, 1 thread"] / ours,
            "encode, 1 thread, to tokenizers": median["tokenizers, 1 thread"] / ours,
            "encode, 2 threads, to 1 thread": ours / median["crope, 2 threads"],
            "train, 2 threads, to tokenizers": train["tokenizers, 2 threads"] / train["crope, 2 threads"],
        },
        "cpu_ratios": {
            "encode, 1 thread, to tiktoken": cpu["tiktoken, 1 thread"] / cpu["crope, 1 thread"],
            "encode, 1 thread, to tokenizers": cpu["tokenizers, 1 thread"] / cpu["crope, 1 thread"],
            # What two threads would give if each had a processor of its own.
            "encode, 2 threads, to 1 thread": 2 * cpu["crope, 1 thread"] / cpu["crope, 2 threads"],
        },
    }


def print_tables(result):
    print(f"{result['data']}: {result['megabytes']:.1f} MB, {result['tokens']} tokens, {result['rounds']} rounds\n")
    print(f"{'encode with GPT-2':<34}{'MB/s':>10}")
    for name, rate in result["encode_mb_per_s"].items():
        print(f"{name:<34}{rate:>10.1f}")
    print(f"\n{f'train a vocabulary of {VOCAB_SIZE}':<34}{'s':>10}{'peak MB':>10}")
    for name, seconds in result["train_seconds"].items():
        print(f"{name:<34}{seconds:>10.2f}{result['train_peak_mb'][name]:>10.0f}")
    print(f"\n{'times as fast':<34}{'wall':>10}{'cpu':>10}")
    for name, ratio in result["ratios"].items():
        cpu = result["cpu_ratios"].get(name)
        print(f"{name:<34}{ratio:>10.2f}{f'{cpu:.2f}' if cpu else '-':>10}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--gpt2", type=Path, required=True)
    parser.add_argument("--crope", type=Path, default=SELF.parent.parent / "build/release/crope")
    parser.add_argument("--rounds", type=int, default=5, help="encoding passes of each program")
    parser.add_argument("--train-rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--tokenizer", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        print(json.dumps(PEERS[args.peer](args)))
        return
    result = compare(args)
    if args.json:
        print(json.dumps(result))
    else:
        print_tables(result)


if __name__ == "__main__":
    main()
