"""What the parity tests share: the built program, the goldens, and the data that may or may not be there."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDENS = ROOT / "tests" / "data" / "goldens"
VARIANTS = ["rope", "crope_qk", "crope_qkv", "crope_all", "half_rope_qk", "half_rope_all"]
# Every model directory with goldens, as paths below GOLDENS: the six variants, and more/ with other settings.
GOLDEN_MODELS = sorted(str(path.parent.relative_to(GOLDENS)) for path in GOLDENS.rglob("golden.safetensors"))


def run_crope(*arguments, stdin=None):
    """Runs the program and returns what it prints. A failure shows its message."""
    program = os.environ.get("CROPE_BINARY", str(ROOT / "build" / "release" / "crope"))
    result = subprocess.run([program, *map(str, arguments)], input=stdin, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def score(model_dir, ids, *flags):
    """Log-probabilities of ids[1:], as crope score gives them."""
    text = run_crope("score", model_dir, "--json", "--ids", ",".join(map(str, ids)), *flags)
    return json.loads(text)["logprobs"][1:]


@pytest.fixture
def test_data():
    """The folder of real data, where it is."""
    path = os.environ.get("CROPE_TEST_DATA")
    if not path:
        pytest.skip("CROPE_TEST_DATA is not set: no real data here")
    return pathlib.Path(path)
