"""llama.cpp through ctypes: the library inside of the package xllamacpp, whose own interface is a server.

Structures of parameters are passed as whole blocks of memory. Their fields are found by their default values, because
their places differ between versions; `open_model` skips the test where it does not find them.
"""

import ctypes
import functools
import importlib.util
import pathlib

import numpy
import pytest

WORDS = 64


class Parameters(ctypes.Structure):
    _fields_ = [("words", ctypes.c_int32 * WORDS)]


class Batch(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.c_void_p),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    ]


LogFunction = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
SILENCE = LogFunction(lambda *_: None)


@functools.cache
def library():
    spec = importlib.util.find_spec("xllamacpp")
    if spec is None or spec.origin is None:
        pytest.skip("the package xllamacpp is not installed: no llama.cpp here")
    found = sorted(pathlib.Path(spec.origin).parent.glob("xllamacpp*.so"))
    if not found:
        pytest.skip("the package xllamacpp has no library of the expected name")
    lib = ctypes.CDLL(str(found[0]))
    pointer, integer, text = ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p
    for name, result, arguments in [
        ("llama_model_default_params", Parameters, []),
        ("llama_context_default_params", Parameters, []),
        ("llama_model_load_from_file", pointer, [text, Parameters]),
        ("llama_init_from_model", pointer, [pointer, Parameters]),
        ("llama_model_get_vocab", pointer, [pointer]),
        ("llama_vocab_n_tokens", integer, [pointer]),
        ("llama_tokenize", integer,
         [pointer, text, integer, ctypes.POINTER(integer), integer, ctypes.c_bool, ctypes.c_bool]),
        ("llama_vocab_eos", integer, [pointer]),
        ("llama_token_to_piece", integer, [pointer, integer, ctypes.c_char_p, integer, integer, ctypes.c_bool]),
        ("llama_batch_init", Batch, [integer, integer, integer]),
        ("llama_batch_free", None, [Batch]),
        ("llama_decode", integer, [pointer, Batch]),
        ("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), [pointer, integer]),
        ("llama_get_memory", pointer, [pointer]),
        ("llama_memory_clear", None, [pointer, ctypes.c_bool]),
        ("llama_log_set", None, [LogFunction, pointer]),
    ]:
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    lib.llama_log_set(SILENCE, None)
    lib.llama_backend_init()
    return lib


def context_parameters(lib, n_ctx, threads, exact=True):
    """Not exact: keys and values in 16 bits and flash attention where llama.cpp chooses it, as is its default."""
    parameters = lib.llama_context_default_params()
    words = parameters.words
    pairs = {i: (words[i], words[i + 1]) for i in range(WORDS - 1)}
    thread_place = next((i for i in range(4, 12) if pairs[i] == (4, 4)), None)  # ggml's default number of threads
    type_place = next((i for i in range(14, 40) if pairs[i] == (1, 1)), None)  # F16 for keys and values
    # Kinds of rope scaling, pooling, attention and flash attention, each to be chosen by the library.
    kind_place = next((i for i in range(6, 16) if list(words[i : i + 4]) == [-1] * 4), None)
    if list(words[:3]) != [512, 2048, 512] or None in (thread_place, type_place, kind_place):
        pytest.skip("this version of llama.cpp has other defaults than this test knows")
    words[0] = words[1] = n_ctx
    words[2] = 256
    words[thread_place] = words[thread_place + 1] = threads
    if exact:
        words[type_place] = words[type_place + 1] = 0  # F32: 16 bits cost 1e-3
        words[kind_place + 3] = 0  # no flash attention: it computes in 16 bits on some CPUs
    return parameters


class Model:
    """A GGUF file. Without a context (n_ctx 0) it only tokenizes."""

    def __init__(self, path, n_ctx=0, threads=2):
        self.lib = library()
        self.model = self.lib.llama_model_load_from_file(str(path).encode(), self.lib.llama_model_default_params())
        assert self.model, f"llama.cpp does not load {path}"
        self.vocab = self.lib.llama_model_get_vocab(self.model)
        self.vocab_size = self.lib.llama_vocab_n_tokens(self.vocab)
        if n_ctx:
            self.context = self.lib.llama_init_from_model(self.model, context_parameters(self.lib, n_ctx, threads))
            assert self.context

    def tokenize(self, text, special=False):
        data = text.encode()
        room = len(data) + 8
        ids = (ctypes.c_int32 * room)()
        count = self.lib.llama_tokenize(self.vocab, data, len(data), ids, room, False, special)
        assert count >= 0
        return list(ids[:count])

    def eos(self):
        return self.lib.llama_vocab_eos(self.vocab)

    def detokenize(self, ids):
        """The bytes of each token, without the library's cleaning of spaces."""
        room = 256
        piece, text = ctypes.create_string_buffer(room), b""
        for token in ids:
            count = self.lib.llama_token_to_piece(self.vocab, token, piece, room, 0, True)
            assert count >= 0
            text += piece.raw[:count]
        return text

    def clear(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), True)

    def logits(self, ids, first=0):
        """Logits [len(ids), V] of ids at positions first, first + 1, ..."""
        batch = self.lib.llama_batch_init(len(ids), 0, 1)
        batch.count = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, first + i, 1, 1
            batch.seq_id[i][0] = 0
        assert self.lib.llama_decode(self.context, batch) == 0
        rows = [numpy.ctypeslib.as_array(self.lib.llama_get_logits_ith(self.context, i), (self.vocab_size,)).copy()
                for i in range(len(ids))]
        self.lib.llama_batch_free(batch)
        return numpy.stack(rows).astype(numpy.float64)

    def logprobs(self, ids, chunk=128):
        """Log-probabilities of ids[1:]."""
        self.clear()
        result = []
        for first in range(0, len(ids), chunk):
            rows = self.logits(ids[first : first + chunk], first)
            top = rows.max(1)
            totals = top + numpy.log(numpy.exp(rows - top[:, None]).sum(1))
            result += [rows[i, ids[first + i + 1]] - totals[i] for i in range(len(rows)) if first + i + 1 < len(ids)]
        return numpy.array(result)

    def greedy(self, prompt, count):
        """The likeliest tokens after the prompt, and how far each was ahead of the second."""
        self.clear()
        row, ids, leads = self.logits(prompt)[-1], [], []
        for i in range(count):
            second, best = numpy.sort(row)[-2:]
            ids.append(int(row.argmax()))
            leads.append(best - second)
            row = self.logits(ids[-1:], len(prompt) + i)[-1]
        return ids, leads
