"""lm_eval's own task files on local data: nothing is fetched."""

import atexit
import collections
import json
import os
import pathlib
import shutil
import tempfile

# Read when the packages are imported. What `datasets` converts is thrown away at the end.
cache = tempfile.mkdtemp(prefix="crope_datasets_")
atexit.register(shutil.rmtree, cache, ignore_errors=True)
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_DATASETS_CACHE=cache, TOKENIZERS_PARALLELISM="false")

import lm_eval  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402


def read_lines(path):
    with path.open(encoding="utf-8", newline="\n") as lines:  # splitlines() would also split at U+2028
        return [json.loads(line) for line in lines]


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_dataset(folder, splits_by_config):
    """A data set that `datasets` loads from a folder."""
    lines = ["---", "configs:"]
    for config, splits in splits_by_config.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for split, rows in splits.items():
            write_lines(folder / config / f"{split}.jsonl", rows)
            lines += [f"  - split: {split}", f"    path: {config}/{split}.jsonl"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))


def read_splits(files):
    return {split: read_lines(path) for split, path in files.items() if path.exists()}


def by_subject(splits):
    subjects = collections.defaultdict(dict)
    for split, rows in splits.items():
        for row in rows:
            subjects[row["subject"]].setdefault(split, []).append(row)
    return subjects


# Name and configuration on the hub of the tasks whose files are <task>/<split>.jsonl.
HUB_SETS = {
    "arc_easy": ("allenai/ai2_arc", "ARC-Easy"),
    "arc_challenge": ("allenai/ai2_arc", "ARC-Challenge"),
    "piqa": ("baber/piqa", "default"),
    "winogrande": ("allenai/winogrande", "winogrande_xl"),
    "openbookqa": ("allenai/openbookqa", "main"),
    "boolq": ("aps/super_glue", "boolq"),
    "lambada_openai": ("EleutherAI/lambada_openai", "default"),
}


def super_glue(row):
    """A row of BoolQ's own files as SuperGLUE has it."""
    return {key: row[key] for key in ("question", "passage", "idx")} | {"label": int(row["answer"])}


def hub_data(data):
    sets = collections.defaultdict(dict)
    for task, (name, config) in HUB_SETS.items():
        splits = read_splits({split: data / task / f"{split}.jsonl" for split in ("train", "validation", "test")})
        if task == "boolq":
            splits = {split: list(map(super_glue, rows)) for split, rows in splits.items()}
        if splits:
            sets[name][config] = splits
    return sets


def local_data(data):
    """Name on the hub to folder and configurations, of what `data` has."""
    hellaswag, mmlu, gsm8k = data / "hellaswag", data / "mmlu", data / "gsm8k"
    sets = {
        "Rowan/hellaswag": {
            "default": read_splits(
                {"validation": hellaswag / "hellaswag_val.jsonl", "train": hellaswag / "hellaswag_train.jsonl"}
            )
        },
        "cais/mmlu": by_subject(read_splits({"test": mmlu / "mmlu_test.jsonl", "dev": mmlu / "mmlu_dev.jsonl"})),
        "openai/gsm8k": {"main": read_splits({"train": gsm8k / "train.jsonl", "test": gsm8k / "test.jsonl"})},
        **hub_data(data),
        "texts": {"default": read_splits({"test": data / "perplexity" / "texts.jsonl"})},
    }
    return {name: configs for name, configs in sets.items() if any(configs.values())}


def local_task_manager(data, folder):
    """A task manager that knows the tasks of crope alone. Copies of lm_eval's task files stand in `folder`, with the path of the
    data set replaced by that of a local folder made from the files in `data`."""
    own_tasks = pathlib.Path(lm_eval.__file__).parent / "tasks"
    for source in ("hellaswag", "mmlu/default", "gsm8k", "arc", "piqa", "winogrande", "openbookqa", "super_glue/boolq", "lambada"):
        shutil.copytree(own_tasks / source, folder / "tasks" / source)
    (folder / "tasks" / "perplexity.yaml").write_text(
        "task: perplexity\n"
        "dataset_path: texts\n"
        "output_type: loglikelihood_rolling\ntest_split: test\ndoc_to_text: ''\ndoc_to_target: '{{text}}'\n"
        "metric_list:\n- metric: word_perplexity\n- metric: byte_perplexity\n- metric: bits_per_byte\n"
    )
    sets = local_data(data)
    for hub_name, configs in sets.items():
        local = folder / "data" / hub_name.split("/")[-1]
        write_dataset(local, configs)
        for path in (folder / "tasks").rglob("*yaml"):
            text = path.read_text()
            path.write_text(text.replace(f"dataset_path: {hub_name}\n", f"dataset_path: {local}\n"))
    # lm_eval would fail on subjects that the files do not have.
    for path in (folder / "tasks" / "mmlu" / "default").glob("mmlu_*.yaml"):
        if path.stem.removeprefix("mmlu_") not in sets.get("cais/mmlu", {}):
            path.unlink()
    return TaskManager(include_path=str(folder / "tasks"), include_defaults=False)
