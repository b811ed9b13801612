"""Makes the attention of a Llama or Qwen model complex-linear, and shows what each layer keeps.

python replace_attention.py [MODEL]      a folder or a name of Hugging Face; a small random Llama without
"""

import sys

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

import crope

if len(sys.argv) > 1:
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
else:
    torch.manual_seed(0)
    sizes = {"vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2))
before = sum(parameter.numel() for parameter in model.parameters())
for kept in crope.replace_attention(model, "crope_all"):
    print(f"layer {kept.layer}: Q {kept.q:.3f}, K {kept.k:.3f}, products of V and O {kept.vo:.3f}")
print(f"{before:,} parameters became {sum(parameter.numel() for parameter in model.parameters()):,}")
