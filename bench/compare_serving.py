#!/usr/bin/env python3
"""`crope serve` beside `crope generate`, lm_eval's hf model and llama.cpp: the same weights, two threads, one run.

    scripts/setup.sh parity
    .deps/parity/bin/python bench/compare_serving.py --data DIR --gpt2 DIR --work DIR [--llama PYTHON] [--rows ...] [--json]

--data is a folder with hellaswag/ as `crope eval` takes it; --gpt2 a folder with GPT-2's encoder.json and vocab.bpe;
--llama a Python that has the package llama-cpp-python. Models have the paper's size and random weights, and stay in
--work for further runs (--prepare makes them and does nothing else). Sides of a ratio take turns; figures are medians.
"""

import argparse
import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

SELF = Path(__file__).resolve()
ROOT = SELF.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "parity"))

VOCAB_SIZE = 50304
PAPER_SHAPE = {"num_layers": 16, "num_heads": 8, "d_model": 1024, "d_ff": 1024}
PROMPT = [97 + 31 * t for t in range(64)]
STREAMS = 8
LM_EVAL_BATCHES = [1, 2, 4, 8, 16]
# For each row: whether larger (">") or smaller ("<") is better, and the target.
GOALS = {
    "8 streams, total tokens/s to one stream": (">", 4.0),
    "HTTP overhead on one stream": ("<", 0.05),
    "first token beside 7 streams, to 2x alone + one step": ("<", 1.0),
    "lm_eval HellaSwag through the server, to lm_eval hf": (">", 1.0),
    "decode fp32 rope, to llama.cpp f32": (">", 1.0),
    "decode fp32 crope_all, to llama.cpp f32": (">", 1.2),
    "decode bf16 rope, to llama.cpp bf16": (">", 1.5),
}


def run_crope(args, *arguments):
    command = [str(args.crope), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def prepare(args):
    """The models of --work, made where they are missing."""
    from eval_models import add_tokenizer, write_random_model

    folder = args.work
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "tokenizer").exists():
        files = ["--vocab", args.gpt2 / "encoder.json", "--merges", args.gpt2 / "vocab.bpe"]
        run_crope(args, "tokenizer", "import", *files, "--out", folder / "tokenizer")
    for variant in ("rope", "crope_all"):
        if not (folder / variant).exists():
            add_tokenizer(write_random_model(folder / variant, variant, VOCAB_SIZE, seed=1, **PAPER_SHAPE), folder / "tokenizer")
        for kind in ("f32", "bf16") if args.llama else ():
            file = folder / f"{variant}_{kind}.gguf"
            if not file.exists():
                run_crope(args, "export", folder / variant, file, "--format", "gguf", "--type", kind)
    if not (folder / "hf").exists():
        run_crope(args, "export", folder / "rope", folder / "hf", "--format", "hf")


class Server:
    def __init__(self, args, model, *flags):
        command = [str(args.crope), "serve", str(model), "--port", "0", "--threads", str(args.threads), *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                break
        else:
            sys.exit("the server did not start")
        self.port = int(found.group(1))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def stream(self, prompt, tokens, on_token=None):
        """Times of the tokens of one greedy stream, from the request on."""
        body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "stream": True, "return_token_ids": True}
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        start = time.perf_counter()
        connection.request("POST", "/v1/completions", json.dumps(body))
        answer = connection.getresponse()
        if answer.status != 200:
            sys.exit(answer.read())
        times = []
        for line in answer:
            if line.startswith(b'data: {"id"'):
                times.append(time.perf_counter() - start)
                if on_token:
                    on_token(len(times))
        connection.close()
        if len(times) != tokens:
            sys.exit(f"{len(times)} events for {tokens} tokens")
        return times


def rate(times):
    """Tokens a second after the first token."""
    return (len(times) - 1) / (times[-1] - times[0])


def distinct(prompt, number):
    """Prompts that share no beginning: every stream computes its own."""
    return [(token + 1009 * number) % VOCAB_SIZE for token in prompt]


def parallel_streams(server, count, tokens):
    """Total tokens a second while all streams are being decoded."""
    results = [None] * count

    def run(number):
        begin = time.perf_counter()
        results[number] = (begin, server.stream(distinct(PROMPT, number), tokens))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    begin = max(start + times[0] for start, times in results)
    end = min(start + times[-1] for start, times in results)
    made = sum(sum(begin < start + t <= end for t in times) for start, times in results)
    return made / (end - begin)


