"""Stretched rotary frequencies against transformers: the same logits from an export of each kind."""

import json
import shutil

import numpy
import pytest

from conftest import GOLDENS, run_crope, score
from test_transformers import hf_logits, hf_logprobs

LENGTH = 60
KINDS = {
    "linear": {"rope_type": "linear", "factor": 3.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 400},
    "yarn_with_everything": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 300, "beta_fast": 16.0,
                             "beta_slow": 2.0, "attention_factor": 1.3, "truncate": False},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 200, "low_freq_factor": 1.0,
               "high_freq_factor": 4.0},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["rope", "more/crope_all_grouped"])
def test_export_has_our_logits(kind, name, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(GOLDENS / name, model)
    config = json.loads((model / "config.json").read_text())
    plain = score(GOLDENS / name, list(range(LENGTH)))
    config["rope_scaling"] = KINDS[kind]
    (model / "config.json").write_text(json.dumps(config))
    ids = list(range(LENGTH))
    run_crope("export", model, tmp_path / "hf", "--format", "hf")
    _, logits = hf_logits(tmp_path / "hf", ids)
    ours = score(model, ids)
    numpy.testing.assert_allclose(ours, hf_logprobs(logits, ids), atol=1e-4)
    if kind != "dynamic":  # which stretches nothing within the window of its training
        assert numpy.abs(numpy.array(ours) - numpy.array(plain)).max() > 1e-3
    run_crope("import", tmp_path / "hf", tmp_path / "back")
    assert json.loads((tmp_path / "back" / "config.json").read_text()) == config
