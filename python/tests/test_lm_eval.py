"""lm_eval's hf model on native exports, and the model `crope`, against `crope eval`."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, run_crope, run_python

sys.path.insert(0, str(ROOT / "tests" / "parity"))
# isort: off
from lm_eval_tasks import local_task_manager, read_lines, write_lines  # first: it says where `datasets` keeps its files
import lm_eval
from lm_eval.models.huggingface import HFLM

# isort: on
from crope.lm_eval import CRopeLM

ITEMS = 200


@pytest.fixture(scope="module")
def benchmarks(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Benchmark files: the real ones where there are some, else those of the synthetic world."""
    real = os.environ.get("CROPE_TEST_DATA")
    source = Path(real) / "eval" if real else world / "world" / "eval"
    folder = tmp_path_factory.mktemp("benchmarks")
    rows = read_lines(source / "hellaswag" / "hellaswag_val.jsonl")
    write_lines(folder / "hellaswag" / "hellaswag_val.jsonl", rows[:ITEMS])
    write_lines(folder / "hellaswag" / "hellaswag_train.jsonl", rows[ITEMS : ITEMS + 20])
    for name in ("gsm8k/test.jsonl", "gsm8k/train.jsonl"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(source / name, folder / name)
    texts = [row["text"] for row in read_lines(world / "world" / "train.jsonl")[:40]]
    write_lines(folder / "perplexity" / "texts.jsonl", [{"text": text} for text in ["\n".join(texts), *texts[:3]]])
    return folder


@pytest.fixture(scope="module")
def tasks(benchmarks: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return local_task_manager(benchmarks, tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="module")
def models(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("native") / "out"
    run_crope("export", run, out, "--format", "hf-native")
    hf = HFLM(pretrained=str(out), trust_remote_code=True, dtype="float32", device="cpu", batch_size=16)
    ours = CRopeLM(path=str(run))
    yield {"hf": hf, "crope": ours}
    ours.server.close()


def program(run: Path, task: str, limit: int, benchmarks: Path, out: Path) -> tuple[dict[str, Any], list[Any]]:
    text = run_crope("eval", run, "--tasks", task, "--data", benchmarks, "--num-fewshot", 0, "--limit", limit,
                     "--log-samples", "--json", "--out", out)  # fmt: skip
    return json.loads(text)["results"][task], read_lines(out / f"samples_{task}.jsonl")


def metrics(results: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in results.items() if "," in key}


def evaluate(model: Any, task: str, limit: int, tasks: Any) -> dict[str, Any]:
    result: dict[str, Any] = lm_eval.simple_evaluate(
        model=model, tasks=[task], num_fewshot=0, limit=limit, task_manager=tasks, log_samples=True
    )
    return result


@pytest.mark.parametrize("name", ["hf", "crope"])
def test_hellaswag(name: str, models: Any, run: Path, tasks: Any, benchmarks: Path, tmp_path: Path) -> None:
    expected, samples = program(run, "hellaswag", ITEMS, benchmarks, tmp_path)
    result = evaluate(models[name], "hellaswag", ITEMS, tasks)
    assert metrics(result["results"]["hellaswag"]) == metrics(expected)
    assert len(samples) == len(result["samples"]["hellaswag"]) == ITEMS
    for ours, other in zip(samples, result["samples"]["hellaswag"]):
        for (likelihood, greedy), (other_likelihood, other_greedy) in zip(
            ours["filtered_resps"], other["filtered_resps"]
        ):
            assert abs(float(likelihood) - other_likelihood) < 2e-3
            assert greedy == str(other_greedy)


@pytest.mark.parametrize("name", ["hf", "crope"])
def test_generated_answers(name: str, models: Any, run: Path, tasks: Any, benchmarks: Path, tmp_path: Path) -> None:
    expected, samples = program(run, "gsm8k", 6, benchmarks, tmp_path)
    result = evaluate(models[name], "gsm8k", 6, tasks)
    assert metrics(result["results"]["gsm8k"]) == metrics(expected)
    for ours, other in zip(samples, result["samples"]["gsm8k"], strict=True):
        assert ours["resps"] == other["resps"]


@pytest.mark.parametrize("name", ["hf", "crope"])
def test_perplexity(name: str, models: Any, run: Path, tasks: Any, benchmarks: Path, tmp_path: Path) -> None:
    expected, _ = program(run, "perplexity", 0, benchmarks, tmp_path)
    result = evaluate(models[name], "perplexity", 4, tasks)
    for key, value in metrics(result["results"]["perplexity"]).items():
        if isinstance(value, float):
            assert expected[key] == pytest.approx(value, rel=1e-5)


def test_the_command_line(run: Path, tasks: Any, benchmarks: Path, tmp_path: Path) -> None:
    expected, _ = program(run, "hellaswag", 20, benchmarks, tmp_path / "ours")
    tree = tmp_path / "tasks"
    local_task_manager(benchmarks, tree)
    yaml = tree / "tasks" / "hellaswag" / "hellaswag.yaml"
    yaml.write_text(yaml.read_text().replace("task: hellaswag\n", "task: hellaswag_local\n"))
    flags = ["--tasks", "hellaswag_local", "--include_path", tree / "tasks" / "hellaswag", "--limit", 20]
    model = ["--model", "crope", "--model_args", f"path={run}"]
    run_python("-m", "crope.lm_eval", *model, *flags, "--output_path", tmp_path / "out")
    (file,) = (tmp_path / "out").rglob("results_*.json")
    assert metrics(json.loads(file.read_text())["results"]["hellaswag_local"]) == metrics(expected)
