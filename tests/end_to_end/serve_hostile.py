#!/usr/bin/env python3
"""A server among clients that break every rule: serve_hostile.py PROGRAM [--promise SECONDS]

Attacks on every limit of the server, malformed requests from a seeded generator, idle connections, withheld bodies and
clients that vanish, each beside good requests that have to be answered as before, within the promised time. At the end
the server lives, its memory is what it was, and it ends when it is asked to. Everything stays on this machine
(127.0.0.1). A build with sanitizers is several times slower: it needs a larger promise.
"""

import argparse

import json
import pathlib
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

MEMORY_TOLERANCE = 20 * 2**20
CACHE_MB, TOKEN_BYTES, CONTEXT = 2, 1024, 128  # of the server; TOKEN_BYTES: keys and values of a token
PATIENCE = 120  # seconds for one answer; a server that hangs fails


def make_model(program, folder):
    def run(*arguments):
        subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    world = folder / "world"
    run("data", "synth", "--documents", 300, "--seed", 3, "--hellaswag-items", 4, "--mmlu-items", 8, "--gsm8k-items", 4, "--out", world)
    run("tokenizer", "train", world / "train.jsonl", "--vocab-size", 512, "--out", folder / "tokenizer")
    run("data", "prepare", world / "train.jsonl", "--tokenizer", folder / "tokenizer", "--out", folder / "data")
    run("train", "--data", folder / "data", "--out", folder / "run", "--variant", "crope_all", "--num-layers", 2, "--num-heads", 2,
        "--d-model", 64, "--d-ff", 64, "--steps", 10, "--batch-size", 4, "--seq-len", 64, "--warmup-steps", 2)  # fmt: skip
    return folder / "run"


class Server:
    def __init__(self, program, model):
        # What is kept on purpose is little here.
        command = [program, "serve", str(model), "--port", "0", "--max-sequences", "8", "--cache-mb", str(CACHE_MB), "--context", str(CONTEXT),
                   "--allow-host", "model.example", "--allow-origin", "https://app.example"]  # fmt: skip
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                break
        self.port = int(found.group(1))
        self.errors = []
        threading.Thread(target=self.errors.extend, args=(self.process.stderr,), daemon=True).start()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def memory(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text()).group(1)) * 1024

    def expect_alive(self):
        assert self.process.poll() is None, "the server has ended: " + "".join(self.errors)


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def read_answer(connection):
    """Status and body of an answer with a length, or after which the connection ends. "100 Continue" is no answer."""
    data = b""
    while b"\r\n\r\n" not in data.removeprefix(CONTINUE):
        more = connection.recv(65536)
        if not more:
            return None, data
        data += more
    head, body = data.removeprefix(CONTINUE).split(b"\r\n\r\n", 1)
    status = int(head.split(b" ", 2)[1])
    length = re.search(rb"(?i)content-length: (\d+)", head)
    while not length or len(body) < int(length.group(1)):
        more = connection.recv(65536)
        if not more:
            break
        body += more
    return status, body


def request(method, path, body=b"", headers=()):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers, f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


GOOD = json.dumps({"prompt": "Once upon a time", "max_tokens": 12, "temperature": 0}).encode()


def good_text(server):
    with server.connect() as connection:
        connection.sendall(request("POST", "/v1/completions", GOOD))
        status, body = read_answer(connection)
    assert status == 200, (status, body)
    return json.loads(body)["choices"][0]["text"]


class GoodClient(threading.Thread):
    """Asks for the same text again and again; every answer must be the expected one."""

    def __init__(self, server, expected, promise):
        super().__init__()
        self.server, self.expected, self.promise = server, expected, promise
        self.answers, self.slowest, self.failure = 0, 0.0, None
        self.ends = threading.Event()

    def run(self):
        try:
            while not self.ends.is_set():
                start = time.monotonic()
                assert good_text(self.server) == self.expected
                self.slowest = max(self.slowest, time.monotonic() - start)
                self.answers += 1
                self.ends.wait(0.02)
        except Exception as error:  # shown by whoever ends the thread
            self.failure = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *unused):
        self.ends.set()
        self.join()
        assert self.failure is None, self.failure
        assert self.answers > 0
        assert self.slowest < self.promise, f"a good request took {self.slowest:.2f} s"

    def __str__(self):
        return f"{self.answers} good requests answered, the slowest in {self.slowest:.2f} s"


