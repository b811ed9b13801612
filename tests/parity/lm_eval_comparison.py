"""`crope eval` and lm_eval on the same items, and what must agree."""

import json

from conftest import run_crope

# Before lm_eval itself: it sets where `datasets` works.
from lm_eval_tasks import read_lines

import lm_eval

LIKELIHOOD_TOLERANCE = 2e-3


def run_both(task, limit, shots, model, peer, task_manager, data, out, bootstrap_iters=100000):
    """Results and samples of both, by task."""
    text = run_crope("eval", model[0], "--tasks", task, "--data", data, "--out", out, "--num-fewshot", shots,
                     "--limit", limit, "--log-samples", "--json")  # fmt: skip
    ours = json.loads(text)
    theirs = lm_eval.simple_evaluate(model=peer, tasks=[task], num_fewshot=shots, limit=limit or None, task_manager=task_manager,
                                     log_samples=True, bootstrap_iters=bootstrap_iters)  # fmt: skip
    samples = {path.stem.removeprefix("samples_"): read_lines(path) for path in out.glob("samples_*.jsonl")}
    return ours, samples, theirs


def compare_results(ours, theirs, inexact=()):
    """The same metrics to the last digit, but for those named `inexact`, which the caller compares."""
    assert ours["results"].keys() == theirs["results"].keys()
    for task, expected in theirs["results"].items():
        metrics = {key: value for key, value in expected.items() if "," in key and key not in inexact}
        assert metrics == {key: ours["results"][task][key] for key in metrics}, task
        assert ours["results"][task]["sample_len"] == expected["sample_len"]
    for key in ("n-shot", "n-samples", "higher_is_better", "versions"):
        # lm_eval leaves some entries of groups of groups out.
        assert theirs[key] == {name: ours[key][name] for name in theirs[key]}, key
    assert ours["groups"].keys() == theirs["groups"].keys() if "groups" in theirs else "groups" not in ours


def compare_samples(samples, theirs, other_documents=False):
    """The same documents (unless they have another form), prompts and digests; returns how many log-likelihoods agreed."""
    keys = ["doc_id", "filter", "metrics", "prompt_hash", "target_hash"] + ([] if other_documents else ["doc", "doc_hash"])
    compared = 0
    assert samples.keys() == theirs["samples"].keys()
    for task, expected in theirs["samples"].items():
        assert len(samples[task]) == len(expected)
        for ours, other in zip(samples[task], expected):
            for key in keys:
                assert ours[key] == other[key], (task, key)
            arguments = [list(request.values()) for request in ours["arguments"].values()]
            assert arguments == [list(request) for request in other["arguments"]]
            for (likelihood, greedy), (expected_likelihood, expected_greedy) in zip(
                ours["filtered_resps"], other["filtered_resps"]
            ):
                assert abs(float(likelihood) - expected_likelihood) < LIKELIHOOD_TOLERANCE, (task, ours["doc_id"])
                assert greedy == str(expected_greedy)
                compared += 1
    return compared
