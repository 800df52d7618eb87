#!/usr/bin/env python3
"""Holds docs/stdlib/*.md against what `expc doc` prints for the built-in modules. --update writes the pages anew.

usage: stdlib_pages.py --expc PATH [--update]
"""

import argparse
import difflib
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/stdlib"
HEAD = "<!-- Written by `tests/golden/stdlib_pages.py --update` from stdlib/{name}.exp. -->\n\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expc", required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    modules = sorted(path.stem for path in (ROOT / "stdlib").glob("*.exp"))
    wanted = {}
    for name in modules:
        result = subprocess.run([options.expc, "doc", f"std.{name}", "--format", "markdown"], capture_output=True,
                                text=True, check=True, timeout=60)
        wanted[f"{name}.md"] = HEAD.format(name=name) + result.stdout
    listed = subprocess.run([options.expc, "doc"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert [line.split()[0] for line in listed.splitlines()] == [f"std.{name}" for name in modules], listed
    rows = "".join(f"| [{name}]({name[4:]}.md) | {summary} |\n"
                   for name, summary in (line.split(maxsplit=1) for line in listed.splitlines()))
    wanted["README.md"] = (
        "# Built-in modules\n\n<!-- Written by `tests/golden/stdlib_pages.py --update`. -->\n\n`import std.NAME` binds them; "
        "`expc doc std.NAME` prints the same pages. They are written in the language itself, in `stdlib/`.\n\n"
        "| module | what it declares |\n| --- | --- |\n" + rows)
    failed = 0
    PAGES.mkdir(exist_ok=True)
    for path in sorted(PAGES.glob("*.md")):
        if path.name not in wanted:
            failed += 1
            print(f"docs/stdlib/{path.name} is of no module")
            if options.update:
                path.unlink()
    for name, text in wanted.items():
        path = PAGES / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if before == text:
            continue
        failed += 1
        if options.update:
            path.write_text(text, encoding="utf-8")
        else:
            print("\n".join(list(difflib.unified_diff(before.splitlines(), text.splitlines(), f"docs/stdlib/{name}",
                                                      "expc doc", lineterm=""))[:40]))
    print(f"{len(wanted)} pages, {failed} {'written' if options.update else 'out of date'}")
    if failed and not options.update:
        print("mend with: tests/golden/stdlib_pages.py --expc PATH --update")
    return 1 if failed and not options.update else 0


if __name__ == "__main__":
    sys.exit(main())
