#!/usr/bin/env python3
"""The launcher of docs/how-to-add-a-launcher.md is the one that is compiled and run: its block of C++ and the file must be equal.

usage: page.py [--update]
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to-add-a-launcher.md"
SOURCE = ROOT / "tests/launchers/shell_launcher.h"
BLOCK = re.compile(r"(?<=```cpp\n).*?(?=```\n)", re.S)


def main():
    page, source = PAGE.read_text(encoding="utf-8"), SOURCE.read_text(encoding="utf-8")
    assert source.count("\n") < 100, f"{SOURCE.name} has {source.count(chr(10))} lines, and the page promises fewer than 100"
    if "--update" in sys.argv:
        PAGE.write_text(BLOCK.sub(lambda _: source, page, count=1), encoding="utf-8")
        return 0
    if BLOCK.search(page)[0] == source:
        return 0
    print(f"{PAGE.name} does not show {SOURCE.relative_to(ROOT)}; mend with: {pathlib.Path(__file__).name} --update")
    return 1


if __name__ == "__main__":
    sys.exit(main())
