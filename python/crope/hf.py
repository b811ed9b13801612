"""Makes transformers know crope's models, so that its Auto classes load them without remote code."""

import json
from pathlib import Path

from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from .model import read_config, resolve_model_dir
from .modeling_crope import CRopeConfig, CRopeForCausalLM

AutoConfig.register("crope", CRopeConfig, exist_ok=True)
AutoModelForCausalLM.register(CRopeConfig, CRopeForCausalLM, exist_ok=True)
AutoTokenizer.register(CRopeConfig, fast_tokenizer_class=PreTrainedTokenizerFast, exist_ok=True)
# save_pretrained puts the modelling files beside the weights, for those who have no crope installed.
CRopeConfig.register_for_auto_class()
CRopeForCausalLM.register_for_auto_class("AutoModelForCausalLM")

END_OF_TEXT = "<|endoftext|>"


def load_tokenizer(path: str | Path) -> PreTrainedTokenizerFast:
    """The tokenizer of a model or run directory, with the special tokens that an export would give it."""
    folder = resolve_model_dir(path)
    file = folder / "tokenizer.json"
    if not file.exists():
        raise FileNotFoundError(f"{folder} has no tokenizer.json")
    added = json.loads(file.read_text()).get("added_tokens") or []
    special = {}
    if any(token.get("content") == END_OF_TEXT for token in added):
        special = {f"{role}_token": END_OF_TEXT for role in ("bos", "eos", "unk", "pad")}
    return PreTrainedTokenizerFast(
        tokenizer_file=str(file),
        model_max_length=read_config(folder).max_seq_len,
        clean_up_tokenization_spaces=False,
        **special,
    )


__all__ = ["CRopeConfig", "CRopeForCausalLM", "load_tokenizer"]
