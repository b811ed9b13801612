"""CRopeForCausalLM: what transformers' common model tests check, and the round trip with the program's directories."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from conftest import GOLDENS, VARIANTS, relative_error, run_crope, run_python, score

import crope
from crope.files import read_tensors

SETTINGS: list[dict[str, Any]] = [
    *({"variant": variant} for variant in VARIANTS),
    {"variant": "crope_all", "num_kv_heads": 2, "qk_gain": "pair", "norm_gain": "pair"},
    {"variant": "crope_qkv", "num_kv_heads": 1, "head_dim": 16, "tie_embeddings": False},
    {"variant": "half_rope_qk", "num_kv_heads": 2, "qk_gain": "none"},
]
MODELS = sorted(str(path.parent.relative_to(GOLDENS)) for path in GOLDENS.rglob("golden.safetensors"))


def make(seed: int = 0, **settings: Any) -> crope.CRopeForCausalLM:
    torch.manual_seed(seed)
    shape = {"vocab_size": 99, "num_layers": 2, "num_heads": 4, "d_model": 32, "d_ff": 48, "max_seq_len": 64}
    config = crope.CRopeConfig(**shape, pad_token_id=0, bos_token_id=1, eos_token_id=2, **settings)
    return crope.CRopeForCausalLM(config).eval()


def ids(rows: int = 2, length: int = 12, seed: int = 0) -> torch.Tensor:
    return torch.randint(3, 99, (rows, length), generator=torch.Generator().manual_seed(seed))


@pytest.fixture(params=SETTINGS, ids=lambda settings: "_".join(str(value) for value in settings.values()))
def model(request: pytest.FixtureRequest) -> crope.CRopeForCausalLM:
    return make(**request.param)


@pytest.mark.parametrize("name", MODELS)
def test_golden_logits_and_gradients(name: str) -> None:
    golden = read_tensors(GOLDENS / name / "golden.safetensors")
    model = crope.CRopeForCausalLM.from_pretrained(GOLDENS / name)
    tokens = golden["tokens"]
    out = model(tokens, labels=tokens)  # the shift by one is transformers'
    assert relative_error(out.logits[:, :-1], golden["logits"]) < 1e-5
    assert relative_error(out.loss[None], golden["loss"]) < 1e-5
    out.loss.backward()
    for parameter_name, parameter in model.named_parameters():
        assert relative_error(parameter.grad, golden[f"grad.{parameter_name}"]) < 1e-5, parameter_name


def test_the_same_model_as_the_plain_one(model: crope.CRopeForCausalLM, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    with torch.no_grad():
        torch.testing.assert_close(crope.load(tmp_path)(ids()), model(ids()).logits, atol=1e-5, rtol=1e-5)


def test_save_and_load(model: crope.CRopeForCausalLM, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path / "once")
    again = crope.CRopeForCausalLM.from_pretrained(tmp_path / "once")
    for (name, ours), (other_name, other) in zip(model.named_parameters(), again.named_parameters(), strict=True):
        assert name == other_name and torch.equal(ours, other)
    with torch.no_grad():
        assert torch.equal(model(ids()).logits, again(ids()).logits)
    again.save_pretrained(tmp_path / "twice")
    for name in ("config.json", "model.safetensors"):
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "twice" / name).read_bytes(), name


def test_load_reports_no_missing_or_unexpected_weights(model: crope.CRopeForCausalLM, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    _, report = crope.CRopeForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not report[kind], kind


def test_a_cache_changes_nothing(model: crope.CRopeForCausalLM) -> None:
    with torch.no_grad():
        whole = model(ids(length=20), use_cache=False)
        assert whole.past_key_values is None
        cache, pieces = None, []
        for piece in ids(length=20).split([9, 1, 1, 4, 5], 1):
            out = model(piece, past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            pieces.append(out.logits)
    torch.testing.assert_close(torch.cat(pieces, 1), whole.logits, atol=1e-5, rtol=1e-5)


def test_generate_with_and_without_cache(model: crope.CRopeForCausalLM) -> None:
    settings = {"max_new_tokens": 10, "do_sample": False, "eos_token_id": None}
    cached = model.generate(ids(), use_cache=True, **settings)
    assert torch.equal(cached, model.generate(ids(), use_cache=False, **settings))
    assert torch.equal(cached, model.generate(ids(), cache_implementation="static", **settings))


def test_left_padding_changes_nothing(model: crope.CRopeForCausalLM) -> None:
    short, pads = ids(1, 7), 5
    padded = torch.cat((torch.zeros(1, pads, dtype=torch.long), short), 1)
    mask = (torch.arange(7 + pads) >= pads).long()[None]
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    with torch.no_grad():
        expected = model(short).logits
        logits = model(padded, attention_mask=mask, position_ids=positions).logits[:, pads:]
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-4)
    together = torch.cat((padded, ids(1, 12, seed=4)))
    masks = torch.cat((mask, torch.ones(1, 12, dtype=torch.long)))
    settings = {"max_new_tokens": 8, "do_sample": False, "eos_token_id": None}
    texts = model.generate(together, attention_mask=masks, **settings)
    assert torch.equal(texts[:1, pads:], model.generate(short, **settings))
    assert torch.equal(texts[1:], model.generate(ids(1, 12, seed=4), **settings))


def test_beams(model: crope.CRopeForCausalLM) -> None:
    """The best of all texts of three tokens is found when every beam is kept."""
    prompt = ids(1, 4)
    settings = {"max_new_tokens": 2, "do_sample": False, "eos_token_id": None}
    out = model.generate(prompt, num_beams=99, output_scores=True, return_dict_in_generate=True, **settings)
    with torch.no_grad():
        first = torch.log_softmax(model(prompt).logits[0, -1], -1)
        texts = torch.cat((prompt.expand(99, -1), torch.arange(99)[:, None]), 1)
        totals = first[:, None] + torch.log_softmax(model(texts).logits[:, -1], -1)
    best = int(totals.argmax())
    assert out.sequences[0, -2:].tolist() == [best // 99, best % 99]
    assert math.isclose(float(out.sequences_scores[0]), float(totals.max()) / 2, rel_tol=1e-4)


def test_gradient_checkpointing(model: crope.CRopeForCausalLM) -> None:
    other = copy.deepcopy(model)
    other.gradient_checkpointing_enable()
    assert other.is_gradient_checkpointing
    calls = []
    other.blocks[0].register_forward_pre_hook(lambda *_: calls.append(1))
    for each in (model, other):
        each.train()
        each(ids(), labels=ids()).loss.backward()
    assert len(calls) == 2  # once forward, once again for the gradients
    for ours, theirs in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(ours.grad, theirs.grad)


def test_attention_implementations(model: crope.CRopeForCausalLM, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    eager = crope.CRopeForCausalLM.from_pretrained(tmp_path, attn_implementation="eager")
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[0, :3] = 0
    with torch.no_grad():
        out = eager(ids(), attention_mask=mask, output_attentions=True, output_hidden_states=True)
        torch.testing.assert_close(
            model(ids(), attention_mask=mask).logits[:, 3:], out.logits[:, 3:], atol=1e-5, rtol=1e-4
        )
    assert len(out.attentions) == 2 and out.attentions[0].shape == (2, 4, 12, 12)
    torch.testing.assert_close(out.attentions[0].sum(-1)[1], torch.ones(4, 12))
    assert len(out.hidden_states) == 3 and out.hidden_states[0].shape == (2, 12, 32)


def test_embeddings_given_directly(model: crope.CRopeForCausalLM) -> None:
    with torch.no_grad():
        expected = model(ids())
        out = model(inputs_embeds=model.get_input_embeddings()(ids()), logits_to_keep=3, return_dict=False)
    torch.testing.assert_close(out[0], expected.logits[:, -3:])
    with pytest.raises(ValueError, match="exactly one"):
        model()


def test_resized_vocabulary(model: crope.CRopeForCausalLM) -> None:
    with torch.no_grad():
        before = model(ids()).logits
        model.resize_token_embeddings(105, mean_resizing=False)
        after = model(ids()).logits
    assert after.shape[-1] == 105 and model.config.vocab_size == 105
    torch.testing.assert_close(after[..., :99], before)


def test_training_lowers_the_loss(model: crope.CRopeForCausalLM) -> None:
    model.train()
    optimizer = crope.Muon(crope.param_groups(model), lr=5e-3)
    losses = []
    for _ in range(6):
        loss = model(ids(), labels=ids()).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] - 0.2


def test_initial_weights() -> None:
    model = make(variant="crope_all", tie_embeddings=False)
    assert abs(float(model.blocks[0].attention.q.a.detach().std()) * math.sqrt(32) - 1) < 0.15
    for weight in (model.embedding.weight, model.output.weight):
        assert abs(float(weight.detach().std()) / 0.02 - 1) < 0.1
    assert torch.equal(model.norm.weight, torch.ones(32))


def test_compiled_without_graph_breaks() -> None:
    torch.compiler.reset()
    model = make(variant="crope_all")
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        torch.testing.assert_close(compiled(ids(), use_cache=False).logits, model(ids()).logits, atol=1e-5, rtol=1e-4)


def test_impossible_configurations() -> None:
    with pytest.raises(ValueError, match="unknown variant"):
        crope.CRopeConfig(variant="nope")
    with pytest.raises(ValueError, match="rope_scaling"):
        crope.CRopeConfig(rope_scaling={"rope_type": "linear", "factor": 2.0})


def test_saved_by_transformers_read_by_the_program(tmp_path: Path) -> None:
    for variant in VARIANTS:
        model = crope.CRopeForCausalLM.from_pretrained(GOLDENS / variant)
        model.save_pretrained(tmp_path / variant)
        assert score(tmp_path / variant, [1, 5, 3]) == score(GOLDENS / variant, [1, 5, 3])
        before, after = (
            read_tensors(folder / "model.safetensors") for folder in (GOLDENS / variant, tmp_path / variant)
        )
        assert before.keys() == after.keys()
        assert all(torch.equal(value, after[name]) for name, value in before.items())


def test_the_tokenizer_is_the_programs(run: Path) -> None:
    tokenizer = crope.load_tokenizer(run)
    assert isinstance(tokenizer, transformers.PreTrainedTokenizerFast)
    text = "The keeper walks to the tower. 12 coins\n\n  é"
    expected = json.loads(run_crope("score", run, "--text", text, "--json"))["ids"]
    assert tokenizer.encode(text) == expected
    assert tokenizer.decode(expected) == text
    assert tokenizer.encode("<|endoftext|>") == [tokenizer.eos_token_id]
    assert tokenizer.eos_token == "<|endoftext|>" and tokenizer.model_max_length == 512


REMOTE = """
import sys, json, pathlib, torch, transformers
for job in json.loads(sys.argv[1]):
    folder, ids = job["folder"], torch.tensor([job["ids"]])
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True, dtype=torch.float32)
    new = model.generate(ids, max_new_tokens=6, do_sample=False, eos_token_id=None)
    result = {"class": type(model).__name__, "logits": model(ids).logits.tolist(), "new": new[0].tolist()}
    if pathlib.Path(folder, "tokenizer.json").exists():
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
        result |= {"text": tokenizer.decode(new[0]), "tokenizer": type(tokenizer).__name__}
    model.save_pretrained(folder + "_again")
    again = transformers.AutoModelForCausalLM.from_pretrained(folder + "_again", trust_remote_code=True)
    assert torch.equal(again(ids).logits, model(ids).logits)
    assert "crope" not in sys.modules
    print(json.dumps(result))
