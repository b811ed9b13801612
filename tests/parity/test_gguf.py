"""GGUF exports against the package gguf, and against llama.cpp of the package xllamacpp."""

import json

import numpy
import pytest
import torch
from safetensors.torch import load_file

from conftest import GOLDENS, VARIANTS, run_crope, score
from llama_library import Model

gguf = pytest.importorskip("gguf")


def export(model, path, kind="f32"):
    run_crope("export", model, path, "--format", "gguf", "--type", kind)
    return gguf.GGUFReader(path)


def field(reader, key):
    return reader.get_field(key).contents()


@pytest.mark.parametrize("variant", VARIANTS)
def test_gguf_reads_every_key_and_tensor(variant, tmp_path):
    reader = export(GOLDENS / variant, tmp_path / "m.gguf")
    config = json.loads((GOLDENS / variant / "config.json").read_text())
    assert field(reader, "general.architecture") == "qwen3"
    assert field(reader, "qwen3.embedding_length") == config["d_model"]
    assert field(reader, "qwen3.block_count") == config["num_layers"]
    assert field(reader, "qwen3.rope.freq_base") == config["rope_theta"]
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    ours = load_file(GOLDENS / variant / "model.safetensors")
    assert numpy.array_equal(tensors["token_embd.weight"].data, ours["embedding.weight"].numpy())
    known = {f"{gguf.TENSOR_NAMES[key].format(bid=layer)}.weight"
             for key in gguf.MODEL_TENSORS[gguf.MODEL_ARCH.QWEN3] for layer in range(config["num_layers"])}
    assert tensors.keys() <= known
    assert len(tensors) == 11 * config["num_layers"] + 2


@pytest.mark.parametrize("kind,ggml", [("f16", "F16"), ("bf16", "BF16"), ("q8_0", "Q8_0"), ("q4_0", "Q4_0")])
def test_types_are_those_of_gguf_bit_for_bit(kind, ggml, tmp_path):
    plain = export(GOLDENS / "crope_all", tmp_path / "f32.gguf")
    reader = export(GOLDENS / "crope_all", tmp_path / f"{kind}.gguf", kind)
    values = {tensor.name: numpy.array(tensor.data) for tensor in plain.tensors}
    wanted = gguf.GGMLQuantizationType[ggml]
    compared = 0
    for tensor in reader.tensors:
        if tensor.tensor_type != wanted:
            continue
        expected = gguf.quantize(values[tensor.name], wanted)
        assert numpy.array_equal(numpy.array(tensor.data).view(numpy.uint8), expected.view(numpy.uint8)), tensor.name
        compared += 1
    assert compared > 5


def test_four_bits_keep_the_vocabulary_in_eight(tmp_path):
    plain = export(GOLDENS / "crope_all", tmp_path / "f32.gguf")
    reader = export(GOLDENS / "crope_all", tmp_path / "q4_0.gguf", "q4_0")
    assert field(reader, "general.file_type") == gguf.LlamaFileType.MOSTLY_Q4_0
    embedding = next(tensor for tensor in reader.tensors if tensor.name == "token_embd.weight")
    assert embedding.tensor_type == gguf.GGMLQuantizationType.Q8_0
    values = next(numpy.array(tensor.data) for tensor in plain.tensors if tensor.name == "token_embd.weight")
    assert numpy.array_equal(embedding.data, gguf.quantize(values, gguf.GGMLQuantizationType.Q8_0))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("weights,kind", [("int8", "q8_0"), ("int4", "q4_0")])
def test_quantised_models_are_files_of_blocks_that_gguf_reads(variant, weights, kind, tmp_path):
    """safetensors with GGUF's blocks: the package's own dequantiser widens them to what our widened export holds."""
    run_crope("quantize", GOLDENS / variant, tmp_path / "q", "--weights", weights)
    run_crope("export", tmp_path / "q", tmp_path / "wide", "--format", "hf-native")
    blocks, wide = load_file(tmp_path / "q/model.safetensors"), load_file(tmp_path / "wide/model.safetensors")
    types = {34: "Q8_0", 18: "Q4_0"}
    compared = 0
    for name, value in blocks.items():
        if value.dtype != torch.uint8:
            assert torch.equal(value, wide[name]), name
            continue
        wanted = gguf.GGMLQuantizationType[types[value.shape[2]]]
        expected = gguf.dequantize(value.flatten(1).numpy(), wanted)[:, : wide[name].shape[1]]
        assert numpy.array_equal(numpy.sort(expected, None), numpy.sort(wide[name].numpy(), None)), name
        if name.endswith((".a", ".b")):  # complex numbers: one order only
            assert numpy.array_equal(expected, wide[name].numpy()), name
        compared += 1
    assert compared > 10


