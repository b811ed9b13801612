"""safetensors files, read as views of the mapped file and written atomically. Needs nothing but torch."""

import contextlib
import ctypes
import json
import os
import struct
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

DTYPES: dict[str, torch.dtype] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
LONGEST_HEADER = 100_000_000


def read_tensors(path: str | Path) -> dict[str, Tensor]:
    """Tensors by name. They share one private mapping of the file: nothing is copied, and writes do not reach the file.

    Raises ValueError if the file is no safetensors file or is damaged.
    """
    path = Path(path)
    if sys.byteorder != "little":
        raise ValueError(f"{path}: safetensors are little-endian, and this machine is not")
    size = path.stat().st_size
    with path.open("rb") as file:
        prefix = file.read(8)
        (length,) = struct.unpack("<Q", prefix) if len(prefix) == 8 else (LONGEST_HEADER + 1,)
        if length > min(LONGEST_HEADER, size - 8):
            raise ValueError(f"{path}: not a safetensors file, or cut off: the header does not fit its {size} bytes")
        try:
            header = json.loads(file.read(length))
        except ValueError as error:
            raise ValueError(f"{path}: the header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise ValueError(f"{path}: the header is not a JSON object")
    header.pop("__metadata__", None)
    start = 8 + length
    storage = torch.UntypedStorage.from_file(str(path), shared=False, nbytes=size)
    return {name: _view(storage, entry, start, size, f"{path}: tensor '{name}'") for name, entry in header.items()}


def _view(storage: Any, entry: object, start: int, size: int, where: str) -> Tensor:
    try:
        assert isinstance(entry, dict)
        dtype, shape, (begin, end) = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        count = 1
        for extent in shape:
            assert isinstance(extent, int) and extent >= 0
            count *= extent
        assert 0 <= begin <= end <= size - start and end - begin == count * dtype.itemsize
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{where}: unknown type, impossible shape or place outside the file: {entry}") from error
    first = start + begin
    if first % dtype.itemsize == 0:
        strides = [1] * len(shape)
        for i in range(len(shape) - 2, -1, -1):
            strides[i] = strides[i + 1] * shape[i + 1]
        return torch.empty(0, dtype=dtype).set_(storage, first // dtype.itemsize, shape, strides)
    # A header that is not padded puts elements where no pointer to them may be.
    window = torch.empty(0, dtype=torch.uint8).set_(storage, first, (end - begin,), (1,))
    return window.clone().view(dtype).reshape(shape)


def write_tensors(path: str | Path, tensors: dict[str, Tensor]) -> None:
    """Writes the file under a temporary name and renames it when it is whole."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, tensor in tensors.items():
        if tensor.dtype not in NAMES:
            raise ValueError(f"{name}: a tensor of type {tensor.dtype} cannot be written to safetensors")
        end = offset + tensor.numel() * tensor.dtype.itemsize
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for tensor in tensors.values():
                plain = tensor.detach().cpu().contiguous()
                size = plain.numel() * plain.dtype.itemsize
                if size:
                    file.write((ctypes.c_char * size).from_address(plain.data_ptr()))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
