"""A complex-linear layer in place of nn.Linear, trained with Muon."""

import torch
from torch import nn

import crope

torch.manual_seed(0)
teacher = crope.BlockLinear(64, 64)
student = nn.Sequential(crope.BlockLinear(64, 128), nn.Tanh(), crope.BlockLinear(128, 64))
optimizer = crope.Muon(crope.param_groups(student), lr=5e-3)
dense = sum(2 * parameter.numel() for parameter in student.parameters())
print(f"{sum(parameter.numel() for parameter in student.parameters()):,} parameters; dense layers have {dense:,}")
for step in range(60):
    x = torch.randn(256, 64)
    loss = (student(x) - torch.tanh(teacher(x)).detach()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}")
