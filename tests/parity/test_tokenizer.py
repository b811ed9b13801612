"""Our tokenizer files in Hugging Face tokenizers: the same ids for eleven thousand lines, and the same text back."""

import json
import random
import unicodedata

import pytest
from tokenizers import Tokenizer

from conftest import run_crope

SAMPLES = [
    "The quick brown fox jumps over the lazy dog. It's 9:30; we'll go, they've gone, I'd stay, he's DON'T",
    "Быстрая коричневая лиса перепрыгивает через ленивую собаку, 1234567 раз.",
    "速い茶色の狐がのろまな犬を飛び越えた。今日は２０２６年１１月です。",
    "敏捷的棕色狐狸跳过了懒狗，价格是￥１２８。",
    "빠른 갈색 여우가 게으른 개를 뛰어넘는다 3번.",
    "الثعلب البني السريع يقفز فوق الكلب الكسول ١٢٣٤",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है १२३",
    "השועל החום המהיר קופץ מעל הכלב העצלן",
    "Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί",
    "สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ ๑๒๓",
    "👩‍👩‍👧‍👦 🙂🙃 🇩🇪🇫🇷 ✌🏽 ❤️‍🔥 1️⃣",
    "def f(x):\n\t\treturn x ** 2  # square\n\n\n    if x != 3: {'a': [1, 2]}",
    "e\u0301 ﬁ Ⅷ ½ ² ㊿ ª ʰ 𝔘𝟘 \u200b\u200d\ufeff",
]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u180e", "\x0b", "\x1c"]
# Letters and numbers of scripts that PCRE2 and the peer both know: no code point newer than Unicode 14.
KNOWN = [chr(p) for p in range(0x110000) if unicodedata.category(chr(p)) not in ("Cn", "Cs", "Co")]


def random_line(rng):
    parts = []
    for _ in range(rng.randrange(1, 12)):
        kind = rng.randrange(8)
        if kind < 3:
            sample = rng.choice(SAMPLES)
            start = rng.randrange(len(sample))
            parts.append(sample[start : start + rng.randrange(1, 30)])
        elif kind == 3:
            parts.append("".join(rng.choices(SPACES, k=rng.randrange(1, 5))))
        elif kind == 4:
            parts.append("".join(rng.choices(KNOWN, k=rng.randrange(1, 4))))
        elif kind == 5:
            # Broken text as decoders leave it.
            parts.append(rng.choice(SAMPLES).encode()[rng.randrange(4) :][: rng.randrange(1, 9)].decode(errors="replace"))
        elif kind == 6:
            parts.append(rng.choice(["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "''", " '", "’s", "<|endoftext|"]))
        else:
            parts.append(chr(rng.randrange(0x80)) * rng.randrange(1, 6))
    return "".join(parts)


def lines_of(data, rng):
    lines = [random_line(rng) for _ in range(8000)]
    for name in ("sotu.txt", "wikitext2_valid.txt", "tinystories_sample.txt"):
        text = (data / "corpus" / name).read_text(encoding="utf-8", errors="replace").split("\n")
        lines += rng.choices([line for line in text if line], k=1000)
    return lines


@pytest.fixture
def gpt2(test_data, tmp_path):
    """GPT-2's vocabulary as `crope tokenizer import` writes it."""
    source = test_data / "tokenizer" / "gpt2"
    run_crope("tokenizer", "import", "--vocab", source / "encoder.json", "--merges", source / "vocab.bpe", "--out", tmp_path / "gpt2")
    return tmp_path / "gpt2"


@pytest.fixture
def trained(test_data, tmp_path):
    """A vocabulary of our own training."""
    corpus = test_data / "corpus"
    run_crope("tokenizer", "train", corpus / "sotu.txt", corpus / "wikitext2_valid.txt", "--vocab-size", 4096, "--out", tmp_path / "trained")
    return tmp_path / "trained"


@pytest.mark.parametrize("vocabulary", ["gpt2", "trained"])
def test_ids_and_text(vocabulary, test_data, request):
    folder = request.getfixturevalue(vocabulary)
    lines = lines_of(test_data, random.Random(1))
    lines += ["<|endoftext|>", "a<|endoftext|> b<|endoftext|><|endoftext|>", " <|endoftext|> "]
    peer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    stdin = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    rows = run_crope("tokenizer", "encode", "--tokenizer", folder, "--jsonl", "text", "--special", stdin=stdin).splitlines()
    assert len(rows) == len(lines)
    for line, row in zip(lines, rows):
        ids = json.loads(row)
        assert ids == peer.encode(line).ids, repr(line)
        assert peer.decode(ids, skip_special_tokens=False) == line
