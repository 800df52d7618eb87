#!/usr/bin/env python3
"""Every C++ file is as clang-format leaves it. usage: format.py [--fix]"""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = shutil.which("clang-format-19")
if not TOOL:
    sys.exit("clang-format-19 is missing: run tools/setup --tests")

files = sorted(str(p) for top in ("cli", "compiler", "runtime", "nullgpu", "tests", "stdlib") for p in (ROOT / top).rglob("*")
               if p.suffix in {".h", ".cpp", ".cu"})
assert len(files) > 20, "no sources found"
if "--fix" in sys.argv:
    subprocess.run([TOOL, "-i", *files], check=True)
    sys.exit()
result = subprocess.run([TOOL, "--dry-run", "--Werror", *files], capture_output=True, text=True)
print(result.stderr[:4000] or f"{len(files)} files are formatted")
if result.returncode:
    sys.exit("mend with: tests/structure/format.py --fix")
