#!/usr/bin/env python3
"""Tries the calls of tests/null_gpu/calls.py with several versions of torch on simulated GPUs, and prints a table in Markdown.

usage: torch_versions.py [--expc EXPC] [--folder NULL_GPU_FOLDER] PYTHON[:PROGRAMS]...

Each PYTHON is an interpreter with a torch of its own; PROGRAMS is a folder for PYTHONPATH. Simulated GPUs compute no values, so none is compared."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/null_gpu"))
import calls  # noqa: E402

ASK = "import importlib.util, pathlib\n" \
      "exec(pathlib.Path(importlib.util.find_spec('torch').origin).with_name('version.py').read_text())\n" \
      "print(f'{__version__.split(\"+\")[0]} (CUDA {cuda})')"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expc", default=ROOT / "build/release/bin/expc")
    parser.add_argument("--folder", default=ROOT / "build/release/lib/nullgpu")
    parser.add_argument("pythons", nargs="+", metavar="PYTHON[:PROGRAMS]")
    arguments = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as empty:
        for python in arguments.pythons:
            python, _, programs = python.partition(":")
            version = subprocess.run([python, "-c", ASK], check=True, capture_output=True, text=True).stdout.strip()
            found[version] = calls.try_all(arguments.expc, arguments.folder, programs or empty, python=python)
    rows = [["subject", *found], ["---"] * (1 + len(found))]
    rows += [[subject, *(f"{sum(not errors[name] for name in group)} of {len(group)}" for errors in found.values())]
             for subject, group in calls.CALLS.items()]
    rows.append(["all", *(f"{sum(not error for error in errors.values())} of {len(errors)}" for errors in found.values())])
    print("\n".join(f"| {' | '.join(row)} |" for row in rows), end="\n\n")
    for version, errors in found.items():
        for name, error in errors.items():
            if error:
                print(f"- torch {version}, {name}: {error}")


if __name__ == "__main__":
    main()
