"""Trains a small crope_all model on the bytes of a text file, and saves it as a directory that `crope` reads.

python train_small.py TEXT_FILE OUT_DIR [STEPS]
"""

import sys
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

import crope

source, out, steps = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 200
torch.manual_seed(0)
config = crope.ModelConfig(
    vocab_size=256, num_layers=2, num_heads=4, d_model=128, d_ff=256, max_seq_len=128, variant="crope_all"
)
model = crope.Transformer(config).train()
optimizer = crope.Muon(crope.param_groups(model), lr=4e-3)
text = torch.frombuffer(bytearray(source.read_bytes()), dtype=torch.uint8).long()
for step in range(1, steps + 1):
    starts = torch.randint(len(text) - 65, (16,))
    rows = torch.stack([text[start : start + 65] for start in starts.tolist()])
    loss = cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % max(1, steps // 5) == 0:
        print(f"step {step}: loss {loss.item():.3f}")
model.save(out)
print("wrote", out)
