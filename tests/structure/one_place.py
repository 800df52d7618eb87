#!/usr/bin/env python3
"""Files of others are opened in one place, whole files written in one, JSON of others read in one, and text of others printed in one: nothing else
of the project calls what does that, but for the files named here, with the reason. usage: one_place.py
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL = "tells what the kernel tells, in /proc and /sys"
OWN = "reads or writes what this process or its user has just made"

# What is looked for, where it belongs, and who else may.
RULES = [
    ("opens files", r"MemoryBuffer::get(File|OpenFile|FileSlice)|fopen\(|std::[iw]?fstream|std::ifstream", "runtime/base/files/files.h", {
        "runtime/base/files/files.cpp": "the opener",
        **dict.fromkeys(("runtime/base/process.cpp", "runtime/machine/probe.cpp", "runtime/worker/serve/memory_group.cpp",
                         "runtime/worker/serve/child.cpp",
                         "runtime/worker/profile/launching_threads.cpp", "runtime/worker/device/host.cpp", "runtime/validity/host.cpp",
                         "runtime/store/lease.cpp"), KERNEL),
        "runtime/worker/command/process.cpp": KERNEL + ", and the first line of a program that was started",
        **dict.fromkeys(("runtime/worker/serve/command_line.cpp", "runtime/worker/main/worker_main.cpp"), OWN)}),
    ("writes whole files", r"std::ofstream|raw_fd_ostream", "files::write", {
        "runtime/base/files/files.cpp": "the writer", "runtime/export/python.cpp": "into a pipe"}),
    ("removes folders", r"remove_all\(|remove_directories\(|nftw\(", "files::removeTree, which leaves mounts alone", {}),
    ("reads JSON", r"json::parse\(", "base::parseJson, which knows how deep", {
        "runtime/base/json.cpp": "the reader", **dict.fromkeys(("runtime/worker/profile/breakdown.cpp", "runtime/worker/workload/rehearsal.cpp"), OWN)}),
    ("prints", r"llvm::(outs|errs)\(\)|std::c(out|err)\b|std::(fwrite|fputs|puts|printf)\(", "Console, or base::tell of what is printable", {
        "cli/console.cpp": "the printer", "runtime/base/printable.cpp": "the printer"}),
]
# A worker prints into its log, which is shown as any text of others.
PRINTS_INTO_LOGS = "runtime/worker/"


def faults(name, text):
    for what, pattern, instead, allowed in RULES:
        if name in allowed or (what == "prints" and name.startswith(PRINTS_INTO_LOGS)):
            continue
        for found in re.finditer(pattern, re.sub(r"//.*", "", text)):
            yield f"{name}: {what} ({found.group()}); use {instead}"


def self_test():
    assert list(faults("runtime/new.cpp", "std::ifstream in(path);"))
    assert list(faults("runtime/new.cpp", "llvm::json::parse(text)"))
    assert not list(faults("runtime/new.cpp", "// std::ofstream\nfiles::write(path, text)"))
    assert not list(faults("runtime/worker/new.cpp", "std::puts(text)"))


def main():
    self_test()
    sources = [path for folder in ("cli", "compiler", "runtime") for path in sorted((ROOT / folder).rglob("*.[ch]*")) if path.suffix in (".cpp", ".h", ".cu")]
    names = {str(path.relative_to(ROOT)): path for path in sources
             if not path.name.endswith("_test.cpp")}
    found = [fault for name, path in names.items() for fault in faults(name, path.read_text())]
    found += [f"{name} is named in one_place.py and is not there" for _, _, _, allowed in RULES for name in allowed if name not in names]
    for fault in found:
        print(fault)
    print(f"{len(names)} files, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
