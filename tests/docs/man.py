#!/usr/bin/env python3
"""tools/man writes a page for each command, with all its options, that `man` shows without a complaint. usage: man.py --expc PATH"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expc", required=True)
    expc = parser.parse_args().expc
    wrong = []
    with tempfile.TemporaryDirectory(prefix="expc-man-") as folder:
        subprocess.run([sys.executable, ROOT / "tools/man", "--expc", expc, "--to", folder], check=True)
        pages = {path.stem: path for path in pathlib.Path(folder).glob("*.1")}
        for name, path in pages.items():
            text = path.read_text(encoding="utf-8").replace("\\-", "-")
            said = subprocess.run([expc, *name.split("-")[1:], "--help"], text=True, capture_output=True, check=True).stdout
            heads = re.findall(r"^\.TP\n\.B (.*)$", text, re.M)
            wrong += [f"{name}: no entry for {option}" for option in re.findall(r"^  (-\S*)", said, re.M) if not any(head.startswith(option) for head in heads)]
            wrong += [f"{name}: {head} has no description" for head in re.findall(r"^\.TP\n\.B (.*)\n\\&$", text, re.M)]
            wrong += [f"{name}: no page {other}" for other in re.findall(r"^\.BR (\S+) \(1\)", text, re.M) if other not in pages]
            if shutil.which("man"):
                shown = subprocess.run(["man", "--warnings", "-l", path], text=True, capture_output=True, env={"LC_ALL": "C.UTF-8", "MANWIDTH": "100", "PATH": "/usr/bin:/bin"})
                wrong += [f"{name}: man says {line}" for line in shown.stderr.splitlines()]
        commands = re.findall(r"^  ([a-z]+) ", subprocess.run([expc, "--help"], text=True, capture_output=True).stdout.split("Subcommands:")[1], re.M)
        wrong += [f"no page of {command}" for command in commands if f"expc-{command}" not in pages]
    for fault in wrong:
        print(f"FAILED: {fault}")
    return 1 if wrong or len(pages) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
