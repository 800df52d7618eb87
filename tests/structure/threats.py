#!/usr/bin/env python3
"""Every test that docs/threat-model.md names as what holds a promise is there, and every row names one or says why there is none.
usage: threats.py
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def rows(page):
    """What is read, and what holds its promise, of each row of the table."""
    table = page.split("## What may come from anybody")[1].split("\n## ")[0]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    return [(row[0], row[3]) for row in cells[2:]]


def faults(held_by, fuzzers, root):
    named = re.findall(r"`([^`]+)`", held_by)
    if not named and "not fuzzed" not in held_by:
        yield "names no test"
    file = None
    for name in named:
        if name.startswith("fuzz_"):
            if name.removeprefix("fuzz_") not in fuzzers:
                yield f"{name} is no fuzzer"
        elif "/" in name:
            file = root / name
            if not file.exists():
                yield f"{name} is not there"
        elif not (file and file.is_file() and re.search(rf"^class {name}\b", file.read_text(encoding="utf-8"), re.M)):
            yield f"{file and file.name} has no {name}"


def self_test():
    assert rows("## What may come from anybody\n\n| a | b | c | d |\n| --- | --- | --- | --- |\n| f | r | p | `x` |\n") == [("f", "`x`")]
    assert not list(faults("`fuzz_a`, `tests/structure`", {"a"}, ROOT))
    assert list(faults("`fuzz_b`", {"a"}, ROOT)) and list(faults("", {"a"}, ROOT)) and list(faults("`tests/none.py`", {"a"}, ROOT))
    assert list(faults("`tests/cli/cli_test.py` (`Nobody`)", set(), ROOT)) and not list(faults("`tests/cli/cli_test.py` (`Strangers`)", set(), ROOT))


def main():
    self_test()
    fuzzers = set(re.findall(r"expc_fuzzer\((\w+)", (ROOT / "tests/fuzz/CMakeLists.txt").read_text(encoding="utf-8")))
    all_rows = rows((ROOT / "docs/threat-model.md").read_text(encoding="utf-8"))
    found = [f"docs/threat-model.md, {what}: {fault}" for what, held_by in all_rows for fault in faults(held_by, fuzzers, ROOT)]
    for fault in found:
        print(fault)
    print(f"{len(all_rows)} rows, {len(found)} faults")
    return 1 if found or not all_rows else 0


if __name__ == "__main__":
    sys.exit(main())
