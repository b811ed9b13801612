"""The package as a whole: the wheel, the public names, types, style, the README's lines and the examples."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import GOLDENS, PACKAGE, ROOT, run_crope, run_python

import crope

NAMES = {
    "VARIANTS",
    "BlockLinear",
    "CRopeAttention",
    "CRopeConfig",
    "CRopeForCausalLM",
    "ModelConfig",
    "Muon",
    "Transformer",
    "load",
    "load_tokenizer",
    "metrics",
    "newton_schulz",
    "newton_schulz_pairs",
    "param_groups",
    "replace_attention",
    "rotary",
}


def test_public_names() -> None:
    assert set(crope.__all__) == NAMES
    for name in NAMES:
        assert getattr(crope, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Crope'"):
        crope.Crope  # noqa: B018


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    run_python("-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=source)
    (file,) = folder.glob("*.whl")
    return file


def test_the_wheel_is_pure_and_typed(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    files = zipfile.ZipFile(wheel).namelist()
    assert "crope/py.typed" in files and "crope/modeling_crope.py" in files
    assert not [name for name in files if name.startswith(("tests", "examples"))]
    (metadata,) = (name for name in files if name.endswith("METADATA"))
    needed = re.findall(r"^Requires-Dist: (.*)$", zipfile.ZipFile(wheel).read(metadata).decode(), re.MULTILINE)
    assert [line for line in needed if "extra ==" not in line] == ["torch>=2.4"]


def test_versions_agree(wheel: Path) -> None:
    assert f"-{crope.__version__}-" in wheel.name
    assert f"crope {crope.__version__}" in run_crope("--version")


ALONE = """
import importlib.abc, sys
class OnlyTorch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("transformers", "tokenizers", "safetensors", "lm_eval", "huggingface_hub"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, OnlyTorch())
sys.path.insert(0, sys.argv[1])
exec(open(sys.argv[2]).read())
assert crope.__file__.startswith(sys.argv[1])
"""


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_the_readmes_lines(page: str, wheel: Path, tmp_path: Path) -> None:
    """As printed, on the installed wheel, without anything but torch."""
    text = (ROOT / page).read_text()
    section = text.split("## From Python")[-1] if page == "README.md" else text
    (lines, *_) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (tmp_path / "lines.py").write_text(lines)
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    shutil.copytree(GOLDENS / "crope_all", tmp_path / "out" / "quickstart" / "crope_all")
    out = run_python("-c", ALONE, tmp_path / "site", tmp_path / "lines.py", cwd=tmp_path, PYTHONPATH="").stdout
    assert re.search(r"tensor\(\[\[\s*1,\s*2,\s*3,", out), out


def test_the_examples(run: Path, world: Path, tmp_path: Path) -> None:
    def example(name: str, *arguments: object) -> str:
        return run_python(PACKAGE / "examples" / name, *arguments, cwd=tmp_path).stdout

    losses = [float(value) for value in re.findall(r"loss ([0-9.]+)", example("block_linear.py"))]
    assert losses[-1] < losses[0]
    example("train_small.py", world / "world" / "train.jsonl", tmp_path / "trained", 10)
    run_crope("score", tmp_path / "trained", "--ids", "84,104,101")
    prompt = "The keeper"
    assert example("load_and_generate.py", run, prompt).startswith(prompt)
    assert "beams: [1, 2, 3, 4, " in example("use_transformers.py", run, tmp_path / "tuned")
    run_crope("score", tmp_path / "tuned", "--ids", "1,2,3")
    assert "layer 1: Q 0." in example("replace_attention.py")
    assert "20 updates" in example("plot_metrics.py", run)


def test_style_and_types() -> None:
    for command in (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]):
        result = subprocess.run([sys.executable, "-m", *command], cwd=PACKAGE, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
