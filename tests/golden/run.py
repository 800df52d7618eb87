#!/usr/bin/env python3
"""Runs the golden tests: studies whose expected diagnostics stand in comments beside the line they concern.

README.md beside this file says how a case is written. Both missing and unexpected diagnostics fail; --update rewrites.
"""

import argparse
import concurrent.futures
import difflib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent
EXPECTATION = re.compile(r"//~(?P<place>\^+|-\d+|\?)? (?P<text>(?:error|warning)\[[EW]\d{4}\]: .*|(?:note|help|guess): .*)$")
HEADER = re.compile(r"// (?P<key>RUN|ARGS|FILL): (?P<value>.*)$")
TIMEOUT = 300
COUNTED = 3  # carets that can be counted by eye


class Case:
    """One .exp file, or a folder with main.exp and what it imports."""

    def __init__(self, main: pathlib.Path):
        self.main = main
        folder = main.name == "main.exp"
        self.files = sorted(main.parent.rglob("*")) if folder else [main]
        self.files = [file for file in self.files if file.is_file() and file.suffix != ".golden"]
        self.base = main.parent
        self.golden = main.with_suffix(".golden")
        headers = [HEADER.match(line) for line in read(main).splitlines()]
        self.headers = [(match["key"], match["value"]) for match in headers if match]

    @property
    def name(self) -> str:
        return str(self.main.relative_to(ROOT))

    def values(self, key: str) -> list:
        return [value for name, value in self.headers if name == key]


def read(path: pathlib.Path) -> str:
    # Some cases hold bytes that are no text; they must survive the rewrite.
    return path.read_bytes().decode("utf-8", "surrogateescape")


