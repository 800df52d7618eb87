#!/usr/bin/env python3
"""Compiles every example of docs/language.md. A comment `// E0201` in a block says what checking it must report; nothing else may be.
Holds the page's words to the compiler's: its list of reserved ones is the lexer's, and no word of the table is left unsaid.

usage: language.py --expc PATH --tokens PATH_TO_format_tokens
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/language.md"
BLOCK = re.compile(r"^```exp( study)?\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"^```csv (\S+)\n(.*?)^```$", re.M | re.S)
CODE = re.compile(r"// ([EW]\d{4})")


def inside_study(body: str) -> str:
    """A study around a fragment, with what the fragment itself does not say."""
    def missing(pattern: str) -> bool:
        return not re.search(pattern, body, re.M)

    parts = ["import std.image", "study example {", '  workload image.mobilenet_v2(data = mnist("data/digits"))', body]
    if missing(r"^factor precision"):
        parts.append("  factor precision in { fp64, fp32, bf16 } baseline fp64")
    if missing(r"^factor gpus"):
        parts.append("  factor gpus in 1..4 baseline 1")
    if missing(r"^measure"):
        parts.append("  measure step_time, accuracy")
    if missing(r"^design"):
        parts.append("  design { timed { repeat 10 steps 30 } quality { repeat 10 epochs 2 } }")
    return "\n".join(parts) + "\n}\n"


def check(expc: str, text: str, files: dict) -> list:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (pathlib.Path(folder) / name).write_text(content, encoding="utf-8")
        path = pathlib.Path(folder) / "example.exp"
        path.write_text(text, encoding="utf-8")
        result = subprocess.run([expc, "check", str(path), "--format", "json"], capture_output=True, timeout=60)
    document = json.loads(result.stdout)
    return [(entry["code"], entry["message"], entry["range"]["begin"]["line"] if "range" in entry else 0)
            for entry in document["diagnostics"]]


def words(tokens: str, page: str) -> list:
    """What the page and the compiler say differently."""
    def printed(what: str) -> list:
        lines = subprocess.run([tokens, what], check=True, capture_output=True, text=True).stdout.splitlines()
        return [json.loads(line) for line in lines]

    spelled = [word for word in printed("--words") if word["text"].isalpha()]
    reserved = {word["text"] for word in spelled if word["reserved"]}
    listed = re.search(r"^### Reserved words\n\n.*?^```text\n(.*?)^```$(.*?)^##", page, re.M | re.S)
    told, other = (set(listed[1].split()), listed[2]) if listed else (set(), "")
    code = " ".join(re.findall(r"^```exp.*?^```$|`[^`\n]+`", page, re.M | re.S))
    found = [f"'{word}' is reserved, and the page's list lacks it" for word in sorted(reserved - told)]
    found += [f"'{word}' is not reserved" for word in sorted(told - reserved)]
    found += [f"'{word['text']}' is a word in one place, and the page does not say so" for word in spelled
              if not word["reserved"] and f"`{word['text']}`" not in other]
    for word in printed("--table"):
        text = re.escape(word["text"])
        inside = rf"[0-9\s`]{text}(?![A-Za-z0-9])" if word["role"] == "Unit" else rf"(?<![A-Za-z0-9_]){text}(?![A-Za-z0-9_])"
        if not re.search(inside, code + " "):
            found.append(f"the page says nothing of the {word['role'].lower()} '{word['text']}'")
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True)
    parser.add_argument("--tokens", required=True)
    options = parser.parse_args()
    expc = options.expc
    page = PAGE.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(page))
    files = dict(FILE.findall(page))
    failed = 0
    for block in blocks:
        text = inside_study(block[2]) if block[1] else block[2]
        wanted = sorted((code, number) for number, line in enumerate(text.splitlines(), 1) for code in CODE.findall(line))
        found = check(expc, text, files)
        if sorted((code, line) for code, _, line in found) == wanted:
            continue
        failed += 1
        print(f"docs/language.md:{page[:block.start()].count(chr(10)) + 1}: expected {wanted}, found:")
        for code, message, line in found:
            print(f"  line {line} of the block: {code} {message}")
    for problem in words(options.tokens, page):
        failed += 1
        print(f"docs/language.md: {problem}")
    print(f"{len(blocks) - failed} of {len(blocks)} examples are as the page says")
    return 1 if failed or len(blocks) < 8 else 0


if __name__ == "__main__":
    sys.exit(main())
