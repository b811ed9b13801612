"""Greedy decoding beside transformers on the same weights, in one run, taking turns.

    .deps/parity/bin/python bench/compare_generate.py [--variants rope,crope_all] [--tokens 48] [--rounds 3] [--json]

Makes a model of the paper's size with random weights, exports it, and lets both continue the same prompt with the same
number of threads. Prints medians of tokens a second after the prompt, and whether the tokens agree.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
import transformers
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parents[1]
CROPE = os.environ.get("CROPE_BINARY", str(ROOT / "build" / "release" / "crope"))
CONFIG = {"vocab_size": 50304, "num_layers": 16, "num_heads": 8, "d_model": 1024, "d_ff": 1024, "rope_theta": 5000.0,
          "norm_eps": 1e-6, "max_seq_len": 512}


def crope(*arguments):
    return subprocess.run([CROPE, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def write_random_model(folder, variant):
    """A model directory (docs/formats.md). Tied projections have .a and .b of half the sizes."""
    D, F, tied = CONFIG["d_model"], CONFIG["d_ff"], {"rope": "", "crope_qk": "qk", "crope_qkv": "qkv", "crope_all": "qkvo"}
    generator = torch.Generator().manual_seed(1)

    def normal(*shape, std):
        return torch.randn(*shape, generator=generator) * std

    tensors = {"embedding.weight": normal(CONFIG["vocab_size"], D, std=0.5), "norm.weight": torch.ones(D)}
    for layer in range(CONFIG["num_layers"]):
        block = f"blocks.{layer}."
        for name in "qkvo":
            if name in tied[variant]:
                tensors[f"{block}attention.{name}.a"] = normal(D // 2, D // 2, std=D**-0.5)
                tensors[f"{block}attention.{name}.b"] = normal(D // 2, D // 2, std=D**-0.5)
            else:
                tensors[f"{block}attention.{name}.weight"] = normal(D, D, std=D**-0.5)
        for name, shape in (("gate", (F, D)), ("up", (F, D)), ("down", (D, F))):
            tensors[f"{block}feed_forward.{name}.weight"] = normal(*shape, std=D**-0.5)
        for name in ("attention_norm", "feed_forward_norm"):
            tensors[f"{block}{name}.weight"] = torch.ones(D)
        for name in ("q_norm", "k_norm"):
            tensors[f"{block}attention.{name}.weight"] = torch.ones(D // CONFIG["num_heads"])
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, "variant": variant}))
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


class Peer:
    """transformers' generate, timed after the prompt: the time of n + 1 tokens less that of one."""

    def __init__(self, folder):
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def run(self, ids, tokens):
        def seconds(count):
            begin = time.perf_counter()
            with torch.inference_mode():
                out = self.model.generate(torch.tensor([ids]), max_new_tokens=count, do_sample=False, eos_token_id=None)
            return time.perf_counter() - begin, out[0, len(ids):].tolist()

        first, _ = seconds(1)
        all_seconds, out = seconds(tokens)
        return (tokens - 1) / (all_seconds - first), out


def ours(folder, ids, tokens, threads, *flags):
    result = json.loads(crope("generate", folder, "--json", "--prompt-ids", ",".join(map(str, ids)), "--max-tokens", tokens,
                              "--threads", threads, *flags))
    return result["decode_tokens_per_second"], result["choices"][0]["ids"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", default="rope,crope_all")
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    ids, rows = list(range(100, 132)), []
    for variant in options.variants.split(","):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            write_random_model(folder / "model", variant)
            crope("export", folder / "model", folder / "hf", "--format", "hf")
            peer, speeds = Peer(folder / "hf"), {"transformers": [], "fp32": [], "bf16": []}
            for _ in range(options.rounds):
                speed, expected = peer.run(ids, options.tokens)
                speeds["transformers"].append(speed)
                for weights in ("fp32", "bf16"):
                    speed, got = ours(folder / "model", ids, options.tokens, options.threads, "--weights", weights)
                    speeds[weights].append(speed)
                    if weights == "fp32":
                        same = sum(x == y for x, y in zip(got, expected))
            row = {name: statistics.median(values) for name, values in speeds.items()}
            rows.append({"variant": variant, **row, "equal_tokens": same, "tokens": options.tokens})
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'variant':<12}{'transformers':>16}{'crope fp32':>14}{'times':>8}{'crope bf16':>14}{'of fp32':>9}{'equal':>10}")
    for row in rows:
        print(f"{row['variant']:<12}{row['transformers']:>10.1f} tok/s{row['fp32']:>8.1f} tok/s"
              f"{row['fp32'] / row['transformers']:>7.2f}x{row['bf16']:>8.1f} tok/s{row['bf16'] / row['fp32']:>8.2f}x"
              f"{row['equal_tokens']:>6}/{row['tokens']}")


if __name__ == "__main__":
    main()
