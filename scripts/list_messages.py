#!/usr/bin/env python3
"""Prints the text that people read: help, errors, hints, warnings, log lines and captions in the C++ sources.

    scripts/list_messages.py [PATH...]         every text with its file and line (default: crope cli)
    scripts/list_messages.py --check [PATH...] only texts that break the rules below; exit 1 if there are any

Rules: the library (crope/ without crope/study/) names no command-line flag, and no text contains a phrase of kAvoid.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

kAvoid = [
    r"\bgo(es)? on\b",
    r"\bleave[sd]? out\b|\bleft out\b",
    r"\basked for\b|\basks for it\b",
    r"\bso many\b",
    r"\bwhat is left\b",
    r"\bwith a word\b",
    r"\bsays? so\b",
    r"^Of (the|several|each|a|all)\b|^Of --",
    r"^(What|Those of|That of|The same)\b",
    r"\bthe one before\b",
    r"\bis not there\b",
]
kExempt = ("crope/dist/launch.cc",)  # names flags of torchrun
kFlag = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
kLiteral = re.compile(r'R"\((.*?)\)"|"((?:[^"\\\n]|\\.)*)"', re.S)


def source_files(paths):
    listed = subprocess.run(["git", "ls-files", "--", *paths], capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\n") if name.endswith((".cc", ".h"))]


def texts_of(name):
    """(line, text) of each run of adjacent string literals, without includes and comments."""
    source = open(name, encoding="utf-8").read()
    source = re.sub(r"^\s*#include.*$", "", source, flags=re.M)
    source = re.sub(r"^\s*//.*$", "", source, flags=re.M)
    joined, start, end = "", 0, None
    for match in kLiteral.finditer(source):
        piece = match.group(1) if match.group(1) is not None else match.group(2)
        if end is not None and not source[end : match.start()].strip():
            joined += piece
        else:
            if joined:
                yield source.count("\n", 0, start) + 1, joined
            joined, start = piece, match.start()
        end = match.end()
    if joined:
        yield source.count("\n", 0, start) + 1, joined


def is_sentence(text):
    return len(re.findall(r"[A-Za-z]{2,}", text)) >= 3 and " " in text.strip()


def problems_of(name, text):
    found = [pattern for pattern in kAvoid if re.search(pattern, text)]
    is_library = name.startswith("crope/") and not name.startswith(("crope/study/", *kExempt))
    if is_library and kFlag.search(text):
        found.append("a flag in the library: " + kFlag.search(text).group())
    return found


def main(arguments):
    os.chdir(ROOT)
    check = "--check" in arguments
    paths = [each for each in arguments if each != "--check"] or ["crope", "cli"]
    count = 0
    for name in source_files(paths):
        for line, text in texts_of(name):
            if not is_sentence(text):
                continue
            found = problems_of(name, text)
            if check and not found:
                continue
            count += 1
            print(f"{name}:{line}: {text}" + (f"    <- {', '.join(found)}" if check else ""))
    return 1 if check and count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
