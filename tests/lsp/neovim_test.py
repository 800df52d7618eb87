#!/usr/bin/env python3
"""`expc lsp` with a real editor: Neovim without a screen runs neovim.lua on a study. usage: neovim_test.py --expc PATH"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from studies import JOBS, STUDY

HERE = pathlib.Path(__file__).resolve().parent

parser = argparse.ArgumentParser()
parser.add_argument("--expc", required=True, type=pathlib.Path)
options = parser.parse_args()
nvim = shutil.which("nvim")
if not nvim:
    sys.exit("nvim is missing: run tools/setup --tests")

with tempfile.TemporaryDirectory(prefix="expc-nvim-") as name:
    folder = pathlib.Path(name)
    (folder / "jobs.exp").write_text(JOBS, encoding="utf-8")
    (folder / "study.exp").write_text(STUDY, encoding="utf-8")
    (folder / "log").mkdir()
    environment = {**os.environ, "EXPC": str(options.expc.resolve()), "XDG_CACHE_HOME": str(folder / "cache"),
                   "XDG_STATE_HOME": str(folder / "state"), "XDG_DATA_HOME": str(folder / "data"),
                   "XDG_CONFIG_HOME": str(folder / "config"), "NVIM_LOG_FILE": str(folder / "log" / "nvim")}
    result = subprocess.run([nvim, "--headless", "--clean", "-n", "-c", f"luafile {HERE / 'neovim.lua'}"],
                            cwd=folder, env=environment, capture_output=True, text=True, timeout=240,
                            stdin=subprocess.DEVNULL)
    output = result.stdout + result.stderr
    print(output)
    if result.returncode or "all steps passed" not in output:
        sys.exit(f"neovim.lua failed ({result.returncode})")
