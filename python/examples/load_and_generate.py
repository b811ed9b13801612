"""Loads a run of `crope train` and continues a text.

python load_and_generate.py RUN_OR_MODEL_DIR PROMPT
"""

import sys

import torch

import crope

model, tokenizer = crope.load(sys.argv[1]), crope.load_tokenizer(sys.argv[1])
ids = torch.tensor([tokenizer.encode(sys.argv[2])])
print(tokenizer.decode(model.generate(ids, max_tokens=20)[0]))