"""


def remote(jobs: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """What transformers computes in a process that cannot import crope."""
    out = run_python(
        "-c", REMOTE, json.dumps(jobs), cwd=folder, PYTHONPATH="", HF_MODULES_CACHE=str(folder / "modules")
    )
    return [json.loads(line) for line in out.stdout.splitlines()]


def test_native_exports_need_nothing_installed(tmp_path: Path) -> None:
    goldens = {name: read_tensors(GOLDENS / name / "golden.safetensors") for name in MODELS}
    jobs = []
    for name, golden in goldens.items():
        out = tmp_path / name.replace("/", "_")
        run_crope("export", GOLDENS / name, out, "--format", "hf-native")
        jobs.append({"folder": str(out), "ids": golden["tokens"][0, :-1].tolist()})
        tensors = [read_tensors(folder / "model.safetensors").keys() for folder in (out, GOLDENS / name)]
        assert tensors[0] == tensors[1]  # a and b stay
    for (name, golden), result in zip(goldens.items(), remote(jobs, tmp_path), strict=True):
        assert result["class"] == "CRopeForCausalLM"
        assert relative_error(torch.tensor(result["logits"]), golden["logits"][:1]) < 1e-5, name
        assert result["new"] == crope.load(GOLDENS / name).generate(golden["tokens"][:1, :-1], 6)[0].tolist(), name


INSTALLED = """
import sys, crope.hf, transformers
print(type(transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1])))
"""


def test_native_export_of_a_run(run: Path, tmp_path: Path) -> None:
    run_crope("export", run, tmp_path / "out", "--format", "hf-native", "--type", "bf16")
    card = (tmp_path / "out" / "README.md").read_text()
    for words in ("crope_all", "| `steps` | 20 |", "`val_loss`", "trust_remote_code=True"):
        assert words in card, words
    (result,) = remote([{"folder": str(tmp_path / "out"), "ids": [5, 9, 200]}], tmp_path)
    assert result["text"] == crope.load_tokenizer(run).decode(result["new"])
    # Where crope is installed, the Auto classes know it without remote code.
    assert "CRopeForCausalLM" in run_python(
        "-c", INSTALLED, tmp_path / "out"
    ).stdout  # fmt: skip


def test_exports_to_qwen3_have_a_card_too(run: Path, tmp_path: Path) -> None:
    run_crope("export", run / "checkpoints" / "step_00000010", tmp_path / "out", "--format", "hf")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| `loss` |" in card and "| 10 |" in card and "Qwen3" in card
