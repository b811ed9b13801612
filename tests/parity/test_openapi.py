"""The server against requests that schemathesis makes of the server's own description."""

import os
import re
import subprocess
import sys

import pytest

from conftest import run_crope
from eval_models import add_tokenizer, synthetic_world, write_random_model
from serving import serve

# Every field is limited by the description. That these are limited together JSON Schema cannot say: hooks keep what
# is made within them.
HOOKS = """
import schemathesis

MOST_CHOICES, LONGEST = 8, 100


def characters(value):
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(characters, value.values()))
    return sum(map(characters, value)) if isinstance(value, list) else 0


@schemathesis.hook
def filter_body(context, body):
    if not isinstance(body, dict):
        return True
    prompt, n = body.get("prompt"), body.get("n")
    prompts = len(prompt) if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int) else 1
    few = not isinstance(n, int) or prompts * n <= MOST_CHOICES
    return few and all(characters(body.get(name)) <= LONGEST for name in ("prompt", "messages", "text"))
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    world = synthetic_world(folder / "world")
    run_crope("tokenizer", "train", world / "train.jsonl", "--vocab-size", 1000, "--out", folder / "tokenizer")
    # More rows than tokens: ids that have no text are ids too.
    start = write_random_model(folder / "start", "crope_qk", 1024, seed=3)
    add_tokenizer(start, folder / "tokenizer")
    return start


@pytest.mark.parametrize("with_key", [False, True])
def test_every_answer_is_as_described(with_key, model, tmp_path):
    (tmp_path / "key").write_text("s3cret\n")
    (tmp_path / "hooks.py").write_text(HOOKS)
    flags = ["--api-key-file", tmp_path / "key"] if with_key else []
    with serve(model, "--max-waiting", 8, *flags) as address:
        command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run",
                   address + "/openapi.json", "--checks", "all", "--phases", "coverage,fuzzing", "--seed", "1", "--max-examples", "15",
                   "--generation-database", "none", "--no-color", "--continue-on-failure"]  # fmt: skip
        if with_key:
            command += ["--header", "Authorization: Bearer s3cret"]
        environment = os.environ | {"SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(tmp_path)}
        result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    made = re.search(r"(\d+) generated", result.stdout)
    assert made and int(made.group(1)) > 500, result.stdout
