#!/usr/bin/env python3
"""`expc` starts in milliseconds because it links no torch. usage: links.py PATH_TO_EXPC"""
import subprocess
import sys

needed = [line.split("[")[1].rstrip("]") for line in
          subprocess.run(["readelf", "-d", sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines()
          if "(NEEDED)" in line]
assert any(name.startswith("libstdc++") for name in needed), needed  # readelf did say something
heavy = [name for name in needed if any(word in name for word in ("torch", "c10", "cuda", "cudart", "nccl"))]
print("expc needs:", ", ".join(needed))
if heavy:
    sys.exit(f"expc must not link {', '.join(heavy)}: move the code that needs it to runtime/worker")
