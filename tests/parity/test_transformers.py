"""Exports and imports against transformers, in fp32."""

import json

import numpy
import pytest
import torch
import transformers
from safetensors.torch import load_file

from conftest import GOLDEN_MODELS, GOLDENS, run_crope, score


def hf_logits(directory, ids):
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
    with torch.no_grad():
        return model, model(torch.tensor([ids])).logits[0]


def hf_logprobs(logits, ids):
    return torch.log_softmax(logits.double(), -1)[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0].numpy()


@pytest.mark.parametrize("name", GOLDEN_MODELS)
def test_export_has_our_logits(name, tmp_path):
    run_crope("export", GOLDENS / name, tmp_path / "hf", "--format", "hf")
    golden = load_file(GOLDENS / name / "golden.safetensors")
    ids = golden["tokens"][0][:-1].tolist()
    model, logits = hf_logits(tmp_path / "hf", ids)
    assert type(model).__name__ == "Qwen3ForCausalLM"
    assert (logits - golden["logits"][0]).abs().max() < 1e-4
    numpy.testing.assert_allclose(score(GOLDENS / name, ids), hf_logprobs(logits, ids), atol=1e-4)


@pytest.mark.parametrize("name", GOLDEN_MODELS)
def test_saved_again_by_transformers_it_comes_back(name, tmp_path):
    run_crope("export", GOLDENS / name, tmp_path / "hf", "--format", "hf")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf", dtype=torch.float32)
    model.save_pretrained(tmp_path / "again")
    run_crope("import", tmp_path / "again", tmp_path / "back")
    before = load_file(GOLDENS / name / "model.safetensors")
    after = load_file(tmp_path / "back" / "model.safetensors")
    config = json.loads((GOLDENS / name / "config.json").read_text())
    assert json.loads((tmp_path / "back" / "config.json").read_text()) == config
    assert before.keys() == after.keys()
    for tensor, value in before.items():
        if config["variant"] == "half_rope_qk" and tensor.endswith("k_norm.weight"):
            assert (value.view(torch.int32) - after[tensor].view(torch.int32)).abs().max() <= 1, tensor
        else:
            assert torch.equal(value, after[tensor]), tensor


@pytest.mark.parametrize("name", ["stories260K", "stories15M"])
def test_real_llama_models(name, test_data, tmp_path):
    source = test_data / "checkpoints" / name
    run_crope("import", source, tmp_path / "model")
    vocab_size = json.loads((source / "config.json").read_text())["vocab_size"]
    ids = [1] + torch.randint(3, vocab_size, (60,), generator=torch.Generator().manual_seed(1)).tolist()
    _, logits = hf_logits(source, ids)
    numpy.testing.assert_allclose(score(tmp_path / "model", ids), hf_logprobs(logits, ids), atol=1e-4)
