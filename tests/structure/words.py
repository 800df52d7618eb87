#!/usr/bin/env python3
"""Finds words in messages and pages that docs/words.md refuses, in the last table of that page.

Messages are the string literals of the program, and what commands print in golden files. Pages are those for users; docs/layers, docs/decisions and
docs/measurements are for developers.

usage: words.py
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("cli", "runtime", "compiler")
PRINTED = ("tests/golden/**/*.golden", "tests/golden/answers.txt")
PAGES = ("README.md", "docs/*.md", "docs/diagnostics/*.md", "docs/stdlib/*.md", "docs/tutorials/*.md")
# The page has the list itself.
NOT_READ = {"docs/words.md"}
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# Names in JSON and code that stay, since programs read them.
KEPT = {"spoils", "mended", "mend", "Spoils"}


def pattern(word):
    """Finds a word of the table. "mend" stands for "Mend" and "mended" too, and not for "recommend"; "is no …" stands for any noun."""
    if word.endswith(" …"):
        return re.compile(rf"(?<!there )\b{re.escape(word[:-2])} (?!(?:longer|more|less|better|worse)\b)(?=\w)", re.I)
    return re.compile(rf"\b{re.escape(word)}(?:s|ed|ing)?\b", re.I)


def refused():
    """Patterns of what is refused, by the words of the table."""
    page = (ROOT / "docs/words.md").read_text(encoding="utf-8")
    table = page[page.index("## Words that are not used"):]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table, re.M)[2:]
    for word, instead in rows:
        for one in word.split(", "):
            yield pattern(one), one, instead


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
    for names in PRINTED + PAGES:
        for path in sorted(ROOT.glob(names)):
            if str(path.relative_to(ROOT)) in NOT_READ:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                yield f"{path.relative_to(ROOT)}:{number}", line


def main():
    patterns = list(refused())
    assert len(patterns) > 10, "docs/words.md has its table"
    assert pattern("is no …").search("'a' is no number") and pattern("mend").search("it is mended")
    assert not any(pattern("is no …").search(text) for text in ("there is no file", "it is no longer there", "is no "))
    found = [f"{place}: '{word}' is refused, write '{instead}': {text.strip()[:100]}"
             for place, text in texts() for one, word, instead in patterns if one.search(text)]
    print("\n".join(found) or f"{len(patterns)} words, none is used")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
