"""CRoPE for PyTorch: complex-linear attention projections, Muon for them, and the models of the program `crope`."""

from typing import TYPE_CHECKING, Any

from .block_linear import BlockLinear
from .config import VARIANTS, ModelConfig
from .layers import CRopeAttention, rotary
from .model import Transformer, load
from .muon import Muon, newton_schulz, newton_schulz_pairs, param_groups
from .run_metrics import metrics
from .surgery import replace_attention

if TYPE_CHECKING:
    from .hf import CRopeConfig, CRopeForCausalLM, load_tokenizer

__version__ = "0.2.0"

__all__ = [
    "VARIANTS",
    "BlockLinear",
    "CRopeAttention",
    "CRopeConfig",
    "CRopeForCausalLM",
    "ModelConfig",
    "Muon",
    "Transformer",
    "load",
    "load_tokenizer",
    "metrics",
    "newton_schulz",
    "newton_schulz_pairs",
    "param_groups",
    "replace_attention",
    "rotary",
]


def __getattr__(name: str) -> Any:
    # What needs transformers is imported when it is first used.
    if name in ("CRopeConfig", "CRopeForCausalLM", "load_tokenizer"):
        from . import hf

        return getattr(hf, name)
    raise AttributeError(f"module 'crope' has no attribute '{name}'")
