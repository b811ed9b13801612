"""The shape of a model: what config.json holds."""

from dataclasses import dataclass, field, fields
from typing import Any

# Variant -> (projections whose weights are tied, projections whose heads are half as wide). The paper's six rows.
VARIANTS: dict[str, tuple[str, str]] = {
    "rope": ("", ""),
    "crope_qk": ("qk", ""),
    "crope_qkv": ("qkv", ""),
    "crope_all": ("qkvo", ""),
    "half_rope_qk": ("", "qk"),
    "half_rope_all": ("", "qkvo"),
}

ROPE_SCALINGS = ("default", "linear", "dynamic", "yarn", "llama3")


def tied_projections(variant: str) -> str:
    """The letters of q, k, v, o whose matrices are complex-linear."""
    if variant not in VARIANTS:
        raise ValueError(f"unknown variant '{variant}': expected one of {', '.join(VARIANTS)}")
    return VARIANTS[variant][0]


def head_width(variant: str, projection: str, full: int) -> int:
    """The width of a head of `projection` (q, k, v or o) where a full head has the width `full`."""
    return full // 2 if projection in VARIANTS[variant][1] else full


def scaling_type(scaling: dict[str, Any] | None) -> str:
    """The type of a rope_scaling object: "default" where the frequencies are unscaled."""
    scaling = scaling or {}
    return str(scaling.get("rope_type", scaling.get("type", "default")))


@dataclass
class ModelConfig:
    """The defaults are the paper's. Optional fields are written to config.json only where they differ from theirs."""

    vocab_size: int = 50304
    num_layers: int = 16
    num_heads: int = 8
    d_model: int = 1024
    d_ff: int = 1024
    rope_theta: float = 5000.0
    norm_eps: float = 1e-6
    max_seq_len: int = 512
    variant: str = "rope"
    num_kv_heads: int | None = None  # heads of K and V; None: num_heads
    head_dim: int | None = None  # width of a full head; None: d_model / num_heads
    qk_gain: str = "free"  # gains of QK-norm: free (per coordinate), pair (per complex pair) or none
    norm_gain: str = "free"  # gains of the other norms: free or pair
    qk_norm: bool = True
    tie_embeddings: bool = True  # False: the output projection is a tensor of its own
    rope_scaling: dict[str, Any] | None = None  # stretched rotary frequencies: Hugging Face's object
    conjugate_scale: float | None = (
        None  # factor of the conjugate-linear parts of an annealed model; None: no such parts
    )
    other: dict[str, Any] = field(default_factory=dict)  # unknown keys of config.json, kept when it is written

    def __post_init__(self) -> None:
        def require(holds: bool, message: str) -> None:
            if not holds:
                raise ValueError(f"impossible model: {message}")

        tied_projections(self.variant)
        for name in ("vocab_size", "num_layers", "num_heads", "d_model", "d_ff", "max_seq_len"):
            require(getattr(self, name) >= 1, f"{name} = {getattr(self, name)}, expected 1 or more")
        require(self.qk_gain in ("free", "pair", "none"), f"qk_gain = '{self.qk_gain}', expected free, pair or none")
        require(self.norm_gain in ("free", "pair"), f"norm_gain = '{self.norm_gain}', expected free or pair")
        require(self.d_model % 2 == 0, f"d_model = {self.d_model} is odd; its features are pairs")
        require(
            bool(self.head_dim) or self.d_model % self.num_heads == 0,
            f"num_heads = {self.num_heads} does not divide d_model = {self.d_model}",
        )
        divisor = 4 if VARIANTS[self.variant][1] else 2
        require(
            self.full_head_width % divisor == 0,
            f"variant {self.variant} has heads {self.full_head_width} wide, expected a multiple of {divisor}",
        )
        require(
            self.num_heads % self.kv_heads == 0,
            f"num_kv_heads = {self.kv_heads} does not divide num_heads = {self.num_heads}",
        )
        kind = scaling_type(self.rope_scaling)
        require(kind in ROPE_SCALINGS, f"rope_scaling of type '{kind}', expected one of {', '.join(ROPE_SCALINGS)}")
        needed = {"default": (), "llama3": ("factor", "low_freq_factor", "high_freq_factor")}.get(kind, ("factor",))
        for name in needed:
            value = (self.rope_scaling or {}).get(name)
            require(isinstance(value, (int, float)) and value > 0, f"rope_scaling: {name} = {value}, expected above 0")

    @property
    def kv_heads(self) -> int:
        return self.num_kv_heads or self.num_heads

    @property
    def full_head_width(self) -> int:
        return self.head_dim or self.d_model // self.num_heads

    @property
    def qk_width(self) -> int:
        return head_width(self.variant, "q", self.full_head_width)

    @classmethod
    def from_dict(cls, values: dict[str, Any], origin: str = "config.json") -> "ModelConfig":
        known = {f.name for f in fields(cls)} - {"other"}
        required = {f.name for f in fields(cls) if f.name in known} - OPTIONAL_DEFAULTS.keys()
        missing = sorted(required - values.keys())
        if missing:
            raise ValueError(f"{origin}: missing {', '.join(missing)}; expected the config.json of a crope model")
        given = {key: value for key, value in values.items() if key in known and value is not None}
        # The type of stored weights belongs to the file that was read, not to the model.
        other = {key: value for key, value in values.items() if key not in known | {"weights"}}
        try:
            return cls(**given, other=other)
        except ValueError as error:
            raise ValueError(f"{origin}: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """The object of config.json."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "other"}
        for name, default in OPTIONAL_DEFAULTS.items():
            if values[name] == default:
                del values[name]
        return values | self.other


OPTIONAL_DEFAULTS: dict[str, Any] = {
    "num_kv_heads": None,
    "head_dim": None,
    "qk_gain": "free",
    "norm_gain": "free",
    "qk_norm": True,
    "tie_embeddings": True,
    "rope_scaling": None,
    "conjugate_scale": None,
}
