#!/usr/bin/env python3
"""Holds docs/diagnostics/CODE.md against the compiler: every kind has a page, every example does what its page says.

A block under "Wrong" reports the page's code, and exactly what its comments (`// E0203`) say on those lines; a block under
"Right" reports nothing. docs/diagnostics/README.md says how a page is written.

usage: pages.py --expc PATH [--page E0203 ...]
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import language

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/diagnostics"
KIND = re.compile(r'^EXPC_DIAGNOSTIC_KIND\((\w+), "([EW]\d{4})", "([a-z0-9-]+)"\)', re.M)
PAGE = re.compile(
    r"\A# (?P<title>.*)\n\n(?P<summary>[^\n]*\.)\n\n(?P<cause>.*?)\n\n"
    r"(?P<shown>## (?:Wrong|Message)\n.*)\n\n## How to fix it\n\n(?P<mend>.*)\n\Z", re.S)
SECTION = re.compile(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", re.M | re.S)
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]*))?\n(.*?)^```$", re.M | re.S)
CODE = re.compile(r"// ([EW]\d{4})\b")


def check(expc: str, text: str, arguments: list, files: dict) -> list:
    """What checking `text` beside `files` reports: (code, line or 0, message)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (pathlib.Path(folder) / name).write_text(content, encoding="utf-8")
        (pathlib.Path(folder) / "example.exp").write_text(text, encoding="utf-8")
        result = subprocess.run([expc, "check", "example.exp", "--format", "json", *arguments], cwd=folder,
                                capture_output=True, timeout=60)
    document = json.loads(result.stdout)
    return [(entry["code"], entry["range"]["begin"]["line"] if "range" in entry else 0, entry["message"])
            for entry in document["diagnostics"]]


def example(expc: str, code: str, wrong: bool, info: str, body: str, files: dict) -> list:
    words = shlex.split(info or "")
    text = body
    if words[:1] == ["study"]:
        words.pop(0)
        text = language.inside_study(body)
    wanted = sorted((entry, number) for number, line in enumerate(text.splitlines(), 1) for entry in CODE.findall(line))
    found = check(expc, text, words, files)
    problems = []
    if wrong and code not in [entry for entry, _ in wanted]:
        problems.append(f"a wrong example has no line marked // {code}")
    if not wrong and wanted:
        problems.append("a right example has a line marked as wrong")
    rest = list(wanted)
    for entry, line, message in found:
        # What concerns the whole invocation has no line; the comment says only that it comes.
        match = next((w for w in rest if w[0] == entry and (w[1] == line or line == 0)), None)
        if match:
            rest.remove(match)
        else:
            problems.append(f"{'wrong' if wrong else 'right'} example, line {line}: {entry} {message}")
    problems += [f"{'wrong' if wrong else 'right'} example, line {line}: no {entry}" for entry, line in rest]
    return problems


def page_problems(expc: str, code: str, slug: str, row: str, golden: str) -> list:
    path = PAGES / f"{code}.md"
    if not path.exists():
        return [f"there is no page docs/diagnostics/{code}.md for {slug}"]
    text = path.read_text(encoding="utf-8")
    match = PAGE.match(text)
    if not match:
        return ["the page has not the parts that docs/diagnostics/README.md asks for, in that order"]
    problems = []
    if match["title"] != f"{code} {slug}":
        problems.append(f"its title is not '{code} {slug}'")
    if match["summary"] != row:
        problems.append("its first sentence is not the one of the table in docs/diagnostics.md")
    sections = dict(SECTION.findall(text))
    for name in sections:
        if name not in ("Wrong", "Message", "Right", "How to fix it"):
            problems.append(f"unknown section '{name}'")
    if "Message" in sections:
        # A kind that no short file can cause: its message is that of a golden case.
        blocks = BLOCK.findall(sections["Message"])
        if len(blocks) != 1 or blocks[0][0] != "text":
            problems.append("the section Message holds one block of text")
        elif blocks[0][2].strip() not in golden:
            problems.append("its message stands in no case under tests/golden")
    elif "Right" not in sections:
        problems.append("there is no right example")
    # What examples read stands in blocks of its own, marked with its name.
    files = {info: body for kind, info, body in BLOCK.findall(text) if kind not in ("exp", "text")}
    for name in ("Wrong", "Right"):
        blocks = BLOCK.findall(sections.get(name, ""))
        if name in sections and not blocks:
            problems.append(f"the section {name} has no example")
        for kind, info, body in blocks:
            if kind == "exp":
                problems += example(expc, code, name == "Wrong", info, body, files)
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expc", required=True)
    parser.add_argument("--page", action="append", default=[], help="only these codes")
    options = parser.parse_args()
    expc = str(pathlib.Path(options.expc).resolve())
    kinds = [(code, slug) for _, code, slug in KIND.findall((ROOT / "compiler/diag/kinds.def").read_text())]
    table = (ROOT / "docs/diagnostics.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[([EW]\d{4})\]\(diagnostics/\1\.md\) \| `[a-z0-9-]+` \| (.*) \|$", table, re.M))
    golden = "\n".join(path.read_bytes().decode("utf-8", "replace")
                       for path in (ROOT / "tests/golden").rglob("*") if path.suffix in (".exp", ".golden"))
    chosen = [kind for kind in kinds if not options.page or kind[0] in options.page]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        answers = pool.map(lambda kind: page_problems(expc, *kind, rows.get(kind[0], ""), golden), chosen)
        for (code, _), problems in zip(chosen, answers):
            if problems:
                failed += 1
                print(f"docs/diagnostics/{code}.md")
                print("\n".join(f"  {problem}" for problem in problems))
    known = {code for code, _ in kinds}
    for path in sorted(PAGES.glob("[EW]????.md")):
        if path.stem not in known:
            failed += 1
            print(f"docs/diagnostics/{path.name} is of no kind that is registered")
    print(f"{len(chosen) - min(failed, len(chosen))} of {len(chosen)} pages are as they should be")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
