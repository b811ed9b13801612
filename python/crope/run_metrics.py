"""metrics.jsonl of a run, as arrays and line by line while the run writes it."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Series(NamedTuple):
    """One quantity over a run."""

    step: Tensor  # [n] int64
    value: Tensor  # [n] float64


def metrics(run: str | Path) -> dict[str, Series]:
    """Every quantity of metrics.jsonl by name: loss, val_loss, lr, grad_norm, ... Damaged lines are skipped.

    `step, loss = metrics(run)["loss"]` gives tensors; `.numpy()` makes arrays of them.
    """
    path = metrics_file(run)
    columns: dict[str, tuple[list[int], list[float]]] = {}
    for line in path.read_bytes().splitlines():
        for name, value in scalars(parse_line(line)):
            steps, values = columns.setdefault(name, ([], []))
            steps.append(int(parse_line(line)["step"]))
            values.append(value)
    return {
        name: Series(torch.tensor(steps), torch.tensor(values, dtype=torch.float64))
        for name, (steps, values) in columns.items()
    }


def metrics_file(run: str | Path) -> Path:
    path = Path(run) / "metrics.jsonl"
    if not path.exists():
        raise FileNotFoundError(f"{run} has no metrics.jsonl: expected a run directory of 'crope train'")
    return path


def parse_line(line: bytes) -> dict[str, Any]:
    """The object of a line; empty if it is damaged."""
    try:
        values = json.loads(line)
    except ValueError:
        return {}
    return values if isinstance(values, dict) and isinstance(values.get("step"), int) else {}


def scalars(values: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Names and numbers of a line, without the step. A null stands for a number that is not finite."""
    for name, value in values.items():
        if name == "step":
            continue
        if value is None:
            yield name, math.nan
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, float(value)


class MetricsFollower:
    """Whole lines of a metrics.jsonl that is being written. Steps that a resumed run repeats are given once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self.inode = -1
        self.last_step: dict[str, int] = {}

    def read(self) -> list[tuple[int, dict[str, float]]]:
        """Steps and their new numbers since the last call."""
        try:
            with self.path.open("rb") as file:
                status = self.path.stat()
                if status.st_ino != self.inode or status.st_size < self.offset:  # replaced or cut by a resumed run
                    self.inode, self.offset = status.st_ino, 0
                file.seek(self.offset)
                text = file.read()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self.offset += len(whole)
        news = []
        for line in whole.splitlines():
            values = parse_line(line)
            step = values.get("step", 0)
            fresh = {name: value for name, value in scalars(values) if step > self.last_step.get(name, 0)}
            self.last_step.update({name: step for name in fresh})
            if fresh:
                news.append((step, fresh))
        return news
