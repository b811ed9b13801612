"""Plain PyTorch reference for the goldens, written from the paper's equations and independent of the C++ code.

    generate.py --check DIR...                              recompute and compare with golden.safetensors
    generate.py --new CONFIG.json --seed N --out DIR        draw a checkpoint and write its golden

Everything is fp32 on one thread. Complex numbers are adjacent pairs, z_p = x[2p] + i x[2p+1], as in the files
(Eq. k-to-complex). Equation names are the paper's labels.
Letters: B batch, T time, D width, H query heads, G key/value heads, K head width, V vocabulary.
"""

import argparse
import json
import math
import pathlib
import struct
import sys

import torch
from torch.nn.functional import cross_entropy, silu

TIED = {"crope_qk": "qk", "crope_qkv": "qkv", "crope_all": "qkvo"}  # the paper's modes qk, qkv and all
HALVED = {"half_rope_qk": "qk", "half_rope_all": "qkvo"}  # dense projections with heads of half the width

LR, STEPS, DECAY, MOMENTUM = 2e-3, 3, 0.1, 0.95
DEFAULT_MUON = {"muon_dense": "whole", "muon_tied": "complex", "muon_lr": "match_rms_adamw", "muon_precision": "fp32"}
MUON_CHOICES = {
    "muon_dense": ("whole", "quarters"),
    "muon_tied": ("complex", "separate"),
    "muon_lr": ("match_rms_adamw", "original"),
    "muon_precision": ("fp32",),  # bf16 results depend on the order of sums far more than the tolerance allows
}
TOLERANCE = {"after3": 1e-4}  # all other tensors: 1e-5


# ---- Files ----

DTYPES = {"F32": torch.float32, "I64": torch.int64}


def read_tensors(path):
    data = bytearray(path.read_bytes())
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(bytes(data[8 : 8 + size]))
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = torch.frombuffer(data[begin:end], dtype=DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def write_tensors(path, tensors):
    names = {dtype: name for name, dtype in DTYPES.items()}
    header, chunks, offset = {}, [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].dtype != torch.int64, item[0])):
        chunk = bytes(tensor.detach().contiguous().flatten().view(torch.uint8).tolist())
        end = offset + len(chunk)
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        chunks.append(chunk)
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(chunks))


# ---- Shapes ----


def head_width(config, projection):
    full = config.get("head_dim") or config["d_model"] // config["num_heads"]
    return full // 2 if projection in HALVED.get(config["variant"], "") else full


def num_heads(config, projection):
    return config.get("num_kv_heads", config["num_heads"]) if projection in "kv" else config["num_heads"]


