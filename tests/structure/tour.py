#!/usr/bin/env python3
"""The tour in docs/architecture.md: every `file` `function` pair must name a file of the tree and something that it defines."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STOP = re.compile(r"`([\w/]+\.cpp)` `(\w+)`")


def faults(text, read):
    for path, name in STOP.findall(text):
        source = read(path)
        if source is None:
            yield f"docs/architecture.md: the tour names {path}, which is not there"
        elif not re.search(rf"\b(struct|class) {name}\b|\b{name}\((?!.*;\s*$)", source, re.M):
            yield f"docs/architecture.md: the tour names {name} of {path}, which that does not define"


def main():
    assert len(list(faults("`a/b.cpp` `f` and `a/c.cpp` `g`", lambda path: "int h() {" if path == "a/b.cpp" else None))) == 2
    assert not list(faults("`a/b.cpp` `f`", lambda path: "int f(int a) {"))
    text = (ROOT / "docs/architecture.md").read_text()
    tour = text[text.index("## A tour in ten stops"):]
    tour = tour[:tour.index("\n## ", 1)]
    stops = STOP.findall(tour)
    found = list(faults(tour, lambda path: (ROOT / path).read_text() if (ROOT / path).exists() else None))
    print("\n".join(found) or f"{len(stops)} functions of the tour are there")
    return 1 if found or len(stops) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
