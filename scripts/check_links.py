#!/usr/bin/env python3
"""Checks that every relative link and anchor of the repository's Markdown files leads somewhere.

  scripts/check_links.py
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
CODE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """The anchors of the headings, as code hosts make them."""
    found: set[str] = set()
    for heading in HEADING.findall(CODE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        base = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        name, copies = base, 0
        while name in found:
            copies += 1
            name = f"{base}-{copies}"
        found.add(name)
    return found


def problems(file: pathlib.Path) -> list[str]:
    found = []
    text = CODE.sub("", file.read_text())
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (file.parent / path).resolve() if path else file
        if not place.exists():
            found.append(f"{file.relative_to(ROOT)}: {target}: no such file")
        elif anchor and place.suffix == ".md" and anchor not in anchors(place.read_text()):
            found.append(f"{file.relative_to(ROOT)}: {target}: no such heading")
    return found


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split() if listed.returncode == 0 else [str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md")]
    found = [problem for name in sorted({*names, "README.md"}) for problem in problems(ROOT / name)]
    for problem in found:
        print(problem)
    print(f"{len(names)} files, {len(found)} broken links")
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main())
