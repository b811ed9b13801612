"""`crope eval` against lm_eval's own hf model on the exported model, with lm_eval's own task files."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest

from conftest import ROOT, run_crope
from eval_models import random_model, synthetic_world, trained_model

# Before lm_eval itself: it sets where `datasets` works.
from lm_eval_tasks import local_task_manager, read_lines, write_lines
from lm_eval_comparison import compare_results, compare_samples, run_both

from lm_eval.models.huggingface import HFLM

LIMITS = {"hellaswag": 200, "mmlu": 4, "gsm8k": 20}  # of MMLU: for each of 57 subjects


def brackets(rows):
    """HellaSwag's tags, double spaces and capitals beyond ASCII, put back into texts that have lost them."""
    rng = random.Random(5)
    for row in rows:
        words = row["ctx_a"].split(" ")
        words.insert(rng.randrange(len(words)), rng.choice(["[header]", "[title]", "[substeps]", " ", "[x [y]"]))
        cut = rng.randrange(1, len(words))
        row["ctx_a"], row["ctx_b"] = " ".join(words[:cut]), rng.choice(["éa ", "ǆ ", "ßA ", ""]) + " ".join(words[cut:])
        row["endings"] = [ending + rng.choice(["", " [step]", "  ok", " Ünï"]) for ending in row["endings"]]
        yield row


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return synthetic_world(tmp_path_factory.mktemp("world") / "world")


@pytest.fixture(scope="module")
def data(world, tmp_path_factory):
    """Benchmark files: the real ones where there are some, else those of the synthetic world."""
    real = os.environ.get("CROPE_TEST_DATA")
    source = pathlib.Path(real) / "eval" if real else world / "eval"
    folder = tmp_path_factory.mktemp("data")
    rows = list(brackets(read_lines(source / "hellaswag" / "hellaswag_val.jsonl")[:400]))
    write_lines(folder / "hellaswag" / "hellaswag_val.jsonl", rows[:300])
    write_lines(folder / "hellaswag" / "hellaswag_train.jsonl", rows[300:])
    for name in ("mmlu/mmlu_test.jsonl", "mmlu/mmlu_dev.jsonl", "gsm8k/test.jsonl", "gsm8k/train.jsonl"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(source / name, folder / name)
    texts = [row["text"] for row in read_lines(world / "train.jsonl")[:12]]
    write_lines(folder / "perplexity" / "texts.jsonl", [{"text": text} for text in ["\n".join(texts), *texts[:3]]])
    return folder


@pytest.fixture(scope="module")
def task_manager(data, tmp_path_factory):
    return local_task_manager(data, tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="module", params=["random crope_all", "trained"])
def model(request, world, tmp_path_factory):
    """A model directory of ours and its export."""
    folder = tmp_path_factory.mktemp("model")
    if "random" in request.param:
        return random_model(folder, world, request.param.split()[-1])
    return trained_model(folder, world)


@pytest.fixture(scope="module")
def peer(model):
    return HFLM(pretrained=str(model[1]), dtype="float32", device="cpu", batch_size=16)


@pytest.mark.parametrize("task", ["hellaswag", "mmlu"])
def test_choices(task, model, peer, task_manager, data, tmp_path):
    ours, samples, theirs = run_both(task, LIMITS[task], 0, model, peer, task_manager, data, tmp_path)
    compared = compare_samples(samples, theirs)
    assert compared == 4 * sum(len(lines) for lines in samples.values())
    if "CROPE_TEST_DATA" in os.environ:
        assert compared >= 800
    compare_results(ours, theirs)


def test_generated_texts(model, peer, task_manager, data, tmp_path):
    ours, samples, theirs = run_both("gsm8k", LIMITS["gsm8k"], 0, model, peer, task_manager, data, tmp_path)
    assert len(samples["gsm8k"]) == 2 * LIMITS["gsm8k"]
    for line, other in zip(samples["gsm8k"], theirs["samples"]["gsm8k"]):
        for key in ("doc_id", "doc", "target", "filter", "doc_hash", "prompt_hash", "target_hash", "resps", "filtered_resps", "exact_match"):
            assert line[key] == other[key], key
    compare_results(ours, theirs)


@pytest.mark.parametrize("task, limit, shots", [("hellaswag", 12, 3), ("mmlu_stem", 2, 5), ("gsm8k", 4, 5)])
def test_few_shot_prompts(task, limit, shots, model, peer, task_manager, data, tmp_path):
    ours, samples, theirs = run_both(task, limit, shots, model, peer, task_manager, data, tmp_path)
    if task == "gsm8k":
        for line, other in zip(samples[task], theirs["samples"][task]):
            assert line["arguments"]["gen_args_0"]["arg_0"] == other["arguments"][0][0]
            assert line["resps"] == other["resps"]
    else:
        assert compare_samples(samples, theirs) > 0
    compare_results(ours, theirs)


def test_perplexity(model, peer, task_manager, data, tmp_path):
    ours, samples, theirs = run_both("perplexity", 0, 0, model, peer, task_manager, data, tmp_path)
    for line, other in zip(samples["perplexity"], theirs["samples"]["perplexity"], strict=True):
        for metric in ("word_perplexity", "byte_perplexity", "bits_per_byte"):
            assert line[metric][1] == other[metric][1]
            assert abs(line[metric][0] - other[metric][0]) < 1e-5 * abs(other[metric][0])
    for key, value in theirs["results"]["perplexity"].items():
        if "," in key and isinstance(value, float):
            assert ours["results"]["perplexity"][key] == pytest.approx(value, rel=1e-5)


def test_a_killed_evaluation_continues(model, data, tmp_path):
    program = os.environ.get("CROPE_BINARY", str(ROOT / "build" / "release" / "crope"))
    flags = ["--tasks", "hellaswag,gsm8k", "--data", data, "--limit", 60, "--log-samples", "--batch-tokens", 512]
    run_crope("eval", model[0], *flags, "--out", tmp_path / "whole")
    journal = tmp_path / "killed" / "eval_journal.jsonl"
    command = [program, "eval", model[0], *flags, "--out", tmp_path / "killed"]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 70):
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL, "it was over before it could be killed"
    before = journal.read_bytes()
    run_crope("eval", model[0], *flags, "--out", tmp_path / "killed")
    assert not journal.exists() and before.count(b"\n") >= 70
    gsm8k, hellaswag = "samples_gsm8k.jsonl", "samples_hellaswag.jsonl"
    assert (tmp_path / "killed" / gsm8k).read_text() == (tmp_path / "whole" / gsm8k).read_text()
    # What was computed in other batches is the same up to rounding.
    for ours, other in zip(read_lines(tmp_path / "killed" / hellaswag), read_lines(tmp_path / "whole" / hellaswag), strict=True):
        assert ours["acc_norm"] == other["acc_norm"]
        for (likelihood, greedy), (expected, expected_greedy) in zip(ours["filtered_resps"], other["filtered_resps"]):
            assert abs(float(likelihood) - float(expected)) < 1e-3 and greedy == expected_greedy