def compare_streams(args):
    one, many = [], []
    with Server(args, args.work / "rope") as server:
        server.stream(PROMPT, 4)
        for number in range(args.rounds):
            one.append(rate(server.stream(distinct(PROMPT, 100 + number), args.tokens)))
            many.append(parallel_streams(server, STREAMS, args.tokens))
    figures = {"one stream, tokens/s": one, "8 streams, tokens/s": many}
    return {"8 streams, total tokens/s to one stream": statistics.median(many) / statistics.median(one)}, figures


def generate_rate(args, model, *flags):
    ids = ",".join(map(str, PROMPT))
    text = run_crope(args, "generate", model, "--prompt-ids", ids, "--max-tokens", args.tokens, "--ignore-eos", "--json",
                     "--threads", args.threads, *flags)  # fmt: skip
    return json.loads(text)["decode_tokens_per_second"]


def compare_overhead(args):
    """Each side is a new process in every round: where the system puts the weights in memory is worth more than HTTP."""
    plain, served = [], []
    for _ in range(args.rounds + 7):
        with Server(args, args.work / "rope", "--cache-mb", "0") as server:
            served.append(rate(server.stream(PROMPT, args.tokens)))
        plain.append(generate_rate(args, args.work / "rope"))
    figures = {"crope generate, tokens/s": plain, "through HTTP, tokens/s": served}
    return {"HTTP overhead on one stream": statistics.median(plain) / statistics.median(served) - 1}, figures


def compare_first_token(args):
    prompt, alone, beside, steps = [(11 * t * t + 7) % VOCAB_SIZE for t in range(256)], [], [], []
    with Server(args, args.work / "rope", "--cache-mb", "0") as server:
        server.stream(PROMPT, 4)
        for number in range(args.rounds):
            alone.append(server.stream(distinct(prompt, number), 2)[0])
            ready, lock, arrived = threading.Event(), threading.Lock(), set()

            def note(stream, count):
                if count == 3:
                    with lock:
                        arrived.add(stream)
                        if len(arrived) == STREAMS - 1:
                            ready.set()

            results = {}

            def run(stream):
                results[stream] = server.stream(distinct(PROMPT, stream), args.tokens, lambda count: note(stream, count))

            others = [threading.Thread(target=run, args=(stream,)) for stream in range(STREAMS - 1)]
            for thread in others:
                thread.start()
            ready.wait()
            beside.append(server.stream(distinct(prompt, 50 + number), 2)[0])
            for thread in others:
                thread.join()
            gaps = [y - x for times in results.values() for x, y in zip(times[3:], times[4:])]
            steps.append(statistics.median(gaps))
    bound = 2 * statistics.median(alone) + statistics.median(steps)
    figures = {"alone, s": alone, "beside 7 streams, s": beside, "one step, s": steps}
    return {"first token beside 7 streams, to 2x alone + one step": statistics.median(beside) / bound}, figures