FIELDS = ["prompt", "max_tokens", "temperature", "top_p", "top_k", "min_p", "n", "stop", "seed", "logprobs", "echo", "stream",
          "stream_options", "messages", "top_logprobs", "model", "tokens", "layer", "head", "text", "ids", "repetition_penalty",
          "presence_penalty", "logit_bias", "best_of", "suffix", "response_format", "return_token_ids"]  # fmt: skip
PATHS = ["/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize", "/api/attention", "/v1/models", "/", "/health",
         "/metrics", "/nothing", "/v1/completions/", "/../../etc/passwd", "/api/run?after=x", "/%00", "/a?b=c&d", "*"]  # fmt: skip


def random_value(rng, depth=0):
    numbers = [0, -1, 1, 2, 511, 512, 10**6, 2**31, 2**63, 2**64, -(2**63), 1e308, -1e-308, 0.5, 1.5, -0.0]
    kinds = ["number", "text", "null", "flag", "list", "object", "ids"]
    kind = rng.choice(kinds if depth < 4 else kinds[:4])
    if kind == "number":
        return rng.choice(numbers)
    if kind == "text":
        return rng.choice(["", "a", "hello " * rng.randrange(400), "\u0000", "\ud7ff\U0010ffff", "<|endoftext|>", "user", "\n" * 50])
    if kind == "null":
        return None
    if kind == "flag":
        return rng.random() < 0.5
    if kind == "ids":
        return [rng.choice([0, 1, 5, 400, 511, 512, -1, 10**12]) for _ in range(rng.choice([0, 1, 3, 70, 700]))]
    if kind == "list":
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(5))]
    return {rng.choice(FIELDS + ["role", "content", "type"]): random_value(rng, depth + 1) for _ in range(rng.randrange(5))}


def random_body(rng):
    kind = rng.randrange(10)
    if kind < 5:
        body = {rng.choice(FIELDS): random_value(rng) for _ in range(rng.randrange(1, 6))}
        if rng.random() < 0.5:
            body["prompt"] = rng.choice(["hello", [1, 2, 3], random_value(rng)])
        body["max_tokens"] = rng.choice([1, 2, 3, body.get("max_tokens", 1) if rng.random() < 0.2 else 1])
        return json.dumps(body).encode()
    if kind == 5:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(200)))
    if kind == 6:
        return (b"[" if rng.random() < 0.5 else b'{"a":') * rng.choice([1, 64, 65, 1000, 100000])
    if kind == 7:
        whole = json.dumps({"prompt": "hello", "max_tokens": 3}).encode()
        return whole[: rng.randrange(len(whole))]
    if kind == 8:
        return b'{"prompt":"' + bytes([rng.randrange(128, 256) for _ in range(5)]) + b'"}'
    return rng.choice([b"", b"null", b"3", b'""', b'{"a":1,"a":2}', b'{"prompt":"\\ud800"}', b'{"prompt":1e999}', b"x" * 300000])


def random_request(rng):
    """Bytes, and whether the rest is left out on purpose."""
    body = random_body(rng)
    method = rng.choice(["POST"] * 12 + ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "FROB", "TRACE"])
    whole = request(method, rng.choice(PATHS), body, ["Connection: close", *rng.choice([[], [], ["Content-Type: application/json"],
        ["Content-Type: multipart/form-data"], ["Content-Type: application/x-www-form-urlencoded"], ["Content-Encoding: gzip"],
        ["X: " + "y" * rng.choice([10, 9000, 40000])], ["Range: bytes=0-1"], ["Authorization: Bearer \xff"], ["Expect: 100-continue"],
        ["Expect: x"], ["Transfer-Encoding: chunked"], ["broken"], ["Content-Length: 7"]])])  # fmt: skip
    kind = rng.randrange(20)
    if kind == 0:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 300))) + b"\r\n\r\n", False
    if kind == 1:
        return whole[: rng.randrange(1, len(whole))], True
    if kind == 2:
        place = rng.randrange(len(whole))
        return whole[:place] + bytes([rng.randrange(256)]) + whole[place + 1 :], True
    if kind == 3:
        return b"POST /tokenize HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + rng.choice(
            [b"zz\r\n", b"5\r\nab", b"FFFFFFFFFFFFFFFFFF\r\n", b"-1\r\n", b"0\r\n\r\n", b"3\r\nabc\r\n0\r\n\r\n"]), True  # fmt: skip
    return whole, False


