#!/usr/bin/env python3
"""`expc lsp` with Eglot: Emacs without a screen runs emacs.el on a study, with the lines that docs/editors.md tells its reader to write.

usage: emacs_test.py --expc PATH     exits with 77 (skipped) without Emacs or Eglot, which tools/setup does not install (apt: emacs-nox elpa-eglot)
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from studies import JOBS, STUDY

HERE = pathlib.Path(__file__).resolve().parent

parser = argparse.ArgumentParser()
parser.add_argument("--expc", required=True, type=pathlib.Path)
options = parser.parse_args()
emacs = shutil.which("emacs")
if not emacs or subprocess.run([emacs, "--batch", "--eval", "(progn (package-initialize) (require 'eglot))"], capture_output=True).returncode:
    print("SKIPPED: there is no Emacs with Eglot")
    sys.exit(77)
lines = re.search(r"^```elisp\n(.*?)^```$", (HERE.parents[1] / "docs/editors.md").read_text(encoding="utf-8"), re.M | re.S)[1]

with tempfile.TemporaryDirectory(prefix="expc-emacs-") as name:
    folder = pathlib.Path(name)
    (folder / "jobs.exp").write_text(JOBS, encoding="utf-8")
    (folder / "study.exp").write_text(STUDY, encoding="utf-8")
    environment = {**os.environ, "LINES_OF_THE_PAGE": lines, "HOME": name, "XDG_CACHE_HOME": str(folder / "cache"),
                   "PATH": f"{options.expc.resolve().parent}:{os.environ['PATH']}"}
    result = subprocess.run([emacs, "--batch", "-l", HERE / "emacs.el"], cwd=folder, env=environment, capture_output=True, text=True, timeout=240,
                            stdin=subprocess.DEVNULL)
    output = result.stdout + result.stderr
    print(output)
    if result.returncode or "all steps passed" not in output:
        sys.exit(f"emacs.el failed ({result.returncode})")