def write(path: pathlib.Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def discover(patterns: list) -> list:
    cases = []
    for path in sorted(ROOT.rglob("*.exp")):
        if path.name != "main.exp" and any((folder / "main.exp").exists() for folder in path.parents):
            continue  # imported by the case of this folder
        case = Case(path)
        if not patterns or any(pattern in case.name for pattern in patterns):
            cases.append(case)
    return cases


def prepare(case: Case, folder: pathlib.Path) -> None:
    """Copies the case, so that the paths in its output are short and the same everywhere."""
    for file in case.files:
        target = folder / file.relative_to(case.base)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    main = folder / case.main.name
    for value in case.values("FILL"):
        count, text = value.split(" ", 1)
        main.write_bytes(main.read_bytes().replace(b"%FILL%", text.encode() * int(count)))


def execute(expc: str, arguments: list, folder: pathlib.Path) -> subprocess.CompletedProcess:
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "120"}
    for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            environment[name] = os.environ[name]
    # The answer must not hang on the machine that runs the test.
    environment["CUDA_VISIBLE_DEVICES"] = ""
    return subprocess.run([expc, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)


# ---- diagnostics beside their lines ---------------------------------------------------------------------------------


def clean(text: str) -> str:
    return " ".join(text.split())


def fix_text(fix: dict, texts: dict) -> str:
    """What a fix takes away and what it puts there: a fix that takes too much is wrong as well."""
    word = "help" if fix["applicability"] == "certain" else "guess"
    after = clean(fix["replacement"])
    if fix.get("file") not in texts:
        return f"{word}: `{after}`"
    place = fix["range"]
    before = texts[fix["file"]][place["begin"]["offset"] : place["end"]["offset"]].decode("utf-8", "replace")
    return f"{word}: `{clean(before)}` -> `{after}`"


def entries(diagnostic: dict, known: set, texts: dict) -> list:
    """A diagnostic as (file, line, text), its notes and fixes with it; file None where it has no place in the case."""

    def place(item: dict) -> tuple:
        if item.get("file") not in known:
            return None, 0
        return item["file"], item["range"]["begin"]["line"]

    out = [(*place(diagnostic), f"{diagnostic['severity']}[{diagnostic['code']}]: {clean(diagnostic['message'])}")]
    here = out[0][:2]
    for note in diagnostic["notes"]:
        text = f"note: {clean(note['message'])}"
        if "file" in note and note["file"] not in known:
            text = f"note: ({note['file']}) {clean(note['message'])}"
            out.append((*here, text))
        else:
            out.append((*(place(note) if "file" in note else here), text))
    for fix in diagnostic["fixes"]:
        out.append((*(place(fix) if "file" in fix else here), fix_text(fix, texts)))
    return out


def expected(text: str, file: str) -> list:
    """What the comments of a file ask for, as (file, line, text)."""
    out = []
    for number, line in enumerate(text.split("\n"), 1):
        match = EXPECTATION.search(line.rstrip("\r"))
        if not match:
            continue
        if match["place"] == "?":
            out.append((None, 0, match["text"].rstrip()))
        else:
            place = match["place"] or ""
            up = int(place[1:]) if place.startswith("-") else len(place)
            out.append((file, number - up, match["text"].rstrip()))
    return out


def rewritten(text: str, file: str, found: list, is_main: bool) -> str:
    """The text with the comments that the diagnostics found ask for, at the lines that they have now."""
    lines = text.split("\n")
    own_line = [bool(EXPECTATION.match(line.strip())) for line in lines]
    wanted = {}
    for where, line, entry in found:
        if where == file:
            # An error at the end of a file concerns its last line with text.
            line = min(line, len(lines))
            while line > 1 and (own_line[line - 1] or (line == len(lines) and not lines[line - 1].strip())):
                line -= 1
            wanted.setdefault(line, []).append(entry)
    placeless = [entry for where, _, entry in found if where is None] if is_main else []
    out = []
    if placeless:
        head = [number for number, line in enumerate(lines) if HEADER.match(line)]
        split = head[-1] + 1 if head else 0
    for number, line in enumerate(lines, 1):
        if placeless and number - 1 == split:
            out += [f"//~? {entry}" for entry in placeless]
        if own_line[number - 1]:
            continue
        line = re.sub(r"\s*//~ (?:error|warning|note|help|guess)\b.*$", "", line)
        out.append(line)
        ending = "\r" if line.endswith("\r") else ""
        indent = line[: len(line) - len(line.lstrip())]
        for count, entry in enumerate(wanted.get(number, []), 1):
            up = "^" * count if count <= COUNTED else f"-{count}"
            out.append(f"{indent}//~{up} {entry}{ending}")
    return "\n".join(out)


def check_diagnostics(case: Case, expc: str, update: bool) -> list:
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        prepare(case, folder)
        arguments = [word for value in case.values("ARGS") for word in shlex.split(value)]
        result = execute(expc, ["check", case.main.name, "--format", "json", *arguments], folder)
        texts = {str(path.relative_to(case.base)): (folder / path.relative_to(case.base)).read_bytes() for path in case.files}
    try:
        document = json.loads(result.stdout)
    except ValueError:
        return [f"exit {result.returncode}, and no JSON on standard output", *result.stderr.decode(errors="replace").splitlines()[:20]]
    sources = {str(file.relative_to(case.base)): file for file in case.files if file.suffix == ".exp"}
    found = [entry for diagnostic in document["diagnostics"] for entry in entries(diagnostic, set(sources), texts)]
    errors = any(text.startswith("error[") for _, _, text in found)
    problems = []
    if result.returncode != (1 if errors else 0):
        problems.append(f"exit code {result.returncode} {'with' if errors else 'without'} errors")
    if update:
        for name, path in sources.items():
            before = read(path)
            after = rewritten(before, name, found, path == case.main)
            if before != after:
                write(path, after)
        return problems
    wanted = [entry for name, path in sources.items() for entry in expected(read(path), name)]
    # An error at the end of a file is expected at its last line with text.
    ends = {name: last_line(read(path)) for name, path in sources.items()}
    found = [(where, min(line, ends[where]) if where else line, text) for where, line, text in found]
    wanted = [(where, min(line, ends[where]) if where else line, text) for where, line, text in wanted]
    for entry in difference(found, wanted):
        problems.append(f"unexpected: {entry[0] or '(no place)'}:{entry[1]}: {entry[2]}")
    for entry in difference(wanted, found):
        problems.append(f"missing:    {entry[0] or '(no place)'}:{entry[1]}: {entry[2]}")
    return problems


def last_line(text: str) -> int:
    lines = text.split("\n")
    number = len(lines)
    while number > 1 and (not lines[number - 1].strip() or EXPECTATION.match(lines[number - 1].strip())):
        number -= 1
    return number


def difference(left: list, right: list) -> list:
    rest = list(right)
    out = []
    for entry in left:
        if entry in rest:
            rest.remove(entry)
        else:
            out.append(entry)
    return out


# ---- outputs of other commands --------------------------------------------------------------------------------------


def check_output(case: Case, expc: str, update: bool) -> list:
    parts = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        prepare(case, folder)
        for value in case.values("RUN"):
            words = shlex.split(value)
            if words[0] != "expc":
                return [f"a RUN line begins with expc, not {words[0]}"]
            words = [word.replace("%s", case.main.name) for word in words[1:]]
            result = execute(expc, words, folder)
            stdout, stderr = (
                text.decode("utf-8", "replace").replace(str(folder.resolve()), "%d") for text in (result.stdout, result.stderr)
            )
            parts.append(f"$ {value}\n" + stdout)
            if stderr:
                parts.append("--- standard error\n" + stderr)
            parts.append(f"--- exit {result.returncode}\n")
    # Plans name the folder that they were made in.
    found = "".join(parts).replace(str(folder), "%d")
    before = case.golden.read_text(encoding="utf-8") if case.golden.exists() else ""
    if found == before:
        return []
    if update:
        case.golden.write_text(found, encoding="utf-8")
        return []
    return list(difflib.unified_diff(before.splitlines(), found.splitlines(), case.golden.name, "found", lineterm=""))


def run(case: Case, expc: str, update: bool) -> list:
    try:
        return check_output(case, expc, update) if case.values("RUN") else check_diagnostics(case, expc, update)
    except subprocess.TimeoutExpired:
        return [f"no answer in {TIMEOUT} s"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expc", required=True, help="the program to test")
    parser.add_argument("--update", action="store_true", help="write what was found into the cases; read the difference before you commit it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("pattern", nargs="*", help="only cases whose path holds one of these")
    options = parser.parse_args()
    expc = str(pathlib.Path(options.expc).resolve())
    cases = discover(options.pattern)
    if not cases:
        print("no case matches", file=sys.stderr)
        return 1
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, problems in zip(cases, pool.map(lambda case: run(case, expc, options.update), cases)):
            if problems:
                failed += 1
                print(f"FAILED {case.name}")
                print("\n".join(f"  {line}" for line in problems))
    print(f"{len(cases) - failed} of {len(cases)} golden cases passed")
    if failed and not options.update:
        print("If the new output is right: tests/golden/run.py --expc PATH --update, then read the difference")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
