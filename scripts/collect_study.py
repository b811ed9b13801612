#!/usr/bin/env python3
"""Copies the finished runs of a study without their checkpoints: what `crope claims` and `crope report` read.

  scripts/collect_study.py STUDY DESTINATION

Copies run.json, metrics.jsonl, results.json and items.jsonl of every folder <variant>_<seed>/ whose metrics reach the
last step of its run.json. Files that are there already and equal are left alone. Absolute paths in run.json become
relative to the run, and the program loses its folder: what is shared does not name folders of one machine.
"""
import json
import os
import pathlib
import re
import sys

FILES = ("run.json", "metrics.jsonl", "results.json", "items.jsonl")
NAME = re.compile(r"(rope|crope_qk|crope_qkv|crope_all|half_rope_qk|half_rope_all)_\d+")


def is_finished(run: pathlib.Path) -> bool:
    if not all((run / name).exists() for name in ("run.json", "metrics.jsonl")):
        return False
    steps = json.loads((run / "run.json").read_text())["train"]["steps"]
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    return last["step"] == steps and "val_loss" in last


def content(run: pathlib.Path, name: str) -> str:
    text = (run / name).read_text()
    if name != "run.json":
        return text
    record = json.loads(text)
    for data in [record["data"], *record.get("validate_also", {}).values()]:
        if os.path.isabs(data["path"]):
            data["path"] = os.path.relpath(data["path"], run)
    program, _, arguments = record["command"].partition(" ")
    record["command"] = f"{os.path.basename(program) if os.path.isabs(program) else program} {arguments}"
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    study, destination = map(pathlib.Path, sys.argv[1:])
    copied = 0
    for run in sorted(study.iterdir()):
        if not NAME.fullmatch(run.name) or not is_finished(run):
            continue
        target = destination / run.name
        target.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            if not (run / name).exists():
                continue
            text = content(run, name)
            if (target / name).exists() and (target / name).read_text() == text:
                continue
            (target / name).write_text(text)
            copied += 1
    print(f"{destination}: {len(list(destination.glob('*_*/run.json')))} runs, {copied} files copied")
    return 0


if __name__ == "__main__":
    sys.exit(main())
