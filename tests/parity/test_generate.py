"""Generation against transformers, and against the text that a real model is known to write."""

import json
import struct

import pytest
import torch
import transformers
from safetensors.torch import load_file

from conftest import GOLDENS, VARIANTS, run_crope


def generate(model_dir, ids, *flags):
    text = run_crope("generate", model_dir, "--json", "--prompt-ids", ",".join(map(str, ids)), *flags)
    return json.loads(text)["choices"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_greedy_tokens_are_those_of_transformers(variant, tmp_path):
    run_crope("export", GOLDENS / variant, tmp_path / "hf", "--format", "hf")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf", dtype=torch.float32).eval()
    tokens = load_file(GOLDENS / variant / "golden.safetensors")["tokens"]
    for row, length in ((0, 1), (0, 9), (1, 16)):
        prompt = tokens[row, :length].tolist()
        assert len(prompt) == length
        expected = model.generate(torch.tensor([prompt]), max_new_tokens=30, do_sample=False, eos_token_id=None)
        ours = generate(GOLDENS / variant, prompt, "--max-tokens", 30)[0]["ids"]
        assert ours == expected[0, length:].tolist()


def read_sentencepiece_dump(path):
    """Pieces of a tok*.bin: the longest length, then score, length and bytes of each."""
    data, pieces, place = path.read_bytes(), [], 4
    while place < len(data):
        _, length = struct.unpack_from("<fi", data, place)
        pieces.append(data[place + 8 : place + 8 + length])
        place += 8 + length
    return pieces


def test_a_real_model_tells_its_story(test_data, tmp_path):
    source = test_data / "checkpoints" / "stories260K"
    run_crope("import", source, tmp_path / "model")
    pieces = read_sentencepiece_dump(source / "tok512.bin")
    expected = (source / "expected_greedy_200.txt").read_bytes().rstrip(b"\n")
    ids = generate(tmp_path / "model", [1], "--max-tokens", 200)[0]["ids"]
    text = b"".join(bytes([int(p[3:5], 16)]) if p.startswith(b"<0x") else p for p in (pieces[i] for i in ids))
    story = text.lstrip(b" ")
    assert len(ids) == 200
    assert story.startswith(expected)
    assert len(story) - len(expected) < 16, "200 tokens, with the first counted or not"
