"""A run of `crope train` in transformers: beams, a fine-tuning step, saved again for the program.

python use_transformers.py RUN_OR_MODEL_DIR OUT_DIR
"""

import sys

import torch

import crope
from crope.model import resolve_model_dir

model = crope.CRopeForCausalLM.from_pretrained(resolve_model_dir(sys.argv[1]))
ids = torch.tensor([[1, 2, 3, 4]])
print("beams:", model.generate(ids, num_beams=3, max_new_tokens=8)[0].tolist())
optimizer = crope.Muon(crope.param_groups(model), lr=1e-3)
loss = model(ids, labels=ids).loss
loss.backward()
optimizer.step()
model.save_pretrained(sys.argv[2])
print(f"loss {loss.item():.3f}; wrote", sys.argv[2])
