#!/usr/bin/env python3
"""Every library that a program loads, by its needs or later by name, is of a known origin: of this build, of a wheel in .deps, or of a package
that tools/setup names or that one of those needs. NVIDIA's driver alone is the machine's own.

The programs run in an empty environment, so that what a CUDA toolkit has put there helps none of them; the loader itself says what it loads.
expc-worker-cuda runs over the null GPU, whose library comes first.
usage: libraries.py BUILD_DIR PROGRAM... [--preload LIBRARY PROGRAM...]
"""
import json
import os
import pathlib
import re
import subprocess
import sys

import headers

DRIVER = re.compile(r"lib(cuda|nvidia-[\w-]+)\.so")


def loaded(trace):
    """The files that the loader names in a trace of LD_DEBUG=libs, in order."""
    return list(dict.fromkeys(re.findall(r"calling init: (/\S+)", trace)))


def strays(files, folders, known):
    """Those of `files` that are of no known origin. Debian 12 lists files of /usr/lib as files of /lib."""
    found = []
    for path in files:
        place = os.path.realpath(path)
        names = {os.path.normpath(path), place, place.removeprefix("/usr")}
        if not any(place.startswith(folder + "/") for folder in folders) and not names & known and not DRIVER.match(os.path.basename(place)):
            found.append(path)
    return found


def self_test():
    trace = "      7:\tcalling init: /lib64/libc.so.6\n      7:\t\n      7:\tcalling init: /usr/local/cuda/lib64/libcudart.so.13\n"
    assert loaded(trace) == ["/lib64/libc.so.6", "/usr/local/cuda/lib64/libcudart.so.13"]
    assert strays(loaded(trace), ["/src"], {"/lib64/libc.so.6"}) == ["/usr/local/cuda/lib64/libcudart.so.13"]
    assert not strays(["/usr/lib/x86_64-linux-gnu/libcuda.so.580.1", "/src/build/liby.so"], ["/src"], set())


def run(program, arguments, preload):
    """What `program` loaded and printed."""
    environment = {"LD_DEBUG": "libs"} | ({"LD_PRELOAD": preload, "LD_LIBRARY_PATH": str(pathlib.Path(preload).parent)} if preload else {})
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, errors="replace", timeout=300)
    if done.returncode:
        said = [line for line in done.stderr.split("\n") if not re.match(r"\s*\d+:\t", line)]
        sys.exit(f"{program.name} {' '.join(arguments)} ended with {done.returncode}: {' '.join(said)[:2000]}")
    return loaded(done.stderr), done.stdout


def main():
    self_test()
    build, *words = sys.argv[1:]
    if not (headers.DPKG / "status").exists():
        print("SKIPPED: this system's packages are not Debian's, so where its libraries come from is not known")
        return 77
    known = headers.files_of(headers.known_packages())
    folders = [os.path.realpath(folder) for folder in (headers.ROOT, build, headers.ROOT / ".deps")]
    preload, wrong = None, 0
    while words:
        word = words.pop(0)
        if word == "--preload":
            preload = words.pop(0)
            continue
        program = pathlib.Path(word)
        describes = program.name.startswith("expc-worker")
        files, said = run(program, ["--describe" if describes else "--version"], preload)
        assert files, f"the loader named nothing that {program.name} loads"
        assert not describes or "workloads" in json.loads(said), f"{program.name} describes no workloads"
        found = strays(files, folders, known)
        print(f"{program.name}: {len(files)} libraries, {len(found)} of unknown origin {' '.join(found)}")
        wrong += len(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