def parameter_shapes(config):
    D, F = config["d_model"], config["d_ff"]
    K = head_width(config, "q")
    norm_gain = {"free": D, "pair": D // 2}[config.get("norm_gain", "free")]
    qk_gain = {"free": K, "pair": K // 2, "none": 0}[config.get("qk_gain", "free")]
    shapes = {"embedding.weight": (config["vocab_size"], D), "norm.weight": (norm_gain,)}
    for n in range(config["num_layers"]):
        block = f"blocks.{n}."
        for projection in "qkvo":
            # The output projection reads what the query heads collected from V.
            width = num_heads(config, "q" if projection == "o" else projection) * head_width(config, projection)
            out, into = (D, width) if projection == "o" else (width, D)
            if projection in TIED.get(config["variant"], ""):
                for part in "ab":
                    shapes[f"{block}attention.{projection}.{part}"] = (out // 2, into // 2)
            else:
                shapes[f"{block}attention.{projection}.weight"] = (out, into)
        if qk_gain:
            shapes[block + "attention.q_norm.weight"] = shapes[block + "attention.k_norm.weight"] = (qk_gain,)
        shapes[block + "attention_norm.weight"] = shapes[block + "feed_forward_norm.weight"] = (norm_gain,)
        shapes[block + "feed_forward.gate.weight"] = shapes[block + "feed_forward.up.weight"] = (F, D)
        shapes[block + "feed_forward.down.weight"] = (D, F)
    return shapes


# ---- Model ----


def expand(a, b):
    """The paper's tie: W[i,j] = W[i+1,j+1] = a and W[i,j+1] = -W[i+1,j] = b for even i, j.

    Each 2x2 block multiplies by a - ib.
    """
    top, bottom = torch.stack((a, b), -1), torch.stack((-b, a), -1)  # rows of the 2x2 blocks, [M, N, 2]
    M, N = a.shape
    return torch.stack((top, bottom), 1).reshape(2 * M, 2 * N)


def contract(W):
    """The nearest tied pair to W. Exact for a tied W."""
    return (W[0::2, 0::2] + W[1::2, 1::2]) / 2, (W[0::2, 1::2] - W[1::2, 0::2]) / 2


def projection_matrix(weights, name):
    if name + ".weight" in weights:
        return weights[name + ".weight"]
    return expand(weights[name + ".a"], weights[name + ".b"])


def rms_norm(x, gain, eps):
    """gain: as wide as x, half as wide (gain j multiplies coordinates 2j and 2j+1), or None."""
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    if gain is None:
        return y
    return y * (gain if len(gain) == x.shape[-1] else gain.repeat_interleave(2))


def rope(x, base):
    """R_m x: pair j of x[..., T, K] at position m is multiplied by exp(i m theta_j), theta_j = base^(-2j/K)."""
    T, K = x.shape[-2:]
    theta = base ** (-torch.arange(0, K, 2, dtype=torch.float32) / K)
    angle = torch.arange(T, dtype=torch.float32)[:, None] * theta
    re, im = x[..., 0::2], x[..., 1::2]
    return torch.stack((re * angle.cos() - im * angle.sin(), re * angle.sin() + im * angle.cos()), -1).flatten(-2)


def attention(config, weights, prefix, x):
    """x[B, T, D] -> [B, T, D]: scores of Eq. pe-rope (tied Q and K: Eq. pe-crope), Eq. attn-weights, Eq. attn-out."""
    B, T, _ = x.shape
    heads = {}
    for projection in "qkv":
        y = x @ projection_matrix(weights, prefix + projection).T
        heads[projection] = y.view(B, T, num_heads(config, projection), head_width(config, projection)).transpose(1, 2)
    q, k, v = heads["q"], heads["k"], heads["v"]  # [B, H or G, T, K]
    if config.get("qk_norm", True):
        q = rms_norm(q, weights.get(prefix + "q_norm.weight"), config["norm_eps"])
        k = rms_norm(k, weights.get(prefix + "k_norm.weight"), config["norm_eps"])
    q, k = rope(q, config["rope_theta"]), rope(k, config["rope_theta"])
    group = config["num_heads"] // k.shape[1]  # query head h reads key/value head h // group
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    out = scores.masked_fill(future, -math.inf).softmax(-1) @ v
    return out.transpose(1, 2).reshape(B, T, -1) @ projection_matrix(weights, prefix + "o").T


def feed_forward(weights, prefix, x):
    gate, up, down = (weights[f"{prefix}{name}.weight"] for name in ("gate", "up", "down"))
    return (silu(x @ gate.T) * (x @ up.T)) @ down.T


def logits(config, weights, tokens):
    """Pre-norm decoder with the embedding tied to the output projection. tokens[B, T] -> [B, T, V]."""

    def norm(name, x):
        return rms_norm(x, weights[name + ".weight"], config["norm_eps"])

    x = weights["embedding.weight"][tokens]
    for n in range(config["num_layers"]):
        block = f"blocks.{n}."
        x = x + attention(config, weights, block + "attention.", norm(block + "attention_norm", x))
        x = x + feed_forward(weights, block + "feed_forward.", norm(block + "feed_forward_norm", x))
    return norm("norm", x) @ weights["embedding.weight"].T


def mean_loss(config, weights, tokens):
    return cross_entropy(logits(config, weights, tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


# ---- Optimiser ----


def newton_schulz(G):
    """Muon's orthogonalisation: five steps of X <- c0 X + (c1 S + c2 S^2) X with S = X X^T, on the wide orientation."""
    X = G.T if G.shape[0] > G.shape[1] else G
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        S = X @ X.T
        X = 3.4445 * X + (-4.7750 * S + 2.0315 * S @ S) @ X
    return X.T if G.shape[0] > G.shape[1] else X


def newton_schulz_pair(a, b):
    """The same for the complex matrix a - ib: the expanded iteration stays tied, so contracting it loses nothing."""
    return contract(newton_schulz(expand(a, b)))


def muon_scale(rows, columns, muon):
    if muon["muon_lr"] == "original":
        return math.sqrt(max(1.0, rows / columns))
    return 0.2 * math.sqrt(max(rows, columns))


def muon_directions(updates, muon):
    """name -> orthogonalised update, scaled by the shape of the matrix that was orthogonalised."""
    directions = {}
    for name, update in updates.items():
        rows, columns = update.shape
        if name.endswith(".b") and muon["muon_tied"] == "complex":
            continue  # done with its .a
        if name.endswith(".a") and muon["muon_tied"] == "complex":
            other = name[:-1] + "b"
            for part, direction in zip((name, other), newton_schulz_pair(update, updates[other])):
                directions[part] = direction * muon_scale(2 * rows, 2 * columns, muon)
        elif name.endswith(".weight") and ".attention." in name and muon["muon_dense"] == "quarters":
            direction = torch.empty_like(update)
            for row in (0, 1):
                for column in (0, 1):
                    direction[row::2, column::2] = newton_schulz(update[row::2, column::2])
            directions[name] = direction * muon_scale(rows // 2, columns // 2, muon)
        else:
            directions[name] = newton_schulz(update) * muon_scale(rows, columns, muon)
    return directions


def train(config, weights, tokens, muon):
    """Three updates on one batch: Muon on every matrix except the embedding, AdamW on the embedding and the gains."""
    weights = {name: value.clone().requires_grad_() for name, value in weights.items()}
    matrices = {name: value for name, value in weights.items() if value.dim() == 2 and name != "embedding.weight"}
    momentum = {name: torch.zeros_like(value) for name, value in matrices.items()}
    gains = [value for value in weights.values() if value.dim() == 1]
    adamw = torch.optim.AdamW(
        [{"params": [weights["embedding.weight"]], "weight_decay": DECAY}, {"params": gains, "weight_decay": 0.0}],
        lr=LR, betas=(0.9, 0.95), eps=1e-8, foreach=False)
    losses = []
    for _ in range(STEPS):
        loss = mean_loss(config, weights, tokens)
        losses.append(loss.detach())
        for value in weights.values():
            value.grad = None
        loss.backward()
        with torch.no_grad():
            updates = {}
            for name, value in matrices.items():
                momentum[name].lerp_(value.grad, 1 - MOMENTUM)
                updates[name] = value.grad.lerp(momentum[name], MOMENTUM)  # Nesterov
            directions = muon_directions(updates, muon)
            for name, value in matrices.items():
                value.mul_(1 - LR * DECAY).sub_(LR * directions[name])  # decay uses the unscaled rate
        adamw.step()
    return torch.stack(losses), weights


# ---- Goldens ----


def compute(config, weights, tokens, muon):
    leaves = {name: value.clone().requires_grad_() for name, value in weights.items()}
    loss = mean_loss(config, leaves, tokens)
    loss.backward()
    step_losses, after = train(config, weights, tokens, muon)
    with torch.no_grad():
        golden = {"tokens": tokens, "logits": logits(config, weights, tokens[:, :-1])}
    golden.update({"loss": loss.reshape(1), "step_losses": step_losses})
    golden.update({"grad." + name: leaf.grad for name, leaf in leaves.items()})
    golden.update({"after3." + name: value for name, value in after.items()})
    return golden


def compute_newton_schulz(golden):
    computed = dict(golden)
    for name in [name for name in golden if ".in" in name]:
        if name.startswith("real."):
            computed[name.replace(".in", ".out")] = newton_schulz(golden[name])
        elif name.endswith(".a"):
            out = name.replace(".in", ".out")
            computed[out], computed[out[:-1] + "b"] = newton_schulz_pair(golden[name], golden[name[:-1] + "b"])
    return computed


def muon_settings(given):
    settings = DEFAULT_MUON | given
    for key, value in settings.items():
        if value not in MUON_CHOICES.get(key, ()):
            sys.exit(f"golden.json: {key} must be one of {MUON_CHOICES.get(key, 'no known setting')} (got {value!r})")
    return settings


def find_goldens(paths):
    """Golden folders and newton_schulz.safetensors files at or below the paths."""
    found = []
    for path in paths:
        names = ("golden.safetensors", "newton_schulz.safetensors")
        here = [path] if path.is_file() else [file for name in names for file in sorted(path.rglob(name))]
        if not here:
            sys.exit(f"{path}: no golden.safetensors found there")
        found += [file.parent if file.name == "golden.safetensors" else file for file in here]
    return found


def check(path):
    """Prints the largest deviation of each kind of tensor. Returns whether all are within tolerance."""
    if path.is_file():
        golden = read_tensors(path)
        computed = compute_newton_schulz(golden)
    else:
        config = json.loads((path / "config.json").read_text())
        settings = path / "golden.json"
        muon = muon_settings(json.loads(settings.read_text()) if settings.exists() else {})
        weights, golden = read_tensors(path / "model.safetensors"), read_tensors(path / "golden.safetensors")
        shapes = {name: tuple(value.shape) for name, value in weights.items()}
        if shapes != parameter_shapes(config):
            differing = sorted(set(shapes.items()) ^ set(parameter_shapes(config).items()))
            sys.exit(f"{path}: model.safetensors does not match config.json: {differing}")
        computed = compute(config, weights, golden["tokens"], muon)
    if computed.keys() != golden.keys():
        differing = sorted(computed.keys() ^ golden.keys())
        sys.exit(f"{path}: golden.safetensors does not match model.safetensors: {differing}")
    largest, passed = {}, True
    for name, expected in golden.items():
        kind = name.split(".")[0]
        error = ((computed[name].double() - expected.double()).norm() / expected.double().norm()).item()
        largest[kind] = max(largest.get(kind, (0.0, name)), (error, name))
        passed &= error <= TOLERANCE.get(kind, 1e-5)  # false for NaN
    errors = ", ".join(f"{kind} {error:.1e}" for kind, (error, _) in largest.items() if kind != "tokens")
    error, name = max(largest.values())
    print(f"{'ok' if passed else 'FAILED'} {path}: {errors}; largest {error:.1e} in {name}")
    return passed


def draw(config, seed):
    """Normal weights: projections with std 1/sqrt(real fan-in), a and b alike; embedding 0.02.

    Gains are spread around 1, so that a gain in the wrong place shows.
    """
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in sorted(parameter_shapes(config).items()):
        value = torch.randn(shape, generator=generator)
        if name == "embedding.weight":
            value *= 0.02
        elif len(shape) == 1:
            value = 1 + 0.2 * value
        else:
            fan_in = shape[1] * (1 if name.endswith(".weight") else 2)
            value /= math.sqrt(fan_in)
        weights[name] = value
    return weights, torch.randint(config["vocab_size"], (3, 18), generator=generator)


def write_new(config_path, seed, out, muon):
    config = json.loads(config_path.read_text())
    weights, tokens = draw(config, seed)
    out.mkdir(parents=True, exist_ok=True)
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    if muon != DEFAULT_MUON:
        (out / "golden.json").write_text(json.dumps(muon, indent=2) + "\n")
    write_tensors(out / "model.safetensors", weights)
    write_tensors(out / "golden.safetensors", compute(config, weights, tokens, muon))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    path = pathlib.Path
    mode.add_argument("--check", nargs="+", type=path, metavar="PATH", help="golden folders, or folders of them")
    mode.add_argument("--new", type=path, metavar="CONFIG", help="config.json of the model to draw")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the weights and tokens")
    parser.add_argument("--out", type=path, help="folder to write (with --new)")
    for name, choices in MUON_CHOICES.items():
        flag = "--" + name.replace("_", "-")
        parser.add_argument(flag, choices=choices, default=DEFAULT_MUON[name], help="Muon setting (with --new)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if arguments.check:
        sys.exit(0 if all([check(path) for path in find_goldens(arguments.check)]) else 1)
    if arguments.out is None:
        parser.error("--new needs --out")
    write_new(arguments.new, arguments.seed, arguments.out, {name: getattr(arguments, name) for name in MUON_CHOICES})


if __name__ == "__main__":
    main()
