"""CRoPE models for transformers (5 or newer). Weights keep a and b: nothing is expanded, on disk or in memory."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache
from transformers.masking_utils import create_causal_mask
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .config import OPTIONAL_DEFAULTS, ModelConfig, scaling_type
from .layers import Block, CRopeAttention, RMSNorm, initialise, rotary_table

PROGRAM_ONLY = ("rope_scaling", "conjugate_scale")  # settings that models for transformers cannot have


class CRopeConfig(PreTrainedConfig):
    """config.json of a crope model directory. transformers' names for the same sizes work as well."""

    model_type = "crope"
    keys_to_ignore_at_inference = ["past_key_values"]
    attribute_map = {
        "hidden_size": "d_model",
        "intermediate_size": "d_ff",
        "num_hidden_layers": "num_layers",
        "num_attention_heads": "num_heads",
        "max_position_embeddings": "max_seq_len",
        "rms_norm_eps": "norm_eps",
        "tie_word_embeddings": "tie_embeddings",
    }

    vocab_size: int = 50304
    num_layers: int = 16
    num_heads: int = 8
    d_model: int = 1024
    d_ff: int = 1024
    rope_theta: float = 5000.0
    norm_eps: float = 1e-6
    max_seq_len: int = 512
    variant: str = "rope"
    num_kv_heads: int | None = None
    head_dim: int | None = None
    qk_gain: str = "free"
    norm_gain: str = "free"
    qk_norm: bool = True
    tie_embeddings: bool = True
    use_cache: bool = True
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        self.shape()

    @property
    def num_key_value_heads(self) -> int:
        return self.num_kv_heads or self.num_heads

    def shape(self) -> ModelConfig:
        """The same as crope's own configuration. Raises ValueError if no such model can exist."""
        for key in PROGRAM_ONLY:
            value = getattr(self, key, None)
            if value and (key != "rope_scaling" or scaling_type(value) != "default"):
                raise ValueError(
                    f"impossible model: {key} = {value} is not supported in transformers; crope.load reads it"
                )
        names = [name for name in [*ModelConfig().to_dict(), *OPTIONAL_DEFAULTS] if name not in PROGRAM_ONLY]
        return ModelConfig(**{name: getattr(self, name) for name in names})

    def to_diff_dict(self) -> dict[str, Any]:
        """What save_pretrained writes: always the fields that the program `crope` requires, and no null."""
        values: dict[str, Any] = super().to_diff_dict() | self.shape().to_dict()
        for name, default in OPTIONAL_DEFAULTS.items():
            if getattr(self, name, default) == default:
                values.pop(name, None)
        return {key: value for key, value in values.items() if value is not None}


class CachedAttention(CRopeAttention):
    """The same attention through the implementation that the model was loaded with (sdpa, eager, flash, ...)."""

    config: Any  # the model's CRopeConfig, set by the model
    is_causal = True

    @property
    def num_key_value_groups(self) -> int:
        return self.num_heads // self.num_kv_heads

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        implementation = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention)
        out, weights = implementation(self, q, k, v, mask, dropout=0.0, scaling=self.qk_width**-0.5)
        return out.flatten(2), weights


def eager_attention(
    module: CachedAttention, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scaling: float, **_: Any
) -> tuple[Tensor, Tensor]:
    """Attention that also returns its weights [B, H, T, S]."""
    groups = module.num_key_value_groups
    scores = q @ k.repeat_interleave(groups, 1).mT * scaling
    if mask is not None:
        scores = scores + mask
    weights = functional.softmax(scores, -1, dtype=torch.float32).to(q.dtype)
    return (weights @ v.repeat_interleave(groups, 1)).transpose(1, 2), weights


class CRopeDecoderLayer(GradientCheckpointingLayer, Block):
    attention_class = CachedAttention


class CRopeForCausalLM(PreTrainedModel, GenerationMixin):
    """Parameters have the names, shapes and layout of crope's model.safetensors."""

    config_class = CRopeConfig
    config: CRopeConfig
    supports_gradient_checkpointing = True
    _no_split_modules = ["CRopeDecoderLayer"]
    _skip_keys_device_placement = ["past_key_values"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True

    def __init__(self, config: CRopeConfig) -> None:
        super().__init__(config)
        shape = config.shape()
        self.embedding: Any = nn.Embedding(shape.vocab_size, shape.d_model)
        blocks = [CRopeDecoderLayer(shape, layer) for layer in range(shape.num_layers)]
        attentions: list[Any] = [block.attention for block in blocks]
        for attention in attentions:
            attention.config = config
        self.blocks = nn.ModuleList(blocks)
        self.norm = RMSNorm(shape.d_model, shape.norm_eps, shape.norm_gain)
        self.output: Any = None if shape.tie_embeddings else nn.Linear(shape.d_model, shape.vocab_size, bias=False)
        self.gradient_checkpointing = False
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: Any) -> None:
        if module is self.output:
            nn.init.normal_(module.weight, std=0.02)
        else:
            initialise(module)

    def get_input_embeddings(self) -> Any:
        return self.embedding

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.embedding = value

    def get_output_embeddings(self) -> Any:
        return self.output

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        self.output = new_embeddings

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast | tuple[Any, ...]:
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give exactly one of input_ids and inputs_embeds")
        x = self.embedding(input_ids) if inputs_embeds is None else inputs_embeds
        use_cache = self.config.use_cache if use_cache is None else use_cache
        if self.gradient_checkpointing and self.training:
            use_cache = False
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        if position_ids is None:
            first = past_key_values.get_seq_length() if past_key_values is not None else 0
            position_ids = torch.arange(x.shape[1], device=x.device)[None] + first
        mask = create_causal_mask(
            config=self.config,
            inputs_embeds=x,
            attention_mask=attention_mask,
            past_key_values=past_key_values,
            position_ids=position_ids,
        )
        keep_attentions = self.config.output_attentions if output_attentions is None else output_attentions
        keep_hidden = self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        table = rotary_table(position_ids[:, None], self.config.shape().qk_width, self.config.rope_theta)
        hidden: list[Any] = []
        attentions: list[Any] = []
        for block in self.blocks:
            hidden.append(x)
            x, weights = block(x, table, mask=mask, cache=past_key_values)
            attentions.append(weights)
        x = self.norm(x)
        hidden.append(x)
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) and logits_to_keep else slice(None)
        rows = x[:, kept] if isinstance(logits_to_keep, int) else x[:, logits_to_keep]
        logits: Any = functional.linear(rows, self.embedding.weight) if self.output is None else self.output(rows)
        loss = None
        if labels is not None:
            loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.vocab_size, **kwargs)
        result = CausalLMOutputWithPast(
            loss=loss,
            logits=logits,
            past_key_values=past_key_values if use_cache else None,
            hidden_states=tuple(hidden) if keep_hidden else None,
            attentions=tuple(attentions) if keep_attentions else None,
        )
        return result if return_dict is not False else result.to_tuple()
