#!/usr/bin/env python3
"""What torch asks of CUDA's libraries, and stubs for what nobody has written here.

  demand   reads the undefined symbols of torch's libraries, and the names that they look up at run time, and sorts them by the
           library that has to have them
  stubs    writes, for one library, a stub for each of these that its objects do not define (or, if a header declares it, an answer
           by the types of its parameters), the functions that only succeed, and its version script
  verify   looks whether the libraries, as they were linked, have all that torch asks for, under the version that it asks for

What does not fit ends with a line for each symbol and exit code 1, so that a new torch breaks the build and not a run.
Symbols come from readelf and nm, not from sources."""
import argparse
import fnmatch
import json
import mmap
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

# Libraries of the system. Symbols that torch needs of these exist already, or torch would not run on the CPU either.
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gomp)\.so\.\d+$|ld-linux.*\.so\.\d+$")
# Symbols of the Python interpreter, which loads libtorch_python.
INTERPRETER = re.compile(r"_?Py[A-Z_]")
MOST_LINES = 30


class Mismatch(Exception):
    """The symbols that torch needs and those that exist here do not match; one line per case."""

    def __init__(self, lines):
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True)
class Wish:
    """An undefined symbol of a library, with its version and the library of that version; both are None for a symbol without a version."""

    symbol: str
    version: str | None = None
    library: str | None = None


@dataclass
class Binary:
    """The parts of a shared library that matter here."""

    name: str
    needed: list = field(default_factory=list)
    wishes: list = field(default_factory=list)
    defined: set = field(default_factory=set)
    looked_up: set = field(default_factory=set)  # functions whose names are among its strings, so that it may look them up at run time


# --- reading -----------------------------------------------------------------------------------------------------------------

def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout


def read_binary(path, names):
    """Reads a library's symbols. `names` is a compiled pattern of the functions that may be looked up by name."""
    binary = Binary(path.name, re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-dW", path)))
    text = run("readelf", "--dyn-syms", "-V", "-W", path)
    owners = {}
    for line in text.splitlines():
        if found := re.search(r"Version: \d+\s+File: (\S+)", line):
            owner = found[1]
        elif found := re.search(r"Name: (\S+)\s+Flags: .*Version: (\d+)", line):
            owners[found[2]] = (found[1], owner)
    for line in text.splitlines():
        column = line.split()
        if len(column) < 8 or not column[0][:-1].isdigit() or column[4] not in ("GLOBAL", "WEAK"):
            continue
        symbol = column[7].split("@")[0]
        if column[6] != "UND":
            binary.defined.add(symbol)
        elif column[4] == "GLOBAL":
            version, library = owners[column[8].strip("()")] if len(column) > 8 else (None, None)
            binary.wishes.append(Wish(symbol, version, library))
    binary.looked_up = strings_in(path, names)
    return binary


def strings_in(path, names):
    """The zero-terminated strings of a file that `names` matches."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return {found[1].decode() for found in re.finditer(rb"\0((?:cu|nvml)[A-Z]\w{2,80})(?=\0)", content) if names.fullmatch(found[1].decode())}


def looked_up_names(header):
    """A pattern for functions that are looked up by name: all that cuda.h declares, and all of NVML."""
    declared = set(re.findall(r"\bcu[A-Z]\w+", header))
    return re.compile("|".join(sorted(map(re.escape, declared), reverse=True) + [r"nvml[A-Z]\w+"]))


# --- which library must have a symbol -----------------------------------------------------------------------------------------

def family_of(symbol, families):
    """The library whose export pattern matches a symbol most closely; None if none does."""
    matching = [(len(re.sub(r"\[.*?\]", "?", pattern)), library)
                for library, patterns in families.items() for pattern in patterns if fnmatch.fnmatchcase(symbol, pattern)]
    return max(matching)[1] if matching else None


def demand_of(binaries, families, defined_elsewhere=frozenset()):
    """Sorts the symbols that `binaries` need by null library: {library: {"version": ..., "symbols": {symbol: first binary that needs it}}}.
    `families` is {library: [export patterns]}; `defined_elsewhere` are symbols of the system's libraries. Raises Mismatch for symbols
    that no null library would have or export."""
    ours = {binary.name for binary in binaries}
    defined = set(defined_elsewhere).union(*(binary.defined for binary in binaries))
    result = {library: {"version": None, "symbols": {}} for library in families}
    lines = []

    def ask(binary, symbol, library, version):
        entry = result[library]
        if version and entry["version"] not in (None, version):
            lines.append(f"{binary} asks for {symbol} of {library} in version {version}, others for version {entry['version']}: "
                         "the null GPU has one version of a library")
        entry["version"] = entry["version"] or version
        entry["symbols"].setdefault(symbol, binary)

    for binary in binaries:
        lines += [f"{binary.name} needs {needed}, which the null GPU has not: give it a folder or a line in nullgpu/stubs/CMakeLists.txt"
                  for needed in binary.needed if needed not in families and needed not in ours and not SYSTEM.match(needed)]
        for wish in binary.wishes:
            if wish.library in families:
                ask(binary.name, wish.symbol, wish.library, wish.version)
                if not any(fnmatch.fnmatchcase(wish.symbol, pattern) for pattern in families[wish.library]):
                    lines.append(f"{binary.name} asks for {wish.symbol} of {wish.library}, whose EXPORTS ({' '.join(families[wish.library])}) hide it")
            elif wish.library is None and wish.symbol not in defined and not INTERPRETER.match(wish.symbol):
                if library := family_of(wish.symbol, families):
                    ask(binary.name, wish.symbol, library, None)
                else:
                    lines.append(f"{binary.name} asks for {wish.symbol}, which belongs to no library of the null GPU: "
                                 "add it to the EXPORTS of one in nullgpu/")
        for symbol in sorted(binary.looked_up):
            if library := family_of(symbol, families):
                ask(binary.name, symbol, library, None)
    if lines:
        raise Mismatch(lines)
    return result


def merged(entries):
    """Merges several entries of a demand for one library: those of several torches, or under its names in CUDA 12 and 13."""
    versions = {entry["version"] for entry in entries} - {None}
    # A library with two names has a version for each, and its functions have none.
    return {"version": versions.pop() if len(versions) == 1 else None,
            "symbols": {symbol: who for entry in reversed(entries) for symbol, who in entry["symbols"].items()}}


# --- writing the files -------------------------------------------------------------------------------------------------------

STUBS = """// Generated by nullgpu/stubs/stubs.py: what torch asks of {library} and nobody has written, whose call ends the process, and what only succeeds.
{includes}#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {{
[[noreturn, maybe_unused]] void called(const char* line) {{
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line, std::strlen(line));
  std::abort();
}}
}}  // namespace

