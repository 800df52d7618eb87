#!/usr/bin/env python3
"""The page of a wide grid, whose plots are heat maps, keeps to what report_page.py asks of every page.

usage: grid_page.py --expc PATH [--pictures FOLDER]
Exit code 77 (skipped, loudly) as report_page.py.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

STUDY = """\
workload nothing command ["true", "${rows}", "${columns}"] {
  param rows    : int in 1..12 = 1
  param columns : int in 1..12 = 1
  metric wall   : Time lower
}

study grid {
  workload nothing
  factor rows    in 1..11 baseline 1
  factor columns in 1..9 baseline 1
  measure wall
  compare cost = ratio(wall) over rows
  plot wall over rows by columns
  plot cost over rows by columns
  design { timed { repeat 3 } }
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expc", required=True)
    parser.add_argument("--pictures", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="expc-grid-") as folder:
        pathlib.Path(folder, "grid.exp").write_text(STUDY)
        subprocess.run([options.expc, "run", "grid.exp", "--heat-up", "0", "--devices", "cpu:1", "--quiet"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, timeout=300)
        page = pathlib.Path(folder, "results", "grid.html")
        if '"rect"' not in page.read_text(encoding="utf-8"):
            sys.exit("the plots of the grid are no heat maps")
        pictures = ["--pictures", options.pictures] if options.pictures else []
        return subprocess.run([sys.executable, pathlib.Path(__file__).parent / "report_page.py", "--page", page, *pictures]).returncode


if __name__ == "__main__":
    sys.exit(main())
