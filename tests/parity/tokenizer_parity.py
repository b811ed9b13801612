#!/usr/bin/env python3
"""Our tokenizer files in Hugging Face tokenizers: the same ids for ten thousand lines, and the same text back.

    .deps/parity/bin/python tests/parity/tokenizer_parity.py --data DIR

--data is a folder with tokenizer/gpt2/{encoder.json,vocab.bpe} and corpus/. Checks GPT-2's vocabulary as `crope
tokenizer import` writes it, and one that `crope tokenizer train` makes of the corpus. Exit status 1 on a difference.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parent.parent.parent

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


def crope(binary, *arguments, stdin=None):
    command = [str(binary), "tokenizer", *map(str, arguments)]
    return subprocess.run(command, input=stdin, check=True, stdout=subprocess.PIPE).stdout


def differences(binary, folder, lines):
    peer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    stdin = "".join(json.dumps({"text": line}) + "\n" for line in lines).encode()
    ours = [json.loads(row) for row in crope(binary, "encode", "--tokenizer", folder, "--jsonl", "text", "--special", stdin=stdin).splitlines()]
    assert len(ours) == len(lines)
    found = 0
    for line, ids in zip(lines, ours):
        theirs = peer.encode(line).ids
        if ids != theirs or peer.decode(ids, skip_special_tokens=False) != line:
            found += 1
            if found <= 5:
                print(f"  {line!r}\n    crope      {ids}\n    tokenizers {theirs}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--crope", type=Path, default=ROOT / "build/release/crope")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    lines = lines_of(args.data, rng)
    lines += ["<|endoftext|>", "a<|endoftext|> b<|endoftext|><|endoftext|>", " <|endoftext|> "]
    total = 0
    with tempfile.TemporaryDirectory() as scratch:
        gpt2, trained = Path(scratch) / "gpt2", Path(scratch) / "trained"
        source = args.data / "tokenizer/gpt2"
        crope(args.crope, "import", "--vocab", source / "encoder.json", "--merges", source / "vocab.bpe", "--out", gpt2)
        corpus = args.data / "corpus"
        crope(args.crope, "train", corpus / "sotu.txt", corpus / "wikitext2_valid.txt", "--vocab-size", 4096, "--out", trained)
        for name, folder in (("GPT-2, imported", gpt2), ("4,096 tokens, trained", trained)):
            found = differences(args.crope, folder, lines)
            total += found
            print(f"{name}: {len(lines)} lines, {found} differ")
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
