"""metrics, and crope.watch into each tool."""

import json
import math
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from conftest import run_python

import crope
from crope.run_metrics import MetricsFollower


def test_arrays_of_a_run(run: Path) -> None:
    metrics = crope.metrics(run)
    assert torch.equal(metrics["loss"].step, torch.arange(1, 21))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    assert metrics["loss"].value.tolist() == losses
    assert metrics["val_loss"].step.tolist() == sorted({line["step"] for line in lines if "val_loss" in line})
    assert {"lr", "grad_norm", "tokens", "tokens_per_second", "elapsed_s"} <= metrics.keys()
    with pytest.raises(FileNotFoundError, match=r"no metrics\.jsonl"):
        crope.metrics(run / "checkpoints")


def test_damaged_lines_and_numbers_that_are_not_finite(tmp_path: Path) -> None:
    lines = ['{"step": 1, "loss": 2.5}', '{"step": 2, "lo', "[]", '{"loss": 3}', '{"step": 3, "loss": null}']
    (tmp_path / "metrics.jsonl").write_text("\n".join([*lines, '{"step": 4, "loss": NaN}']))
    step, loss = crope.metrics(tmp_path)["loss"]
    assert step.tolist() == [1, 3, 4]
    assert loss[0] == 2.5 and math.isnan(loss[1]) and math.isnan(loss[2])


def test_a_file_that_grows_is_cut_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    follower = MetricsFollower(path)
    assert follower.read() == []

    def lines(steps: range) -> str:
        return "".join(f'{{"step": {step}, "loss": {step}.5}}\n' for step in steps)

    path.write_text(lines(range(1, 4)) + '{"step": 4, "l')
    assert [step for step, _ in follower.read()] == [1, 2, 3]
    with path.open("a") as file:
        file.write('oss": 4.5}\n{"step": 4, "val_loss": 9}\n')
    assert follower.read() == [(4, {"loss": 4.5}), (4, {"val_loss": 9.0})]
    assert follower.read() == []
    path.write_text(lines(range(1, 3)))  # a resumed run drops the lines past its checkpoint
    assert follower.read() == []
    other = tmp_path / "other"
    other.write_text(lines(range(1, 7)))
    other.replace(path)
    assert [step for step, _ in follower.read()] == [5, 6]


def watch(run: Path, *flags: object, **environment: str) -> str:
    return run_python("-m", "crope.watch", run, *flags, **environment).stderr


def test_tensorboard(run: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert "to tensorboard" in watch(run, "--to", "tensorboard", "--dir", tmp_path)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert [event.step for event in events.Scalars("loss")] == list(range(1, 21))
    values = [event.value for event in events.Scalars("val_loss")]
    assert values == pytest.approx(crope.metrics(run)["val_loss"].value.tolist())


def wandb_records(data: bytes) -> Iterator[bytes]:
    """Records of a .wandb file: a header of 7 bytes, then LevelDB's log in blocks of 32 KiB."""
    offset, parts = 7, []
    while offset + 7 <= len(data):
        if 32768 - offset % 32768 < 7:  # no room for a record's header: padding
            offset += 32768 - offset % 32768
            continue
        _, length, kind = struct.unpack_from("<IHB", data, offset)
        parts.append(data[offset + 7 : offset + 7 + length])
        offset += 7 + length
        if kind in (1, 4):  # a whole record, or the last part of one
            yield b"".join(parts)
            parts = []


def test_wandb_offline(run: Path, tmp_path: Path) -> None:
    watch(run, "--to", "wandb", "--offline", "--dir", tmp_path, WANDB_SILENT="true", HOME=str(tmp_path))
    (file,) = tmp_path.rglob("*.wandb")
    assert file.stat().st_size > 1000
    from wandb.proto import wandb_internal_pb2

    steps = []
    for data in wandb_records(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        keys = {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
        if "loss" in keys:
            steps.append(keys["_step"])
    assert steps == list(range(1, 21))


def test_trackio(run: Path, tmp_path: Path) -> None:
    watch(run, "--to", "trackio", "--project", "crope_test", "--name", "small", TRACKIO_DIR=str(tmp_path))
    (database,) = tmp_path.rglob("crope_test*.db")
    rows = sqlite3.connect(database).execute("select step, metrics from metrics order by step").fetchall()
    losses = {step: json.loads(text)["loss"] for step, text in rows if "loss" in json.loads(text)}
    assert list(losses) == list(range(1, 21))
    assert list(losses.values()) == pytest.approx(crope.metrics(run)["loss"].value.tolist())


def test_a_running_job_is_followed_to_its_end(run: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    job = tmp_path / "job"
    job.mkdir()
    shutil.copy(run / "run.json", job)
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (job / "metrics.jsonl").write_text("".join(lines[:5]))
    command = [sys.executable, "-m", "crope.watch", str(job), "--to", "tensorboard", "--interval", "0.05"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not list(job.glob("tensorboard/*")):  # it has begun
            assert process.poll() is None
            time.sleep(0.05)
        with (job / "metrics.jsonl").open("a") as file:
            for line in lines[5:]:
                file.write(line)
                file.flush()
        assert process.poll() is None
        (job / "checkpoints" / "step_00000020").mkdir(parents=True)
        os.symlink("checkpoints/step_00000020", job / "latest")
        _, messages = process.communicate()
    assert process.returncode == 0 and f"sent {len(lines)} lines" in messages
    events = EventAccumulator(str(job / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("loss")] == list(range(1, 21))


def test_a_tool_that_is_missing(run: Path, tmp_path: Path) -> None:
    (tmp_path / "trackio.py").write_text("raise ImportError('no trackio here')")
    path = os.pathsep.join((str(tmp_path), os.environ["PYTHONPATH"]))
    command = [sys.executable, "-m", "crope.watch", str(run), "--to", "trackio"]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert result.returncode == 1 and "pip install trackio" in result.stderr