def tokenizer_model(tmp_path, test_data):
    """A small model of random weights with GPT-2's tokenizer."""
    run_crope("tokenizer", "import", "--vocab", test_data / "tokenizer/gpt2/encoder.json", "--merges",
              test_data / "tokenizer/gpt2/vocab.bpe", "--out", tmp_path / "tokenizer")
    text = tmp_path / "text.txt"
    text.write_text("Once upon a time there was a small model. " * 200)
    run_crope("data", "prepare", text, "--tokenizer", tmp_path / "tokenizer", "--out", tmp_path / "data",
              "--val-fraction", "0")
    run_crope("train", "--data", tmp_path / "data", "--out", tmp_path / "run", "--variant", "crope_all", "--num-layers", 2,
              "--d-model", 128, "--num-heads", 2, "--d-ff", 128, "--steps", 20, "--batch-size", 2, "--seq-len", 64,
              "--vocab-size", 50304, "--lr", "0.01", "--min-lr", "0.001", "--warmup-steps", 2, "--validate-every", 0)
    return tmp_path / "run"


@pytest.mark.parametrize("variant", VARIANTS)
def test_llama_cpp_has_our_logits(variant, tmp_path):
    export(GOLDENS / variant, tmp_path / "m.gguf")
    ids = load_file(GOLDENS / variant / "golden.safetensors")["tokens"][0][:-1].tolist()
    llama = Model(tmp_path / "m.gguf", n_ctx=64)
    numpy.testing.assert_allclose(llama.logprobs(ids), score(GOLDENS / variant, ids), atol=1e-4)


@pytest.mark.parametrize("weights,kind", [("int8", "q8_0"), ("int4", "q4_0")])
def test_llama_cpp_has_the_log_probabilities_of_quantised_models(weights, kind, test_data, tmp_path):
    """llama.cpp rounds activations to 8 bits and we do not in a score: that is less than what rounding the weights costs."""
    model = tokenizer_model(tmp_path, test_data)
    run_crope("quantize", model, tmp_path / "q", "--weights", weights)
    export(tmp_path / "q", tmp_path / "q.gguf", kind)
    ids = [(7 * i * i + 3 * i) % 5000 for i in range(60)]
    theirs, ours = Model(tmp_path / "q.gguf", n_ctx=64).logprobs(ids), numpy.array(score(tmp_path / "q", ids))
    rounding = numpy.abs(ours - numpy.array(score(model, ids))).mean()
    assert numpy.abs(theirs - ours).mean() < (2 if weights == "int8" else 0.5) * rounding
    export(model, tmp_path / "plain.gguf", kind)
    plain = Model(tmp_path / "plain.gguf", n_ctx=64).logprobs(ids)
    assert numpy.abs(plain - numpy.array(score(model, ids))).mean() < 4 * rounding


@pytest.mark.parametrize("name", ["stories260K", "stories15M"])
def test_llama_cpp_writes_our_greedy_text(name, test_data, tmp_path):
    run_crope("import", test_data / "checkpoints" / name, tmp_path / "model")
    export(tmp_path / "model", tmp_path / "m.gguf")
    expected, _ = Model(tmp_path / "m.gguf", n_ctx=256).greedy([1], 100)
    ours = json.loads(run_crope("generate", tmp_path / "model", "--prompt-ids", "1", "--max-tokens", 100,
                                "--temperature", 0, "--ignore-eos", "--json"))
    assert ours["choices"][0]["ids"] == expected


def test_llama_cpp_has_our_tokenizer(test_data, tmp_path):
    model = tokenizer_model(tmp_path, test_data)
    export(model, tmp_path / "m.gguf", "q8_0")
    llama = Model(tmp_path / "m.gguf")
    assert llama.vocab_size == 50304
    assert llama.eos() == 50256
    cases = [json.loads(line) for line in open(test_data / "tokenizer/gpt2/expected_encodings.jsonl", encoding="utf-8")]
    for case in cases:
        got = llama.tokenize(case["text"])
        assert got == case["ids"], case["text"]
        assert llama.detokenize(got) == case["text"].encode()
