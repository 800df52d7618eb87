#!/usr/bin/env python3
"""Fails when a kind of diagnostic is never emitted, has no golden case, or is missing from docs/diagnostics.md."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
KIND = re.compile(r'^EXPC_DIAGNOSTIC_KIND\((\w+), "([EW]\d{4})", "([a-z0-9-]+)"\)', re.M)
EMIT = re.compile(r"^\s*EXPC_DIAGNOSTIC\(\s*(\w+),", re.M)
EXPECTED = re.compile(r"(?:error|warning)\[([EW]\d{4})\]")


def main() -> int:
    problems = []
    kinds = KIND.findall((ROOT / "compiler/diag/kinds.def").read_text())
    codes = {code: name for name, code, _ in kinds}
    for column, what in ((0, "name"), (1, "code"), (2, "slug")):
        seen = set()
        for kind in kinds:
            if kind[column] in seen:
                problems.append(f"{what} {kind[column]} is registered twice")
            seen.add(kind[column])

    emitted = set()
    for path in [*(ROOT / "compiler").rglob("*"), *(ROOT / "cli").rglob("*")]:
        if path.suffix not in (".cpp", ".h") or path.name.endswith("_test.cpp"):
            continue
        emitted.update(EMIT.findall(path.read_text()))
    for name, code, _ in kinds:
        if name not in emitted:
            problems.append(f"{code} {name} is registered and never declared with EXPC_DIAGNOSTIC")

    shown = set()
    for path in (ROOT / "tests/golden").rglob("*"):
        if path.suffix in (".exp", ".golden"):
            shown |= set(EXPECTED.findall(path.read_bytes().decode("utf-8", "replace")))
    for code, name in sorted(codes.items()):
        if code not in shown:
            problems.append(f"{code} {name} has no golden case under tests/golden")
    for code in sorted(shown - set(codes)):
        problems.append(f"{code} is expected by a golden case and not registered")

    page = (ROOT / "docs/diagnostics.md").read_text()
    rows = dict(re.findall(r"^\| \[?([EW]\d{4})[^|]* \| `([a-z0-9-]+)` \|", page, re.M))
    for name, code, slug in kinds:
        if rows.get(code) != slug:
            problems.append(f"{code} {slug} is not in the table of docs/diagnostics.md")
    for code in sorted(set(rows) - set(codes)):
        problems.append(f"{code} is in docs/diagnostics.md and not registered")

    print("\n".join(problems) if problems else f"all {len(kinds)} kinds are declared, tested and documented")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
