"""python -m crope.watch RUN --to tensorboard|wandb|trackio: sends the metrics of a run to the tool people look at.

A running job is followed until it has finished; a finished one is sent at once.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .run_metrics import MetricsFollower

Send = Callable[[int, dict[str, float]], None]
Tool = tuple[Send, Callable[[], None]]  # send numbers of a step, close


def open_tensorboard(run: Path, options: argparse.Namespace, record: dict[str, Any]) -> Tool:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(options.dir or run / "tensorboard"))
    writer.add_text("run.json", f"```json\n{json.dumps(record, indent=2)}\n```")

    def send(step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, step)

    return send, writer.close


def open_wandb(run: Path, options: argparse.Namespace, record: dict[str, Any]) -> Tool:
    import wandb

    tracker = wandb.init(
        project=options.project,
        name=options.name or run.name,
        dir=str(options.dir) if options.dir else None,
        config=record,
        mode="offline" if options.offline else None,
    )
    return lambda step, values: tracker.log(values, step=step), tracker.finish


def open_trackio(run: Path, options: argparse.Namespace, record: dict[str, Any]) -> Tool:
    import trackio

    # trackio writes to a database on this machine and uploads only when a Space is named.
    tracker = trackio.init(project=options.project, name=options.name or run.name, config=record, embed=False)
    return lambda step, values: tracker.log(values, step=step), trackio.finish


TOOLS: dict[str, Callable[[Path, argparse.Namespace, dict[str, Any]], Tool]] = {
    "tensorboard": open_tensorboard,
    "wandb": open_wandb,
    "trackio": open_trackio,
}


def read_record(run: Path) -> dict[str, Any]:
    """run.json; empty where there is none."""
    try:
        record = json.loads((run / "run.json").read_text())
    except FileNotFoundError:
        return {}
    return record if isinstance(record, dict) else {}


def has_finished(run: Path) -> bool:
    """Whether the newest checkpoint is that of the last planned step."""
    steps = read_record(run).get("train", {}).get("steps")
    name = (run / "latest").resolve().name
    return steps is not None and name.startswith("step_") and int(name.removeprefix("step_")) >= steps


def watch(run: Path, send: Send, follow: bool, interval: float) -> int:
    """Sends all lines and, if asked to follow, those that come until the run has finished. Returns how many."""
    follower, sent = MetricsFollower(run / "metrics.jsonl"), 0
    while True:
        finished = has_finished(run)  # before reading: the last line comes before the last checkpoint
        for step, values in follower.read():
            send(step, {name: value for name, value in values.items() if not math.isnan(value)})
            sent += 1
        if finished or not follow:
            return sent
        time.sleep(interval)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m crope.watch", description=__doc__)
    parser.add_argument("run", type=Path, help="run directory of 'crope train'")
    parser.add_argument("--to", choices=TOOLS, required=True, help="where the metrics go")
    parser.add_argument("--once", action="store_true", help="send the metrics so far and exit")
    parser.add_argument("--interval", type=float, default=2.0, help="seconds between reads of the file")
    parser.add_argument("--dir", type=Path, help="folder for the tool's files (tensorboard: RUN/tensorboard)")
    parser.add_argument("--project", default="crope", help="project of wandb or trackio")
    parser.add_argument("--name", help="name of the run there (the folder's name)")
    parser.add_argument("--offline", action="store_true", help="wandb: write files and send nothing")
    options = parser.parse_args(arguments)
    if not options.run.is_dir():
        parser.error(f"{options.run} is not a folder: give the run directory of 'crope train'")
    try:
        send, close = TOOLS[options.to](options.run, options, read_record(options.run))
    except ImportError as error:
        print(f"crope.watch: {options.to} is not installed ({error}); pip install {options.to}", file=sys.stderr)
        return 1
    try:
        sent = watch(options.run, send, not options.once, options.interval)
    except KeyboardInterrupt:
        return 130
    finally:
        close()
    print(f"sent {sent} lines of {options.run / 'metrics.jsonl'} to {options.to}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
