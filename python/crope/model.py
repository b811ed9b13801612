"""The paper's decoder in plain PyTorch, and the directories it is loaded from and saved to."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .blocks import widen
from .config import ModelConfig
from .files import read_tensors, write_tensors
from .layers import Block, RMSNorm, initialise, model_rotary_table


class KeyValueCache:
    """Keys and values of all layers, [B, G, S, K] each."""

    def __init__(self) -> None:
        self.layers: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def length(self) -> int:
        return self.layers[0][0].shape[2] if self.layers else 0

    def update(self, keys: Tensor, values: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        if layer in self.layers:
            old_keys, old_values = self.layers[layer]
            keys, values = torch.cat((old_keys, keys), 2), torch.cat((old_values, values), 2)
        self.layers[layer] = keys, values
        return keys, values


class Transformer(nn.Module):
    """Logits[B, T, V] from ids[B, T]. Parameters have the names, shapes and layout of model.safetensors."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.num_layers))
        self.norm = RMSNorm(config.d_model, config.norm_eps, config.norm_gain)
        self.output = None if config.tie_embeddings else nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.apply(initialise)
        if self.output is not None:
            nn.init.normal_(self.output.weight, std=0.02)

    def forward(self, ids: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        """With a cache, ids continue the tokens in it, and it grows."""
        first = cache.length if cache is not None else 0
        x = self.embedding(ids)
        positions = torch.arange(first, first + ids.shape[1], device=ids.device)
        table = model_rotary_table(positions, self.config)
        for block in self.blocks:
            x, _ = block(x, table, cache=cache)
        x = self.norm(x)
        return functional.linear(x, self.embedding.weight if self.output is None else self.output.weight)

    @torch.no_grad()
    def generate(
        self,
        ids: Tensor,
        max_tokens: int,
        temperature: float = 0.0,
        end: int | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """ids[B, T] with up to max_tokens more: the likeliest token each time, or drawn at a temperature above 0.

        After `end` a row is filled with `end`; generation stops when every row has ended.
        """
        cache, new = KeyValueCache(), ids
        ended = torch.zeros(ids.shape[0], 1, dtype=torch.bool, device=ids.device)
        for _ in range(max_tokens):
            logits = self(new, cache)[:, -1]
            if temperature > 0:
                new = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)
            else:
                new = logits.argmax(-1, keepdim=True)
            if end is not None:
                new = new.masked_fill(ended, end)
                ended = ended | (new == end)
            ids = torch.cat((ids, new), 1)
            if bool(ended.all()):
                break
        return ids

    def save(self, path: str | Path) -> None:
        """Writes config.json and model.safetensors, which the program `crope` reads, into the folder `path`."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        write_tensors(folder / "model.safetensors", dict(self.state_dict()))
        (folder / "config.json").write_text(json.dumps(self.config.to_dict(), indent=2) + "\n")


def resolve_model_dir(path: str | Path) -> Path:
    """The model directory that `path` is or, for a run directory, its newest checkpoint."""
    folder = Path(path)
    for candidate in (folder, folder / "latest"):
        if (candidate / "config.json").exists():
            return candidate
    if not folder.exists():
        raise FileNotFoundError(f"{folder} does not exist")
    raise FileNotFoundError(f"{folder} is neither a model directory (config.json) nor a run with a checkpoint (latest)")


def read_config(path: str | Path) -> ModelConfig:
    """The configuration in a model or run directory."""
    file = resolve_model_dir(path) / "config.json"
    values: Any = json.loads(file.read_text())
    if not isinstance(values, dict):
        raise ValueError(f"{file}: expected a JSON object")
    return ModelConfig.from_dict(values, str(file))


def load(path: str | Path, device: torch.device | str = "cpu", dtype: torch.dtype | None = None) -> Transformer:
    """The model of a model or run directory, in evaluation mode.

    On the CPU, and without another dtype, weights are views of the mapped file, so nothing is copied; training them
    copies the pages that change and leaves the file alone. Quantised weights are widened to fp32.
    """
    folder = resolve_model_dir(path)
    config = read_config(folder)
    with torch.device("meta"):
        model = Transformer(config)
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    tensors = read_tensors(folder / "model.safetensors")
    for name, value in tensors.items():
        if value.dtype == torch.uint8 and value.dim() == 3 and len(expected.get(name, ())) == 2:
            try:
                tensors[name] = widen(name, value, expected[name][1])
            except ValueError as error:
                raise ValueError(f"{folder}: tensor '{name}': {error}") from error
    found = {name: tuple(value.shape) for name, value in tensors.items()}
    if expected != found:
        name = sorted(dict(expected.items() ^ found.items()))[0]
        raise ValueError(
            f"{folder}: config.json and model.safetensors do not belong together: "
            f"'{name}' should be {expected.get(name, 'absent')} and is {found.get(name, 'absent')}"
        )
    model.load_state_dict({name: value.to(device, dtype) for name, value in tensors.items()}, assign=True)
    return model.eval()
