"""Quantised model directories, read as the program reads them."""

import json
from pathlib import Path

import pytest
import torch
from conftest import GOLDENS, VARIANTS, run_crope, score

import crope
from crope.blocks import widen_blocks
from crope.files import read_tensors, write_tensors


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("weights", ["bf16", "int8", "int4"])
def test_the_widened_model_is_the_programs(variant: str, weights: str, tmp_path: Path) -> None:
    run_crope("quantize", GOLDENS / variant, tmp_path / "q", "--weights", weights)
    run_crope("export", tmp_path / "q", tmp_path / "wide", "--format", "hf-native")
    model, expected = crope.load(tmp_path / "q"), read_tensors(tmp_path / "wide" / "model.safetensors")
    for name, value in model.state_dict().items():
        assert torch.equal(value.float(), expected[name]), name


def test_blocks_with_minima() -> None:
    head = torch.tensor([[[0.5, -2.0]], [[1.0, 3.0]]], dtype=torch.float16).view(torch.uint8)
    integers = torch.arange(16, dtype=torch.uint8) | (15 - torch.arange(16, dtype=torch.uint8)) << 4
    blocks = torch.cat([head, integers.expand(2, 1, 16)], -1)
    low, high = torch.arange(16.0), 15 - torch.arange(16.0)
    expected = torch.stack([torch.cat([low, high]) * 0.5 - 2, torch.cat([low, high]) + 3])
    assert torch.equal(widen_blocks(blocks, 32), expected)
    assert torch.equal(widen_blocks(blocks, 20), expected[:, :20])


def test_unknown_blocks_are_named(tmp_path: Path) -> None:
    run_crope("quantize", GOLDENS / "rope", tmp_path / "q", "--weights", "int8")
    tensors = {name: value.clone() for name, value in read_tensors(tmp_path / "q" / "model.safetensors").items()}
    name = "blocks.0.feed_forward.up.weight"
    tensors[name] = tensors[name][..., :33].contiguous()
    write_tensors(tmp_path / "q" / "model.safetensors", tensors)
    with pytest.raises(ValueError, match=name):
        crope.load(tmp_path / "q")


def test_the_recorded_type_is_no_setting_of_the_shape(tmp_path: Path) -> None:
    run_crope("quantize", GOLDENS / "rope", tmp_path / "q", "--weights", "int4")
    assert json.loads((tmp_path / "q" / "config.json").read_text())["weights"] == "int4"
    model = crope.load(tmp_path / "q")
    model.save(tmp_path / "again")
    assert "weights" not in json.loads((tmp_path / "again" / "config.json").read_text())
    ids = [1, 2, 3, 4, 5]
    assert score(tmp_path / "again", ids)
