#!/usr/bin/env python3
"""Regenerates the tables of docs/results.md and README.md from docs/study.

A table stands between two comments, of which the first names the command that prints it:

    <!-- run: crope claims docs/study/main --markdown -->
    | claim | ...
    <!-- end -->

  scripts/update_results.py [--check] [--crope PROGRAM] [FILE...]

--check changes nothing, prints the lines that differ, and exits with 1 if there are any.
"""
import argparse
import difflib
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- run: crope (?P<arguments>[^\n]*?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)


def output_of(program: str, arguments: str) -> str:
    done = subprocess.run([program, *shlex.split(arguments)], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"crope {arguments} failed:\n{done.stderr}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=["docs/results.md", "README.md"])
    parser.add_argument("--check", action="store_true", help="print differences instead of writing")
    parser.add_argument("--crope", default=str(ROOT / "build/release/crope"), help="the program to run")
    flags = parser.parse_args()
    differs = False
    blocks = 0
    for name in flags.files:
        path = ROOT / name
        before = path.read_text()

        def replaced(match: re.Match) -> str:
            nonlocal blocks
            blocks += 1
            return match[1] + output_of(flags.crope, match["arguments"]) + match[4]

        after = BLOCK.sub(replaced, before)
        if after == before:
            continue
        differs = True
        if flags.check:
            sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, "regenerated"))
        else:
            path.write_text(after)
            print(f"{name}: updated")
    if blocks == 0:
        sys.exit("no tables to regenerate were found")
    print(f"{blocks} tables {'checked' if flags.check else 'regenerated'}")
    return 1 if flags.check and differs else 0


if __name__ == "__main__":
    sys.exit(main())
