#!/usr/bin/env python3
"""Every header that the build reads is of a known origin: ours, a wheel in .deps, or a package that tools/setup names or that one of those needs.

What only this machine has, such as a CUDA toolkit or a library in /usr/local, would be missing on a user's.
usage: headers.py NINJA BUILD_DIR      exits with 77 (skipped) where packages are not Debian's
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DPKG = pathlib.Path("/var/lib/dpkg")


def read_status(text):
    """{package: its Depends and Pre-Depends, each a list of alternatives}, {virtual package: packages} of dpkg's database."""
    needs, provides = {}, collections.defaultdict(list)
    for paragraph in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.split("\n") if re.match(r"[A-Z][\w-]*: ", line))
        if "installed" not in fields.get("Status", "").split():
            continue
        name = fields["Package"]
        wanted = ", ".join(fields[key] for key in ("Depends", "Pre-Depends") if key in fields)
        needs.setdefault(name, []).extend([re.split(r"[\s:(]", other.strip(), maxsplit=1)[0] for other in group.split("|")]
                                          for group in wanted.split(",") if group.strip())
        for virtual in fields.get("Provides", "").split(","):
            provides[re.split(r"[\s:(]", virtual.strip(), maxsplit=1)[0]].append(name)
    return needs, provides


def closure(packages, needs, provides):
    """`packages` and all that is installed because of them."""
    found, open_ends = set(), list(packages)
    while open_ends:
        name = open_ends.pop()
        if name in found:
            continue
        if name in needs:
            found.add(name)
            open_ends += [other for group in needs[name] for other in group]
        else:
            open_ends += provides.get(name, [])
    return found


def known_packages():
    """The packages that tools/setup names, and all that they need."""
    named = subprocess.run([ROOT / "tools/setup", "--packages"], check=True, capture_output=True, text=True).stdout.split()
    return closure(named, *read_status((DPKG / "status").read_text(encoding="utf-8")))


def files_of(packages):
    """The files of installed packages, by the names under which dpkg has them."""
    found = set()
    for path in (DPKG / "info").glob("*.list"):
        if path.name[:-len(".list")].split(":")[0] in packages:
            found.update(path.read_text(encoding="utf-8").split("\n"))
    return found


def dependencies(text):
    """{header: an object that was compiled with it} of `ninja -t deps`."""
    found, output = {}, ""
    for line in text.split("\n"):
        if line.startswith("    "):
            found.setdefault(line[4:], output)
        elif line:
            output = line.split(": #deps", 1)[0]
    return found


def of_depfile(text):
    """{file: the object} of a compiler's own list, which ninja reads anew for commands that are not of a language of CMake's, such as nvcc's."""
    output, _, names = text.replace("\\\n", " ").partition(": ")
    return {name: output.strip() for name in names.split()}


def strays(headers, folders, files):
    """Those of `headers` that are neither below one of `folders` nor one of `files`. A link is judged by what it leads to."""
    for header in headers:
        place = os.path.realpath(header)
        if not any(place.startswith(folder + "/") for folder in folders) and not {place, os.path.normpath(header)} & files:
            yield header


def self_test():
    needs, provides = read_status("Package: a\nStatus: install ok installed\nDepends: b (>= 1) | x, v:any\nDescription: d\n more\n\n"
                                  "Package: b\nStatus: install ok installed\n\n"
                                  "Package: c\nStatus: install ok installed\nProvides: v (= 2), w\n\n"
                                  "Package: gone\nStatus: deinstall ok config-files\n\n"
                                  "Package: other\nStatus: install ok installed\n")
    assert closure(["a", "gone"], needs, provides) == {"a", "b", "c"}
    log = "x.o: #deps 3, deps mtime 1 (VALID)\n    /usr/local/cuda/include/x.h\n    /src/y.h\n    /usr/include/z.h\n\n"
    seen = dependencies(log)
    assert seen["/usr/local/cuda/include/x.h"] == "x.o"
    assert of_depfile("k.o: /a.cu \\\n  /b.h\n") == {"/a.cu": "k.o", "/b.h": "k.o"}
    assert list(strays(seen, ["/src"], {"/usr/include/z.h"})) == ["/usr/local/cuda/include/x.h"]
    assert list(strays(["/src/../usr/include/stray.h"], ["/src"], set())), "a path is judged by where it leads"


def main():
    self_test()
    ninja, build = sys.argv[1:]
    if not (DPKG / "status").exists():
        print("SKIPPED: this system's packages are not Debian's, so where its headers come from is not known")
        return 77
    known = known_packages()
    log = subprocess.run([ninja, "-C", build, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    seen = dependencies(log)
    for path in pathlib.Path(build).glob("CMakeFiles/d/*.d"):
        seen |= of_depfile(path.read_text(encoding="utf-8"))
    headers = {os.path.join(build, header): output for header, output in seen.items()}
    assert len(headers) > 500, f"{build} has no log of dependencies: nothing was built there"
    folders = [os.path.realpath(folder) for folder in (ROOT, build, ROOT / ".deps")]
    found = sorted(strays(headers, folders, files_of(known)))
    for header in found:
        print(f"{header}: of no package that tools/setup names, nor in .deps; {headers[header]} is compiled with it")
    print(f"{len(headers)} headers, {len(found)} of unknown origin; {len(known)} packages are known")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
