#!/usr/bin/env python3
"""Files of others are opened in one place, whole files written in one, JSON of others read in one, and text of others printed in one: nothing else
of the project calls what does that, but for the files named here, with the reason. A type has one `describe` too: the linker would keep any
of two, and which of them depends on the machine. usage: one_place.py
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
    ("includes fmt", r"#include <fmt/(format|core)\.h>", "runtime/base/format.h, which knows llvm::StringRef on each Debian", {
        "runtime/base/format.h": "the teacher"}),
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


DESCRIBES = re.compile(r"^namespace ([\w:]*) ?\{|^\}  // namespace|^(?:inline )?void describe\((?:base::)?JsonRecord& \w+, (?:const )?([\w:]+)& ?\w*\) \{", re.M)


def described(text):
    """Types that a file has a `describe` for, by their full names. Those of a namespace without a name are the file's own."""
    rooms = []
    for found in DESCRIBES.finditer(text):
        if found.group().startswith("namespace"):
            rooms.append(found[1])
        elif found.group().startswith("}"):
            rooms.pop()
        elif "" not in rooms:
            yield found[2] if "::" in found[2] else "::".join([*rooms, found[2]])


def described_twice(texts):
    where = {}
    for name, text in texts.items():
        for kind in described(text):
            where.setdefault(kind.removeprefix("expc::"), []).append(name)
    for kind, names in where.items():
        if len(names) > 1:
            yield f"{' and '.join(names)}: describe {kind}; give one of them a type of its own"


def self_test():
    assert list(faults("runtime/new.cpp", "std::ifstream in(path);"))
    assert list(faults("runtime/new.cpp", "llvm::json::parse(text)"))
    assert not list(faults("runtime/new.cpp", "// std::ofstream\nfiles::write(path, text)"))
    assert not list(faults("runtime/worker/new.cpp", "std::puts(text)"))
    once = "namespace expc::store {\nvoid describe(JsonRecord& io, Worker& one) {\n}\n}  // namespace expc::store\n"
    inside = once.replace("store {\n", "store {\nnamespace {\n").replace("\n}  //", "\n}  // namespace\n}  //")
    assert list(described_twice({"a": once, "b": once.replace("void", "inline void")}))
    assert not list(described_twice({"a": once, "b": inside}))


def main():
    self_test()
    sources = [path for folder in ("cli", "compiler", "runtime") for path in sorted((ROOT / folder).rglob("*.[ch]*")) if path.suffix in (".cpp", ".h", ".cu")]
    names = {str(path.relative_to(ROOT)): path for path in sources
             if not path.name.endswith("_test.cpp")}
    texts = {name: path.read_text() for name, path in names.items()}
    found = [fault for name, text in texts.items() for fault in faults(name, text)] + list(described_twice(texts))
    found += [f"{name} is named in one_place.py and is not there" for _, _, _, allowed in RULES for name in allowed if name not in names]
    for fault in found:
        print(fault)
    print(f"{len(names)} files, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
