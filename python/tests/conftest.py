"""What the tests share: the goldens, the built program, and small runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch
from torch import Tensor

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent
GOLDENS = ROOT / "tests" / "data" / "goldens"
VARIANTS = ["rope", "crope_qk", "crope_qkv", "crope_all", "half_rope_qk", "half_rope_all"]
PROGRAM = os.environ.get("CROPE_BINARY", str(ROOT / "build" / "release" / "crope"))

# Child processes import the package from the tree as well.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))
os.environ["CROPE_BINARY"] = PROGRAM
sys.path.insert(0, str(PACKAGE))
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))


def run_crope(*arguments: object) -> str:
    """What the program prints. A failure shows its message."""
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def run_python(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python process of its own. A failure shows its messages."""
    command = [sys.executable, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**os.environ, **environment})
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def relative_error(x: Tensor, y: Tensor) -> float:
    """|x - y| / |y|, NaN included."""
    return float((x.detach().double() - y.detach().double()).norm() / y.detach().double().norm())


@pytest.fixture
def data_folder() -> Path:
    """The folder of real data, where there is one."""
    path = os.environ.get("CROPE_TEST_DATA")
    if not path:
        pytest.skip("CROPE_TEST_DATA is not set: no real data here")
    return Path(path)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded corpus, a tokenizer of it, and prepared data."""
    folder = tmp_path_factory.mktemp("world")
    run_crope("data", "synth", "--documents", 1000, "--seed", 1, "--out", folder / "world")
    source = folder / "world" / "train.jsonl"
    run_crope("tokenizer", "train", source, "--vocab-size", 1000, "--out", folder / "tokenizer")
    run_crope("data", "prepare", source, "--tokenizer", folder / "tokenizer", "--out", folder / "data")
    return folder


@pytest.fixture(scope="session")
def run(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of crope_all with a tokenizer, metrics and two checkpoints."""
    out = tmp_path_factory.mktemp("runs") / "small"
    shape = ["--num-layers", 2, "--d-model", 64, "--num-heads", 4, "--d-ff", 96, "--vocab-size", 1024]
    steps = ["--steps", 20, "--batch-size", 8, "--seq-len", 64, "--checkpoint-every", 10, "--validate-every", 10]
    run_crope(
        "train", "--data", world / "data", "--out", out, "--variant", "crope_all", "--warmup-steps", 3, *shape, *steps
    )
    return out


def score(model: Path, ids: list[int]) -> list[float]:
    """Log-probabilities of ids[1:] by `crope score`."""
    text = run_crope("score", model, "--json", "--ids", ",".join(map(str, ids)))
    values: list[float] = json.loads(text)["logprobs"][1:]
    return values