def compare_lm_eval(args):
    """Both sides from the loaded model to the finished results, at the batch size that is fastest for the hf model."""
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    from lm_eval_tasks import local_task_manager, read_lines, write_lines

    import lm_eval
    import torch
    from lm_eval.models.huggingface import HFLM

    torch.set_num_threads(args.threads)
    data = args.work / "items"
    if not data.exists():
        rows = read_lines(args.data / "hellaswag" / "hellaswag_val.jsonl")
        middle = len(rows) // 2
        write_lines(data / "hellaswag" / "hellaswag_val.jsonl", rows[middle - 100 : middle + 100])
        write_lines(data / "hellaswag" / "hellaswag_train.jsonl", rows[:1])
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        manager = local_task_manager(data, Path(folder))

        def run(model, items, **arguments):
            start = time.perf_counter()
            result = lm_eval.simple_evaluate(model=model, tasks=["hellaswag"], num_fewshot=0, limit=items, task_manager=manager,
                                             log_samples=True, **arguments)  # fmt: skip
            resps = [resp for sample in result["samples"]["hellaswag"] for resp in sample["filtered_resps"]]
            return len(resps) / (time.perf_counter() - start), resps

        peer = HFLM(pretrained=str(args.work / "hf"), dtype="float32", device="cpu", batch_size=8)
        trials = {}
        for batch in LM_EVAL_BATCHES:
            peer.batch_size_per_gpu = batch
            trials[batch] = run(peer, 12)[0]
        peer.batch_size_per_gpu = max(trials, key=trials.get)
        ours, theirs = [], []
        with Server(args, args.work / "rope") as server:
            address = {"model": "crope", "base_url": f"http://127.0.0.1:{server.port}/v1/completions", "batch_size": 16}
            for _ in range(args.lm_eval_rounds):
                speed, mine = run("local-completions", args.items, model_args=address)
                ours.append(speed)
                speed, other = run(peer, args.items)
                theirs.append(speed)
                for (x, x_greedy), (y, y_greedy) in zip(mine, other, strict=True):
                    if abs(x - y) > 2e-3 or x_greedy != y_greedy:
                        sys.exit(f"the two sides differ: {x} {x_greedy}, {y} {y_greedy}")
    figures = {"local-completions, requests/s": ours, f"hf at batch {peer.batch_size_per_gpu}, requests/s": theirs}
    return {"lm_eval HellaSwag through the server, to lm_eval hf": statistics.median(ours) / statistics.median(theirs)}, figures


LLAMA = """
import json, sys, time
import llama_cpp
model = llama_cpp.Llama(sys.argv[1], n_ctx=512, n_batch=512, n_threads=int(sys.argv[2]), n_threads_batch=int(sys.argv[2]), verbose=False)
prompt, tokens = json.loads(sys.argv[3]), int(sys.argv[4])
model.eval(prompt)
model.eval([5])
start = time.perf_counter()
for t in range(tokens):
    model.eval([(5 + 31 * t) % 50000])
print(json.dumps(tokens / (time.perf_counter() - start)))
"""


def llama_rate(args, file):
    command = [args.llama, "-c", LLAMA, str(file), str(args.threads), json.dumps(PROMPT), str(args.tokens)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)


def compare_decode(args):
    """crope generate beside llama.cpp, which has no complex layers: of crope_all it gets the expanded matrices."""
    pairs = {
        "decode fp32 rope, to llama.cpp f32": ("rope", "fp32", "f32"),
        "decode fp32 crope_all, to llama.cpp f32": ("crope_all", "fp32", "f32"),
        "decode bf16 rope, to llama.cpp bf16": ("rope", "bf16", "bf16"),
    }
    rows, figures = {}, {}
    for name, (variant, weights, kind) in pairs.items():
        ours, theirs = [], []
        for _ in range(args.rounds):
            ours.append(generate_rate(args, args.work / variant, "--weights", weights))
            theirs.append(llama_rate(args, args.work / f"{variant}_{kind}.gguf"))
        rows[name] = statistics.median(ours) / statistics.median(theirs)
        figures |= {f"crope {variant} {weights}, tokens/s": ours, f"llama.cpp {variant} {kind}, tokens/s": theirs}
    return rows, figures


ROWS = {"streams": compare_streams, "overhead": compare_overhead, "first_token": compare_first_token, "lm_eval": compare_lm_eval,
        "decode": compare_decode}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--gpt2", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--llama", help="a Python with llama-cpp-python; without one the row "decode" is skipped")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--items", type=int, default=40, help="of HellaSwag, four requests each")
    parser.add_argument("--lm-eval-rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--crope", type=Path, default=ROOT / "build" / "release" / "crope")
    parser.add_argument("--prepare", action="store_true", help="make the models and stop")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    prepare(args)
    if args.prepare:
        return
    rows, figures = {}, {}
    for name in args.rows.split(","):
        if name == "decode" and not args.llama:
            print("decode is skipped: no --llama", file=sys.stderr)
            continue
        ratios, numbers = ROWS[name](args)
        rows |= ratios
        figures |= numbers
    if args.json:
        print(json.dumps({"threads": args.threads, "rows": rows, "figures": figures}))
        return
    for name, value in rows.items():
        kind, goal = GOALS[name]
        print(f"{name:<56}{value:>8.3f}   ({kind} {goal})")
    print()
    for name, values in figures.items():
        print(f"{name:<56}" + " ".join(f"{value:>9.3f}" for value in values))


if __name__ == "__main__":
    main()
