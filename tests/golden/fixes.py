#!/usr/bin/env python3
"""Carries out each fix of the golden cases alone: afterwards its diagnostic is gone, and as much of the file parses as before.

Certain fixes and guesses are held to this alike; only what they are for differs.
usage: fixes.py --expc PATH [PATTERN ...]
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shlex
import sys
import tempfile

import run


def check(case: run.Case, expc: str, folder: pathlib.Path) -> list:
    arguments = [word for value in case.values("ARGS") for word in shlex.split(value)]
    result = run.execute(expc, ["check", case.main.name, "--format", "json", *arguments], folder)
    return json.loads(result.stdout)["diagnostics"]


def apply(fixes: list, folder: pathlib.Path) -> None:
    """From the end of each file on, so that offsets stay right."""
    for fix in sorted(fixes, key=lambda fix: -fix["range"]["begin"]["offset"]):
        path = folder / fix["file"]
        text = path.read_bytes()
        begin, end = (fix["range"][side]["offset"] for side in ("begin", "end"))
        path.write_bytes(text[:begin] + fix["replacement"].encode() + text[end:])


def key(diagnostic: dict) -> tuple:
    return diagnostic["code"], diagnostic["message"]


def syntax_errors(diagnostics: list) -> int:
    return sum(diagnostic["code"].startswith("E01") for diagnostic in diagnostics)


def mended(case: run.Case, expc: str, before: list, diagnostic: dict) -> list:
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        run.prepare(case, folder)
        apply(diagnostic["fixes"], folder)
        after = check(case, expc, folder)
    where = f"line {diagnostic['range']['begin']['line']}: {diagnostic['code']} {diagnostic['message']}"
    problems = []
    counts = [collections.Counter(map(key, diagnostics))[key(diagnostic)] for diagnostics in (before, after)]
    # Checking goes on behind the syntax errors only where there are none; what appears then was there before.
    if counts[1] >= counts[0]:
        problems.append(f"{where}: its fix leaves it there")
    if syntax_errors(after) > syntax_errors(before) - diagnostic["code"].startswith("E01"):
        problems.append(f"{where}: its fix breaks the syntax")
    return problems


def fixes(case: run.Case, expc: str) -> tuple:
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        run.prepare(case, folder)
        found = check(case, expc, folder)
    sources = {str(file.relative_to(case.base)) for file in case.files}
    carried = [one for one in found if one["fixes"] and all(fix.get("file") in sources for fix in one["fixes"])]
    return len(carried), [problem for one in carried for problem in mended(case, expc, found, one)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expc", required=True)
    parser.add_argument("pattern", nargs="*", help="only cases whose path holds one of these")
    options = parser.parse_args()
    expc = str(pathlib.Path(options.expc).resolve())
    cases = [case for case in run.discover(options.pattern) if not case.values("RUN")]
    failed, carried = 0, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for case, (count, problems) in zip(cases, pool.map(lambda case: fixes(case, expc), cases)):
            carried += count
            failed += len(problems)
            for problem in problems:
                print(f"{case.name}: {problem}")
    print(f"{carried} fixes carried out, {failed} problems")
    return 1 if failed or not carried else 0


if __name__ == "__main__":
    sys.exit(main())
