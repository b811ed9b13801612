"""Model directories: files read and written, runs, generation."""

import json
import shutil
import struct
from pathlib import Path

import pytest
import torch
from conftest import GOLDENS, VARIANTS, run_crope, score

import crope
from crope.files import read_tensors, write_tensors


def test_tensors_come_back(tmp_path: Path) -> None:
    tensors = {
        "a": torch.randn(3, 5),
        "b": torch.randn(2, 2, 2).to(torch.bfloat16),
        "c": torch.tensor(7),
        "d": torch.empty(0, 4),
        "e": torch.tensor([True, False, True]),
        "f": torch.randn(5, 3).T,
    }
    write_tensors(tmp_path / "x.safetensors", tensors)
    back = read_tensors(tmp_path / "x.safetensors")
    assert back.keys() == tensors.keys()
    for name, value in tensors.items():
        assert torch.equal(back[name], value), name
    assert [path.name for path in tmp_path.iterdir()] == ["x.safetensors"]


def test_writing_to_a_loaded_tensor_leaves_the_file_alone(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x.safetensors", {"a": torch.ones(1000)})
    read_tensors(tmp_path / "x.safetensors")["a"].zero_()
    assert float(read_tensors(tmp_path / "x.safetensors")["a"].sum()) == 1000


def test_a_header_without_padding_is_read(tmp_path: Path) -> None:
    text = json.dumps({"ab": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    text += b" " * (3 - len(text) % 4)
    (tmp_path / "x").write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<2f", 1.5, -2.0))
    assert read_tensors(tmp_path / "x")["ab"].tolist() == [1.5, -2.0]


def test_files_cut_at_every_byte_are_refused(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x", {"a": torch.ones(3), "b": torch.ones(2, 2)})
    whole = (tmp_path / "x").read_bytes()
    for size in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(ValueError, match="cut"):
            read_tensors(tmp_path / "cut")


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]},
        {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]},
        {"dtype": "F99", "shape": [2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": "ab", "data_offsets": [0, 8]},
        {"shape": [2]},
        [],
        3,
    ],
)
def test_impossible_headers_are_refused(entry: object, tmp_path: Path) -> None:
    text = json.dumps({"a": entry}).encode()
    (tmp_path / "x").write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
    with pytest.raises(ValueError, match="tensor 'a'"):
        read_tensors(tmp_path / "x")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_saved_model_is_read_by_the_program(variant: str, tmp_path: Path) -> None:
    model = crope.load(GOLDENS / variant)
    model.config.other["note"] = "kept"
    model.save(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["note"] == "kept"
    assert score(tmp_path / "model", [1, 5, 3]) == score(GOLDENS / variant, [1, 5, 3])


def test_a_run_is_loaded_by_its_newest_checkpoint(run: Path) -> None:
    newest = crope.load(run)
    assert torch.equal(newest.embedding.weight, crope.load(run / "checkpoints" / "step_00000020").embedding.weight)
    assert not torch.equal(newest.embedding.weight, crope.load(run / "checkpoints" / "step_00000010").embedding.weight)


def test_weights_are_views_of_the_file() -> None:
    """Loading at the size of the file, not twice: all parameters share the mapping's storage."""
    model = crope.load(GOLDENS / "crope_all")
    storages = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    assert len(storages) == 1


def test_generate_is_greedy_as_the_programs(run: Path) -> None:
    prompt = [5, 9, 200]
    text = run_crope(
        "generate", run, "--prompt-ids", "5,9,200", "--max-tokens", 12, "--temperature", 0, "--ignore-eos", "--json"
    )
    assert crope.load(run).generate(torch.tensor([prompt]), 12)[0].tolist()[3:] == json.loads(text)["choices"][0]["ids"]


def test_generation_ends_and_draws() -> None:
    model = crope.load(GOLDENS / "rope")
    ids = torch.tensor([[1, 2], [3, 4]])
    greedy = model.generate(ids, 6)
    end = int(greedy[0, 3])
    ended = model.generate(ids, 6, end=end)
    assert (ended[0, 3:] == end).all()
    drawn = [model.generate(ids, 6, 1.0, generator=torch.Generator().manual_seed(seed)).tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_does_not_belong_together(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(GOLDENS / "rope", folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"variant": "crope_all"}))
    with pytest.raises(ValueError, match="do not belong together"):
        crope.load(folder)
    (folder / "config.json").write_text(json.dumps({"d_model": 8}))
    with pytest.raises(ValueError, match="missing d_ff"):
        crope.load(folder)
    for change, message in (
        ({"variant": "crope"}, "unknown variant 'crope'"),
        ({"num_heads": 5}, "does not divide"),
        ({"num_kv_heads": 3}, "num_kv_heads"),
        ({"qk_gain": "some"}, "qk_gain"),
        ({"rope_scaling": {"rope_type": "longrope", "factor": 4.0}}, "longrope"),
        ({"rope_scaling": {"rope_type": "linear"}}, "factor"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0}}, "high_freq_factor"),
    ):
        (folder / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(ValueError, match=message):
            crope.load(folder)
    with pytest.raises(FileNotFoundError, match="neither a model directory"):
        crope.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        crope.load(tmp_path / "nowhere")


def log_probabilities(model: crope.Transformer, ids: list[int]) -> list[float]:
    with torch.no_grad():
        logits = model(torch.tensor([ids[:-1]]))[0].double()
    values: list[float] = logits.log_softmax(-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()
    return values


@pytest.mark.parametrize(
    "scaling",
    [
        {"rope_type": "linear", "factor": 2.0},
        {"rope_type": "dynamic", "factor": 4.0, "original_max_position_embeddings": 16},
        {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32},
        {"rope_type": "yarn", "factor": 4.0, "beta_fast": 8.0, "mscale": 1.0, "mscale_all_dim": 0.5, "truncate": False},
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32,
        },
    ],
)
def test_stretched_frequencies_are_the_programs(tmp_path: Path, scaling: dict[str, object]) -> None:
    folder = tmp_path / "model"
    shutil.copytree(GOLDENS / "half_rope_qk", folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"rope_scaling": scaling}))
    ids = torch.randint(97, (60,), generator=torch.Generator().manual_seed(0)).tolist()
    assert log_probabilities(crope.load(folder), ids) == pytest.approx(score(folder, ids), abs=1e-5)
    crope.load(folder).save(tmp_path / "saved")
    assert score(tmp_path / "saved", ids) == pytest.approx(score(folder, ids), abs=1e-9)


