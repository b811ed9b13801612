"""Losses of a run as a table; any plotting tool takes the same arrays.

python plot_metrics.py RUN
"""

import sys

import crope

metrics = crope.metrics(sys.argv[1])
step, loss = metrics["loss"]
print(f"{len(step)} updates, loss {loss[0]:.3f} -> {loss[-1]:.3f}")
for step, value in zip(*metrics.get("val_loss", ([], []))):
    print(f"step {int(step)}: validation loss {float(value):.3f}")
