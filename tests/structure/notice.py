#!/usr/bin/env python3
"""NOTICE names every library that the programs need, by themselves or through a library of the distribution. usage: notice.py PROGRAM..."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = ("libexpc_", "linux-vdso")


def needed(program):
    """What the loader resolves for a program: names without their versions. What wheels bring stands in them, so their own needs are not asked for."""
    said = subprocess.run(["ldd", program], text=True, capture_output=True, check=True).stdout
    return {re.sub(r"\.so.*", "", pathlib.Path(line.split()[0]).name) for line in said.splitlines() if line.strip()}


def lacking(names, notice):
    known = set(re.findall(r"\[(\S+?)\]", notice))
    return sorted(name for name in names if not name.startswith(OURS) and not any(name == one or name.startswith(one) and len(one) > 6 for one in known))


def main():
    assert lacking({"libnew", "libpng16", "libtorch_cpu", "linux-vdso"}, "[libpng16] x\n[libtorch] y") == ["libnew"]
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    wrong = [f"{program}: NOTICE has no line for {name}" for program in sys.argv[1:] for name in lacking(needed(program), notice)]
    for fault in wrong:
        print(fault)
    print(f"{len(sys.argv) - 1} programs, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
