"""The tasks beside the paper's three, against lm_eval's own task files and hf model, on published data."""

import os
import pathlib
import statistics

import pytest

from eval_models import synthetic_world, trained_model

# Before lm_eval itself: it sets where `datasets` works.
from lm_eval_tasks import HUB_SETS, local_task_manager, read_lines, write_lines
from lm_eval_comparison import compare_results, compare_samples, run_both

from lm_eval.models.huggingface import HFLM

ITEMS = 200
# The file of each task, and the name of its split.
FILES = {
    "arc_easy": "test.jsonl",
    "arc_challenge": "test.jsonl",
    "piqa": "valid.jsonl",
    "winogrande": "valid.jsonl",
    "openbookqa": "test.jsonl",
    "boolq": "val.jsonl",
    "lambada_openai": "test.jsonl",
}
CHOICES = [task for task in FILES if task != "lambada_openai"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return synthetic_world(tmp_path_factory.mktemp("world") / "world")


@pytest.fixture(scope="module")
def data(world, tmp_path_factory):
    """The first items of each task as questions. Examples are the next ones, and some that are questions as well: lm_eval
    does not show a question its own answer."""
    real = os.environ.get("CROPE_TEST_DATA")
    if not real:
        pytest.skip("CROPE_TEST_DATA is not set: no real data here")
    folder = tmp_path_factory.mktemp("data")
    for task, name in FILES.items():
        rows = read_lines(pathlib.Path(real) / "eval" / task / name)[: ITEMS + 60]
        rows = [row | {"idx": i} for i, row in enumerate(rows)] if task == "boolq" else rows
        split = "test" if name == "test.jsonl" else "validation"
        questions = rows[:ITEMS]
        if task == "lambada_openai":  # and texts whose last words the model knows
            documents = [row["text"].split(" ") for row in read_lines(world / "train.jsonl")[:60]]
            questions = questions + [{"text": " ".join(words[:12])} for words in documents]
        else:
            write_lines(folder / task / "train.jsonl", rows[:10] + rows[ITEMS:])
        write_lines(folder / task / f"{split}.jsonl", questions)
    return folder


@pytest.fixture(scope="module")
def task_manager(data, tmp_path_factory):
    return local_task_manager(data, tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="module")
def model(data, world, tmp_path_factory):
    return trained_model(tmp_path_factory.mktemp("model"), world)


@pytest.fixture(scope="module")
def peer(model):
    return HFLM(pretrained=str(model[1]), dtype="float32", device="cpu", batch_size=16)


def test_every_task_is_here():
    assert FILES.keys() == HUB_SETS.keys()


@pytest.mark.parametrize("task", CHOICES)
def test_choices(task, model, peer, task_manager, data, tmp_path):
    ours, samples, theirs = run_both(task, 0, 0, model, peer, task_manager, data, tmp_path)
    compared = compare_samples(samples, theirs, other_documents=task == "boolq")
    assert compared == sum(len(line["arguments"]) for line in samples[task]) >= 2 * ITEMS
    compare_results(ours, theirs)
    assert 0 < ours["results"][task]["acc,none"] < 1


def compare_last_words(ours, samples, theirs):
    assert compare_samples(samples, theirs) == len(samples["lambada_openai"])
    compare_results(ours, theirs, inexact=("perplexity,none", "perplexity_stderr,none"))
    mine, other = ours["results"]["lambada_openai"], theirs["results"]["lambada_openai"]
    assert mine["perplexity,none"] == pytest.approx(other["perplexity,none"], rel=1e-5)
    return mine, other


def test_last_words(model, peer, task_manager, data, tmp_path):
    both = run_both("lambada_openai", 0, 0, model, peer, task_manager, data, tmp_path, bootstrap_iters=10)
    mine, other = compare_last_words(*both)
    assert mine["sample_len"] == ITEMS + 60 and 0 < mine["acc,none"] < 1
    # lm_eval draws samples for the error of a perplexity. Ours is that of the mean, times the perplexity.
    likelihoods = [line["perplexity"] for line in both[2]["samples"]["lambada_openai"]]
    error = statistics.stdev(likelihoods) / len(likelihoods) ** 0.5 * other["perplexity,none"]
    assert mine["perplexity_stderr,none"] == pytest.approx(error, rel=1e-5)


@pytest.mark.parametrize("task", list(FILES))
def test_few_shot_prompts(task, model, peer, task_manager, data, tmp_path):
    both = run_both(task, 20, 2, model, peer, task_manager, data, tmp_path, bootstrap_iters=10)
    if task == "lambada_openai":
        compare_last_words(*both)
    else:
        assert compare_samples(both[1], both[2], other_documents=task == "boolq") >= 40
        compare_results(both[0], both[2])
