"""Matrices of 8 or 4 bits a weight, as `crope quantize` writes them, widened to fp32 (docs/formats.md)."""

import torch
from torch import Tensor

BLOCK = 32
Q8_0, Q4_0, Q4_1 = 34, 18, 20  # bytes of a block
ROWS_AND_COLUMNS = ("attention.q.weight", "attention.k.weight", "attention.v.weight", "attention.o.weight")
ROWS = ("feed_forward.down.weight",)
COLUMNS = ("embedding.weight", "output.weight", "feed_forward.gate.weight", "feed_forward.up.weight")


def widen_blocks(blocks: Tensor, columns: int) -> Tensor:
    """The matrix [rows, columns] of blocks [rows, blocks, bytes of a block].

    Raises ValueError if the blocks are of no known type or too few.
    """
    rows, count, size = blocks.shape
    if size not in (Q8_0, Q4_0, Q4_1) or count != -(-columns // BLOCK):
        raise ValueError(
            f"expected blocks of {Q8_0}, {Q4_0} or {Q4_1} bytes for {columns} columns, found {tuple(blocks.shape)}"
        )
    head = 4 if size == Q4_1 else 2
    scales = blocks[..., :head].contiguous().view(torch.float16).float()
    integers = blocks[..., head:].contiguous()
    if size == Q8_0:
        values = integers.view(torch.int8).float()
    else:
        values = torch.cat([integers & 15, integers >> 4], -1).float() - (8 if size == Q4_0 else 0)
    wide = values * scales[..., :1]
    if size == Q4_1:
        wide = wide + scales[..., 1:]
    return wide.reshape(rows, count * BLOCK)[:, :columns].contiguous()


def halves_to_pairs(matrix: Tensor, dimension: int) -> Tensor:
    """From all real parts, then all imaginary parts, to pairs of neighbours."""
    shape = matrix.shape
    split: Tensor = matrix.unflatten(dimension, (2, shape[dimension] // 2))
    pairs: Tensor = split.transpose(dimension, dimension + 1)
    return pairs.reshape(shape)


def widen(name: str, blocks: Tensor, columns: int) -> Tensor:
    """The parameter `name` in fp32, in the order of plain tensors."""
    matrix = widen_blocks(blocks, columns)
    if name.endswith((*ROWS_AND_COLUMNS, *ROWS)):
        matrix = halves_to_pairs(matrix, 0)
    if name.endswith((*ROWS_AND_COLUMNS, *COLUMNS)):
        matrix = halves_to_pairs(matrix, 1)
    return matrix