extern "C" {{
{functions}}}
"""


def declarations(headers):
    """{function: (type of its status, its parameters, their names)} of the functions that headers declare and that return a status or a text."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", "\n".join(header.read_text(errors="replace") for header in headers), flags=re.DOTALL)
    found = {}
    for status, name, parameters in re.findall(r"\b(cu\w+Status_t|const char\*)\s+(?:[A-Z]+\s+)?(cu\w+)\s*\(([^()]+)\)\s*;", text):
        names = [re.search(r"(\w+)\s*(?:\[\s*\d*\s*\]\s*)*$", parameter)[1] for parameter in parameters.split(",")]
        found[name] = status, " ".join(parameters.split()), names
    return found


def answer_text(name, status, parameters, names):
    """A function that nullgpu/core/answer.h answers by the types of its parameters."""
    if status == "const char*":
        return f'{status} {name}({parameters}) {{ return "an error of the null GPU"; }}\n'
    failed = status.removesuffix("Status_t").upper() + "_STATUS_EXECUTION_FAILED"
    return f'{status} {name}({parameters}) {{ return nullgpu::answer("{name}", {failed}, {", ".join(names)}); }}\n'


def stubs_text(library, folder, missing, succeed=(), headers=()):
    declared = declarations(headers)
    answers = "".join(answer_text(name, *declared[name]) for name in missing if name in declared)
    includes = "".join(f'#include "{header}"\n' for header in [*headers, "nullgpu/core/answer.h"]) if answers else ""
    includes = includes and '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // of functions that torch still calls\n' + includes
    missing = [name for name in missing if name not in declared]
    functions = "".join(
        f'void {name}() {{ called("nullgpu: {name} is called, which {library} of the null GPU has only as a stub: write it in {folder}\\n"); }}\n'
        for name in missing) + "".join(f"int {name}() {{ return 0; }}\n" for name in succeed)
    return STUBS.format(library=library, functions=answers + functions, includes=includes)


def script_text(version, patterns):
    return f"{version + ' ' if version else ''}{{ global: {' '.join(pattern + ';' for pattern in patterns)} local: *; }};\n"


def defined_in(paths, *options):
    """Names that files define for others, with their versions if they have any."""
    text = run("nm", "--defined-only", "--extern-only", *options, *paths) if paths else ""
    return {columns[2] for columns in map(str.split, text.splitlines()) if len(columns) == 3 and len(columns[1]) == 1}


