"""The paper's decoder in PyTorch, as its users write it: what our program is measured against and checked against.

Weights come from a model directory (docs/formats.md), where complex pairs are adjacent. Here the residual stream is
[re | im], and each head is, so that RoPE is the usual rotation of halves and a tied projection is one matrix product
with the expanded matrix, which is how PyTorch users compute it.
"""

import json
import math
import pathlib

import torch
import torch.nn.functional as F
from torch import nn

# variant: (ties Q and K, ties V, ties O, halves Q and K, halves V)
VARIANTS = {
    "rope": (False, False, False, False, False),
    "crope_qk": (True, False, False, False, False),
    "crope_qkv": (True, True, False, False, False),
    "crope_all": (True, True, True, False, False),
    "half_rope_qk": (False, False, False, True, False),
    "half_rope_all": (False, False, False, True, True),
}


def to_halves(tensor, dim):
    """Adjacent pairs along `dim` to [re | im]."""
    return torch.cat([tensor.index_select(dim, torch.arange(part, tensor.shape[dim], 2)) for part in (0, 1)], dim)


def heads_to_halves(tensor, dim, heads):
    """The same within each head."""
    return torch.cat([to_halves(head, dim) for head in tensor.chunk(heads, dim)], dim)


class TiedLinear(nn.Module):
    """Complex-linear: every 2x2 block is [[a, b], [-b, a]]. Groups of halves on either side: heads, or 1 for the stream."""

    def __init__(self, inputs, outputs, input_groups=1, output_groups=1):
        super().__init__()
        self.a = nn.Parameter(torch.empty(outputs // 2, inputs // 2))
        self.b = nn.Parameter(torch.empty(outputs // 2, inputs // 2))
        self.groups = (output_groups, input_groups)

    def expanded(self):
        out_groups, in_groups = self.groups
        rows, columns = self.a.shape
        a = self.a.view(out_groups, rows // out_groups, in_groups, columns // in_groups)
        b = self.b.view_as(a)
        re = torch.stack([a, b], 3)  # [out groups, rows, in groups, part, columns]
        im = torch.stack([-b, a], 3)
        return torch.stack([re, im], 1).reshape(2 * rows, 2 * columns)

    def forward(self, x):
        return F.linear(x, self.expanded())


def linear(inputs, outputs, tied, **groups):
    return TiedLinear(inputs, outputs, **groups) if tied else nn.Linear(inputs, outputs, bias=False)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        ties_qk, ties_v, ties_o, halves_qk, halves_v = VARIANTS[config["variant"]]
        width, heads = config["d_model"], config["num_heads"]
        head = width // heads
        self.heads, self.eps = heads, config["norm_eps"]
        self.qk_width, self.v_width = head // (2 if halves_qk else 1), head // (2 if halves_v else 1)
        self.q = linear(width, heads * self.qk_width, ties_qk, output_groups=heads)
        self.k = linear(width, heads * self.qk_width, ties_qk, output_groups=heads)
        self.v = linear(width, heads * self.v_width, ties_v, output_groups=heads)
        self.o = linear(heads * self.v_width, width, ties_o, input_groups=heads)
        self.q_norm = nn.Parameter(torch.ones(self.qk_width))
        self.k_norm = nn.Parameter(torch.ones(self.qk_width))

    def rotated(self, x, gain, cos, sin):
        x = F.rms_norm(x, gain.shape, gain, self.eps)
        re, im = x.chunk(2, -1)
        return torch.cat([re * cos - im * sin, im * cos + re * sin], -1)

    def forward(self, x, cos, sin):
        B, T, _ = x.shape
        q = self.q(x).view(B, T, self.heads, self.qk_width).transpose(1, 2)
        k = self.k(x).view(B, T, self.heads, self.qk_width).transpose(1, 2)
        v = self.v(x).view(B, T, self.heads, self.v_width).transpose(1, 2)
        q, k = self.rotated(q, self.q_norm, cos, sin), self.rotated(k, self.k_norm, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(B, T, -1))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, hidden = config["d_model"], config["d_ff"]
        self.eps = config["norm_eps"]
        self.attention_norm = nn.Parameter(torch.ones(width))
        self.attention = Attention(config)
        self.feed_forward_norm = nn.Parameter(torch.ones(width))
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, h, cos, sin):
        h = h + self.attention(F.rms_norm(h, h.shape[-1:], self.attention_norm, self.eps), cos, sin)
        x = F.rms_norm(h, h.shape[-1:], self.feed_forward_norm, self.eps)
        return h + self.down(F.silu(self.gate(x)) * self.up(x))


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config["vocab_size"], config["d_model"])
        self.blocks = nn.ModuleList(Block(config) for _ in range(config["num_layers"]))
        self.norm = nn.Parameter(torch.ones(config["d_model"]))
        width = self.blocks[0].attention.qk_width
        self.register_buffer("frequencies", config["rope_theta"] ** (-torch.arange(0, width, 2) / width))

    def logits(self, ids):
        """[B, T, V] of ids[B, T]."""
        angles = torch.arange(ids.shape[1])[:, None] * self.frequencies
        cos, sin = angles.cos(), angles.sin()
        h = self.embedding(ids)
        for block in self.blocks:
            h = block(h, cos, sin)
        h = F.rms_norm(h, h.shape[-1:], self.norm, self.config["norm_eps"])
        return F.linear(h, self.embedding.weight)

    def forward(self, tokens):
        """The mean loss of predicting tokens[:, 1:] from tokens[:, :-1]."""
        return F.cross_entropy(self.logits(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def random_decoder(config, seed=0):
    torch.manual_seed(seed)
    model = Decoder(config)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            fan_in = parameter.shape[1] * (2 if name.endswith((".a", ".b")) else 1)
            nn.init.normal_(parameter, std=0.02 if name == "embedding.weight" else 1 / math.sqrt(fan_in))
    return model


def load_decoder(model_dir):
    from safetensors.torch import load_file

    model_dir = pathlib.Path(model_dir)
    config = json.loads((model_dir / "config.json").read_text())
    model, heads = Decoder(config), config["num_heads"]
    state = {}
    for name, value in load_file(model_dir / "model.safetensors").items():
        field = name.removesuffix(".weight").rsplit(".", 1)[-1]
        if name.endswith((".a", ".b")):  # their rows and columns are pairs already
            state[name] = value
            continue
        if field in ("embedding", "q", "k", "v", "gate", "up"):
            value = to_halves(value, 1)
        if field in ("o", "down", "attention_norm", "feed_forward_norm", "norm"):
            value = to_halves(value, 0)
        if field in ("q", "k", "v"):
            value = heads_to_halves(value, 0, heads)
        if field == "o":
            value = heads_to_halves(value, 1, heads)
        if field in ("q_norm", "k_norm"):
            value = to_halves(value, 0)
        name = name.replace("feed_forward.", "")
        state[name if field in ("embedding", "q", "k", "v", "o", "gate", "up", "down") else name.removesuffix(".weight")] = value
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and missing == ["frequencies"], (missing, unexpected)
    return model


def learning_rate(step, steps, lr, min_lr, warmup):
    if step < warmup:
        return lr * (step + 1) / warmup
    return min_lr + (lr - min_lr) / 2 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def newton_schulz(update, steps=5, eps=1e-7):
    """Muon's orthogonalisation in the type of `update`."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = update.T if update.shape[0] > update.shape[1] else update
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if update.shape[0] > update.shape[1] else x


class Fp32Muon:
    """torch.optim.Muon with the iteration in fp32, and a tied pair as one matrix: the best that stock PyTorch offers here."""

    def __init__(self, model, lr=2e-3, weight_decay=0.1, momentum=0.95):
        self.lr, self.weight_decay, self.momentum = lr, weight_decay, momentum
        tied = [module for module in model.modules() if isinstance(module, TiedLinear)]
        self.pairs = [(module.a, module.b) for module in tied]
        in_pairs = {id(part) for pair in self.pairs for part in pair}
        self.matrices = [(p,) for p in hidden_matrices(model) if id(p) not in in_pairs]
        self.buffers = {id(p): torch.zeros_like(p) for group in self.matrices + self.pairs for p in group}

    @torch.no_grad()
    def step(self):
        for group in self.matrices + self.pairs:
            updates = []
            for p in group:
                buffer = self.buffers[id(p)].lerp_(p.grad, 1 - self.momentum)
                updates.append(p.grad.lerp(buffer, self.momentum))
            if len(group) == 2:
                a, b = updates
                rows, columns = a.shape
                expanded = newton_schulz(torch.cat([torch.cat([a, b], 1), torch.cat([-b, a], 1)], 0))
                updates = [expanded[:rows, :columns], expanded[:rows, columns:]]
                shape = expanded.shape
            else:
                updates = [newton_schulz(updates[0])]
                shape = updates[0].shape
            rate = self.lr * 0.2 * math.sqrt(max(shape))
            for p, update in zip(group, updates):
                p.mul_(1 - self.lr * self.weight_decay).add_(update, alpha=-rate)


def hidden_matrices(model):
    return [p for name, p in model.named_parameters() if p.dim() == 2 and name != "embedding.weight"]


def adamw(model, lr=2e-3, weight_decay=0.1):
    gains = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": [model.embedding.weight], "weight_decay": weight_decay}, {"params": gains, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), eps=1e-8)
