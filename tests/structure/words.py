#!/usr/bin/env python3
"""Finds words in messages and pages that docs/words.md refuses, in the last table of that page.

Messages are the string literals of the rooms that talk to users, and what commands print in golden files. Pages are those that are listed here:
add a page once it is revised.

usage: words.py
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("cli", "runtime/report", "runtime/validity", "runtime/engine", "runtime/export", "compiler/language", "compiler/editor")
PRINTED = ("tests/golden/**/*.golden", "tests/golden/answers.txt", "docs/diagnostics/*.md")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# Names in JSON and code that stay, since programs read them.
KEPT = {"spoils", "mended", "mend", "Spoils"}


def refused():
    """Patterns of what is refused, by the words of the table."""
    page = (ROOT / "docs/words.md").read_text(encoding="utf-8")
    table = page[page.index("## Words that are not used"):]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table, re.M)[2:]
    for word, instead in rows:
        for one in word.split(", "):
            # "mend" is also refused as "Mend" and "mended", and not inside "recommend".
            yield re.compile(rf"\b{re.escape(one)}(?:s|ed|ing)?\b", re.I), one, instead


def texts():
    """(place, text) of everything that is looked at."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.cpp")):
            if path.name.endswith("_test.cpp"):
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if line.lstrip().startswith(("//", "#include")):
                    continue
                for literal in LITERAL.findall(line):
                    if literal not in KEPT:
                        yield f"{path.relative_to(ROOT)}:{number}", literal
    for pattern in PRINTED:
        for path in sorted(ROOT.glob(pattern)):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                yield f"{path.relative_to(ROOT)}:{number}", line


def main():
    patterns = list(refused())
    assert len(patterns) > 10, "docs/words.md has its table"
    found = [f"{place}: '{word}' is refused, write '{instead}': {text.strip()[:100]}"
             for place, text in texts() for pattern, word, instead in patterns if pattern.search(text)]
    print("\n".join(found) or f"{len(patterns)} words, none is used")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
