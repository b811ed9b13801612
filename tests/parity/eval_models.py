"""Small models with a tokenizer, made for comparisons: one of random weights, one trained for some seconds."""

import json

import torch
import transformers
from safetensors.torch import save_file

from conftest import run_crope

SHAPE = {
    "num_layers": 2,
    "num_heads": 2,
    "d_model": 64,
    "d_ff": 128,
    "rope_theta": 5000.0,
    "norm_eps": 1e-6,
    "max_seq_len": 512,
}


def write_random_model(folder, variant, vocab_size, seed, **shape):
    """A model directory of normal weights; see docs/formats.md for the names."""
    config = {"vocab_size": vocab_size, **SHAPE, **shape, "variant": variant}
    generator = torch.Generator().manual_seed(seed)
    width, heads, inner = config["d_model"], config["num_heads"], config["d_ff"]
    tied = {"rope": "", "crope_qk": "qk", "crope_qkv": "qkv", "crope_all": "qkvo"}[variant]

    def normal(rows, columns, std):
        return torch.randn(rows, columns, generator=generator) * std

    tensors = {"embedding.weight": normal(vocab_size, width, 0.5), "norm.weight": torch.ones(width)}
    for n in range(config["num_layers"]):
        block = f"blocks.{n}"
        for name in ("attention_norm", "feed_forward_norm"):
            tensors[f"{block}.{name}.weight"] = torch.ones(width)
        for name in ("q_norm", "k_norm"):
            tensors[f"{block}.attention.{name}.weight"] = torch.ones(width // heads)
        for name in "qkvo":
            if name in tied:
                for part in "ab":
                    tensors[f"{block}.attention.{name}.{part}"] = normal(width // 2, width // 2, width**-0.5)
            else:
                tensors[f"{block}.attention.{name}.weight"] = normal(width, width, width**-0.5)
        for name, rows, columns in (("gate", inner, width), ("up", inner, width), ("down", width, inner)):
            tensors[f"{block}.feed_forward.{name}.weight"] = normal(rows, columns, columns**-0.5)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: value.contiguous() for name, value in tensors.items()}, folder / "model.safetensors")
    return folder


def add_tokenizer(model, tokenizer):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (model / name).write_bytes((tokenizer / name).read_bytes())


def train(exported, documents, steps, out):
    """Trains an exported model on texts with transformers, and writes it to `out`. Some seconds on one core."""
    torch.manual_seed(0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(exported)
    model = transformers.AutoModelForCausalLM.from_pretrained(exported, dtype=torch.float32)
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(0.04)
    ids = torch.tensor([i for text in documents for i in tokenizer.encode("<|endoftext|>" + text)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
    rows, length = 16, 128
    for _ in range(steps):
        starts = torch.randint(len(ids) - length, (rows,))
        batch = torch.stack([ids[start : start + length] for start in starts])
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return loss.item()


def random_model(folder, world, variant):
    """A model directory of random weights with a tokenizer of the world, and its export."""
    run_crope("tokenizer", "train", world / "train.jsonl", "--vocab-size", 1000, "--out", folder / "tokenizer")
    # A vocabulary that is padded, as those of real models are.
    start = write_random_model(folder / "start", variant, 1024, seed=3)
    add_tokenizer(start, folder / "tokenizer")
    run_crope("export", start, folder / "hf", "--format", "hf")
    return start, folder / "hf"


def trained_model(folder, world):
    """The same, trained on the world's documents for some seconds."""
    _, exported = random_model(folder, world, "rope")
    documents = [json.loads(line)["text"] for line in (world / "train.jsonl").open(encoding="utf-8")]
    loss = train(exported, documents, 300, folder / "trained_hf")
    assert loss < 3, loss
    run_crope("import", folder / "trained_hf", folder / "trained")
    run_crope("export", folder / "trained", folder / "export", "--format", "hf")
    return folder / "trained", folder / "export"


def synthetic_world(folder):
    """The embedded corpus and its benchmarks."""
    run_crope("data", "synth", "--documents", 2000, "--seed", 1, "--out", folder)
    return folder