def test_an_annealed_model_is_the_programs(tmp_path: Path) -> None:
    folder = tmp_path / "annealed"
    run_crope("upcycle", GOLDENS / "rope", folder, "--variant", "crope_qkv", "--method", "annealed")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"conjugate_scale": 0.5}))
    ids = [1, 5, 90, 3, 3, 17, 42]
    model = crope.load(folder)
    assert log_probabilities(model, ids) == pytest.approx(score(folder, ids), abs=1e-5)
    layer = model.blocks[0].attention.q
    x = torch.randn(3, layer.in_features)
    z, w = torch.view_as_complex(x.reshape(3, -1, 2)), torch.complex(layer.a, -layer.b)
    v = torch.complex(layer.conjugate_a, -layer.conjugate_b)
    expected = torch.view_as_real(z @ w.T + 0.5 * (z.conj() @ v.T)).flatten(-2)
    assert torch.allclose(layer(x), expected, atol=1e-5)


def test_untied_output(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = crope.ModelConfig(
        40, 1, 2, 16, 24, variant="crope_all", max_seq_len=32, tie_embeddings=False, qk_norm=False
    )
    model = crope.Transformer(config)
    model.save(tmp_path / "model")
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    with torch.no_grad():
        logprobs = torch.log_softmax(model(ids)[0].double(), -1)[:-1].gather(1, ids[0, 1:, None])[:, 0]
    program = torch.tensor(score(tmp_path / "model", ids[0].tolist()), dtype=torch.float64)
    torch.testing.assert_close(logprobs, program, atol=1e-5, rtol=0)