def malformed(server, seed, count, statuses, failures):
    rng = random.Random(seed)
    for number in range(count):
        data, is_cut = random_request(rng)
        try:
            with server.connect() as connection:
                connection.sendall(data)
                # Bytes were left out or changed: the server would rightly wait for more.
                connection.shutdown(socket.SHUT_WR) if is_cut else None
                status, body = read_answer(connection)
        except (ConnectionResetError, BrokenPipeError):
            status, body = None, b""
        statuses[status] = statuses.get(status, 0) + 1
        if status is None:
            if not is_cut:
                failures.append((seed, number, "no answer", data[:300]))
        elif status >= 500 and status not in (501, 503):
            failures.append((seed, number, status, body[:300], data[:300]))
        elif status >= 400 and body and b'"error"' not in body:
            failures.append((seed, number, "no error object", body[:300], data[:300]))


def send_malformed(server, count):
    statuses, failures, threads = {}, [], []
    for seed in range(4):
        threads.append(threading.Thread(target=malformed, args=(server, seed, count // 4, statuses, failures)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:5]
    assert statuses.get(200, 0) > 0 and statuses.get(400, 0) > count // 10, statuses
    return dict(sorted(statuses.items(), key=str))


WITHHELD = [b"Content-Length: 1000\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
            b"Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n", b"X: "]  # fmt: skip


def hold(server, count, is_begun):
    """Connections that say nothing, or begin a request in one of several ways and go no further."""
    held = []
    for number in range(count):
        held.append(server.connect())
        if is_begun:
            held[-1].sendall(b"POST /v1/completions HTTP/1.1\r\n" + WITHHELD[number % len(WITHHELD)])
    return held


def ask(server, path, body=None, headers=()):
    """Status and JSON of one request; `body` may be bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    with server.connect() as connection:
        connection.sendall(request("POST" if data else "GET", path, data, headers))
        status, answer = read_answer(connection)
    return status, json.loads(answer) if answer else None


def check_limits(server):
    """Each of these once hurt somebody else; returns what was checked."""
    deep, many = b"[" * 4_000_000, b"{" + b",".join(b'"%d":1' % i for i in range(40000)) + b"}"
    assert ask(server, "/v1/completions", deep)[0] == 400
    assert ask(server, "/v1/completions", many)[0] == 400
    assert ask(server, "/v1/completions", b" " * (9 << 20))[0] == 413
    # A header that a regular expression would choke on.
    assert ask(server, "/health", headers=["Range: bytes=0-1" + ",0-1" * 2000])[0] == 200
    # Names that a web page could have taken over, and pages of other sites.
    with server.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: rebound.example\r\n\r\n")
        assert read_answer(connection)[0] == 403
    for origin, expected in [("https://evil.example", 403), ("null", 403), ("http://localhost:3000", 200), ("https://app.example", 200)]:
        assert ask(server, "/health", headers=[f"Origin: {origin}"])[0] == expected, origin
    # A small request for a huge answer.
    status, answer = ask(server, "/v1/completions", {"prompt": "a", "n": 256, "max_tokens": 60, "logprobs": 20, "echo": True})
    assert status == 400 and answer["error"]["code"] == "too_many_logprobs", answer
    status, answer = ask(server, "/v1/completions", {"prompt": [1] * (CONTEXT + 1)})
    assert status == 400 and answer["error"]["code"] == "context_length_exceeded", answer
    # Numbers at the ends of their types.
    greedy = {"prompt": "Once", "max_tokens": 2**63 - 1, "temperature": 0, "ignore_eos": True}
    texts = [ask(server, "/v1/completions", greedy | {"temperature": value, "seed": 1})[1]["choices"][0]["text"] for value in (0, 1e-37, 1e-39, 1e-300)]
    assert len(set(texts)) == 1, texts
    # Short beginnings of long texts hold no more memory than the cache may have.
    for number in range(60):
        parent = [1 + (7 * number + 3 * i) % 500 for i in range(60)]
        for ids in (parent, parent[:9] + [5]):
            assert ask(server, "/v1/completions", {"prompt": ids, "max_tokens": 2})[0] == 200
    kept = metric(server, "crope_kept_tokens")
    assert 0 < kept * TOKEN_BYTES <= CACHE_MB << 20, kept
    return f"bodies, Range, Host, Origin, log-probabilities, context, numbers; {kept:.0f} tokens kept of {(CACHE_MB << 20) // TOKEN_BYTES}"


def leave_attention(server, count):
    """Clients that ask for a picture of the attention and do not wait for it."""
    body = json.dumps({"ids": [1] * CONTEXT, "layer": 1, "head": 0}).encode()
    for _ in range(count):
        with server.connect() as connection:
            connection.sendall(request("POST", "/api/attention", body))


def vanish(server, count, rng):
    """Clients that ask for more than they wait for."""
    for _ in range(count):
        body = {"prompt": "Once", "max_tokens": 400, "ignore_eos": True, "stream": rng.random() < 0.5, "n": rng.choice([1, 2])}
        connection = server.connect()
        connection.sendall(request("POST", "/v1/completions", json.dumps(body).encode()))
        if rng.random() < 0.5:
            connection.settimeout(0.05)
            try:
                connection.recv(rng.choice([1, 100]))
            except TimeoutError:
                pass
        if rng.random() < 0.3:  # a reset instead of an end
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.close()


def metric(server, name):
    with server.connect() as connection:
        connection.sendall(request("GET", "/metrics", headers=["Connection: close"]))
        _, body = read_answer(connection)
    return float(re.search(rf"(?m)^{name} (\S+)$", body.decode()).group(1))


def wait_until_quiet(server):
    """Whoever vanished is noticed within seconds; nothing is left behind."""
    for _ in range(1200):
        if all(metric(server, f"crope_sequences_{state}") == 0 for state in ("running", "waiting")):
            if metric(server, "crope_connections_open") <= 2:
                return
        time.sleep(0.1)
    raise AssertionError("sequences or connections are left behind")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--promise", type=float, default=2, help="seconds within which good requests are answered")
    parser.add_argument("--malformed", type=int, default=10000)
    parser.add_argument("--held", type=int, default=1000, help="idle connections, and as many withheld requests")
    parser.add_argument("--vanishing", type=int, default=200)
    arguments = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    with tempfile.TemporaryDirectory() as folder:
        server = Server(arguments.program, make_model(arguments.program, pathlib.Path(folder)))
        try:
            attack(server, arguments)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(PATIENCE) == 0, "".join(server.errors)
        finally:
            server.process.kill()


def attack(server, arguments):
    expected = good_text(server)

    def beside_good_requests(name, work):
        with GoodClient(server, expected, arguments.promise) as good:
            result = work()
        server.expect_alive()
        print(f"{name}: {good}{'' if result is None else f'; {result}'}", flush=True)

    def hold_for_a_while(is_begun):
        held = hold(server, arguments.held, is_begun)
        assert metric(server, "crope_connections_open") >= arguments.held * 0.9
        time.sleep(3)
        for connection in held:
            connection.close()

    # A little of everything first: what is allocated once is not a leak.
    send_malformed(server, 400)
    check_limits(server)
    hold_for_a_while(is_begun=True)
    vanish(server, 20, random.Random(1))
    wait_until_quiet(server)
    before = server.memory()

    beside_good_requests("limits", lambda: check_limits(server))
    beside_good_requests(f"{arguments.malformed} malformed requests", lambda: send_malformed(server, arguments.malformed))
    beside_good_requests(f"{arguments.held} idle connections", lambda: hold_for_a_while(is_begun=False))
    beside_good_requests(f"{arguments.held} withheld requests", lambda: hold_for_a_while(is_begun=True))
    beside_good_requests(f"{arguments.vanishing} vanishing clients", lambda: vanish(server, arguments.vanishing, random.Random(2)))
    beside_good_requests("100 abandoned attention views", lambda: leave_attention(server, 100))
    wait_until_quiet(server)

    after = server.memory()
    print(f"memory {before / 2**20:.1f} MB before, {after / 2**20:.1f} MB after")
    assert after - before < MEMORY_TOLERANCE, "memory has grown"
    assert good_text(server) == expected


if __name__ == "__main__":
    main()
