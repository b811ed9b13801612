"""Commands of the documentation for other programs, run as they stand but for the address, the task and the number of items."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

from conftest import ROOT, run_crope
from serving import serve

TASK = """\
task: from_the_docs
dataset_path: json
dataset_kwargs:
  data_files:
    validation: {rows}
output_type: multiple_choice
validation_split: validation
doc_to_text: question
doc_to_target: answer
doc_to_choice: choices
metric_list:
  - metric: acc
"""


def small_run(folder):
    run_crope("data", "synth", "--documents", 300, "--out", folder / "world")
    text = folder / "world" / "train.jsonl"
    run_crope("tokenizer", "train", text, "--vocab-size", 400, "--out", folder / "tokenizer")
    run_crope("data", "prepare", text, "--tokenizer", folder / "tokenizer", "--out", folder / "data")
    shape = ["--num-layers", 1, "--d-model", 32, "--num-heads", 2, "--d-ff", 32]
    run_crope("train", "--data", folder / "data", "--out", folder / "run", *shape, "--seq-len", 64, "--batch-size", 2,
              "--steps", 2, "--warmup-steps", 1, "--validate-every", 0)  # fmt: skip
    return folder / "run"


def test_the_lm_eval_command_of_serving(tmp_path):
    page = (ROOT / "docs" / "serving.md").read_text()
    command = re.search(r"^    lm_eval (?:.*\\\n)*.*$", page, re.MULTILINE).group()
    words = shlex.split(command.replace("\\\n", " "))
    assert words[0] == "lm_eval" and "hellaswag" in words
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"question": f"{n} is", "choices": ["a", "b"], "answer": 0}) + "\n" for n in range(4)))
    (tmp_path / "task.yaml").write_text(TASK.format(rows=rows))
    with serve(small_run(tmp_path)) as address:
        words = ["from_the_docs" if word == "hellaswag" else word.replace("http://127.0.0.1:8080", address) for word in words]
        program = pathlib.Path(sys.executable).with_name("lm_eval")
        result = subprocess.run([program, *words[1:], "--include_path", tmp_path], capture_output=True, text=True,
                                env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")})  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert re.search(r"from_the_docs.*acc", result.stdout), result.stdout + result.stderr