def symbols_of(path):
    """The symbols of a library, with their versions. A library without code has the symbols of the library that it leads to, in its own version."""
    found = defined_in([path], "-D")
    for needed in re.findall(r"\(NEEDED\).*\[(libnullgpu_.+)\]", run("readelf", "-dW", path)):
        for version in re.findall(r"Index: 2 .* Name: (\S+)", run("readelf", "-VW", path)):
            found |= {f"{symbol}@@{version}" for symbol in defined_in([path.with_name(needed)], "-D") if "@" not in symbol}
    return found


def missing_in(entry, built):
    """Lines about symbols that torch needs of a library (`entry` of the demand) and that are not among its symbols `built` ("name@@version")."""
    end = f"@@{entry['version']}" if entry["version"] else ""
    return [f"{who} asks for {name}{end}, which is not among the library's symbols" for name, who in sorted(entry["symbols"].items())
            if name + end not in built]


def write_if_new(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def families_from(arguments):
    return {library: patterns.split(",") for library, patterns in (argument.split(":", 1) for argument in arguments)}


def demand(arguments):
    names = looked_up_names(arguments.header.read_text(errors="replace"))
    system = {name.split("@")[0] for name in defined_in(arguments.system, "-D")}
    families = families_from(arguments.families)
    demands = [demand_of([read_binary(path, names) for path in sorted(folder.glob("*.so*"))], families, system) for folder in arguments.torch]
    result = {library: merged([demand[library] for demand in demands]) for library in families}
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    write_if_new(arguments.output, json.dumps(result, indent=1, sort_keys=True) + "\n")


def stubs(arguments):
    demands = [json.loads(path.read_text()) for path in arguments.demand]
    entry = merged([demand[library] for demand in demands for library in arguments.library if library in demand])
    missing = sorted(set(entry["symbols"]) - defined_in(arguments.objects) - set(arguments.succeed))
    arguments.source.write_text(stubs_text(" and ".join(arguments.library), arguments.folder, missing, arguments.succeed, arguments.headers))
    arguments.script.write_text(script_text(entry["version"], arguments.exports.split(",")))


def verify(arguments):
    demands = [json.loads(path.read_text()) for path in arguments.demand]
    lines = [f"{path.name}: {line}" for path in arguments.libraries for asked in demands if path.name in asked
             for line in missing_in(asked[path.name], symbols_of(path))]
    if lines:
        raise Mismatch(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("demand")
    one.add_argument("--torch", nargs="+", type=pathlib.Path, required=True, help="folders with torch's libraries")
    one.add_argument("--header", type=pathlib.Path, required=True, help="cuda.h")
    one.add_argument("--system", nargs="+", type=pathlib.Path, required=True, help="the machine's own libraries that torch may use unversioned")
    one.add_argument("--families", nargs="+", required=True, metavar="LIBRARY:PATTERN,...", help="the null libraries and what they export")
    one.add_argument("--output", type=pathlib.Path, required=True)
    one.set_defaults(do=demand)
    one = commands.add_parser("stubs")
    one.add_argument("--demand", nargs="+", type=pathlib.Path, required=True)
    one.add_argument("--library", nargs="+", required=True, help="its names in CUDA 13 and 12")
    one.add_argument("--folder", required=True, help="where the missing functions would be written")
    one.add_argument("--exports", required=True, metavar="PATTERN,...")
    one.add_argument("--source", type=pathlib.Path, required=True)
    one.add_argument("--script", type=pathlib.Path, required=True)
    one.add_argument("--objects", nargs="*", default=[])
    one.add_argument("--succeed", nargs="*", default=[], metavar="FUNCTION", help="functions that do nothing and return 0")
    one.add_argument("--headers", nargs="*", type=pathlib.Path, default=[], help="declare functions that nullgpu/core/answer.h answers")
    one.set_defaults(do=stubs)
    one = commands.add_parser("verify")
    one.add_argument("--demand", nargs="+", type=pathlib.Path, required=True)
    one.add_argument("--libraries", nargs="+", type=pathlib.Path, required=True)
    one.set_defaults(do=verify)
    arguments = parser.parse_args()
    try:
        arguments.do(arguments)
    except Mismatch as mismatch:
        for line in mismatch.lines[:MOST_LINES]:
            print(f"nullgpu: {line}", file=sys.stderr)
        if len(mismatch.lines) > MOST_LINES:
            print(f"nullgpu: and {len(mismatch.lines) - MOST_LINES} more like these", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
