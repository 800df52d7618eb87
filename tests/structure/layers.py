#!/usr/bin/env python3
"""The layers point one way: every #include between the project's directories must be an arrow of this table.

The table lists the arrows that are used and no other; a new one is a decision (docs/architecture.md draws them). A directory may always include itself.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# directory -> directories whose headers it may include
ARROWS = {
    "compiler/diag": {"runtime/base"},
    "compiler/parse": {"compiler/diag", "runtime/base", "runtime/base/files", "stdlib"},
    "compiler/format": {"compiler/diag", "compiler/parse", "runtime/base"},
    "compiler/check/value": {"compiler/diag", "compiler/parse", "runtime/base"},
    "compiler/check": {"compiler/diag", "compiler/parse",
                       "compiler/check/value", "runtime/base", "runtime/base/files", "runtime/plan", "stdlib"},
    "compiler/expand": {"compiler/parse", "compiler/check", "runtime/base"},
    "compiler/points": {"compiler/expand", "runtime/base", "runtime/plan", "runtime/stats"},
    "compiler/lower": {"compiler/points", "runtime/base", "runtime/plan"},
    "compiler/editor": {"compiler/diag", "compiler/parse", "compiler/format",
                        "compiler/check/value", "compiler/check", "compiler/points", "compiler/lower", "runtime/base", "runtime/base/files",
                        "runtime/plan", "stdlib"},
    "runtime/base": set(),  # the ground floor
    "runtime/base/files": {"runtime/base"},  # how files are read, written and removed
    "runtime/plan": {"runtime/base"},
    "runtime/protocol": {"runtime/base", "runtime/plan"},
    "runtime/stats": {"runtime/base"},
    "runtime/machine": {"runtime/base"},
    "runtime/validity": {"runtime/base", "runtime/plan", "runtime/machine"},
    "runtime/cluster": {"runtime/base", "runtime/base/files"},
    "runtime/rehearsal": {"runtime/base", "runtime/base/files", "runtime/plan", "runtime/protocol", "nullgpu/core/counters_api"},
    "runtime/store": {"runtime/base", "runtime/base/files", "runtime/plan"},
    "runtime/bundle": {"runtime/base", "runtime/base/files", "runtime/plan", "runtime/store"},
    "runtime/judge": {"runtime/base", "runtime/plan", "runtime/stats", "runtime/store"},
    "runtime/describe": {"runtime/base", "runtime/plan", "runtime/stats", "runtime/store", "runtime/judge"},
    "runtime/simulate": {"runtime/base", "runtime/plan", "runtime/stats", "runtime/store", "runtime/judge", "runtime/describe"},
    "runtime/engine/inputs": {"runtime/base", "runtime/base/files", "runtime/plan", "runtime/protocol", "runtime/store"},
    "runtime/engine/launch": {"runtime/base", "runtime/base/files", "runtime/plan", "runtime/protocol", "runtime/machine", "runtime/validity",
                              "runtime/store", "runtime/engine/inputs"},
    "runtime/engine/nodes": {"runtime/base", "runtime/base/files", "runtime/machine", "runtime/engine/inputs", "runtime/engine/launch"},
    "runtime/engine": {"runtime/base", "runtime/base/files", "runtime/plan", "runtime/protocol", "runtime/stats", "runtime/machine",
                       "runtime/validity", "runtime/rehearsal", "runtime/store", "runtime/judge", "runtime/engine/inputs", "runtime/engine/launch",
                       "runtime/engine/nodes"},
    "runtime/report": {"runtime/base", "runtime/base/files", "runtime/plan", "runtime/stats", "runtime/rehearsal", "runtime/store",
                       "runtime/judge", "runtime/describe", "runtime/simulate"},
    "runtime/export": {"runtime/base", "runtime/base/files", "runtime/plan", "runtime/stats", "runtime/store", "runtime/judge", "runtime/describe",
                       "runtime/report"},
    "runtime/data": {"runtime/base", "runtime/base/files", "runtime/stats"},  # no torch: `expc data` and `expc plan` use it too
    "runtime/worker": {"runtime/base", "runtime/base/files", "runtime/plan", "runtime/protocol", "runtime/data", "nullgpu/core/counters_api"},
    "stdlib": set(),
    # Stands in for NVIDIA's libraries, so it knows nothing of what is built on them.
    "nullgpu": {"nullgpu/core/counters_api"},
    "nullgpu/core/counters_api": set(),  # what others may read of it
}
# The command line is the only part that sees both sides; it does not reach into the worker.
ARROWS["cli"] = {d for d in ARROWS if d not in {"runtime/worker", "nullgpu"}}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def layer(path: str):
    """The longest table entry that holds `path` (a directory, or a header with its source), or None for a file outside the table."""
    best = None
    for name in ARROWS:
        if path.startswith((name + "/", name + ".")) and (best is None or len(name) > len(best)):
            best = name
    return best


def arrows_of(files):
    """(file, line, its directory, the directory of what it includes, that header), for each #include from one directory to another."""
    for path, text in files:
        own = layer(path)
        for match in INCLUDE.finditer(text) if own else ():
            target = layer(match.group(1))
            if target and target != own:
                yield path, text.count("\n", 0, match.start()) + 1, own, target, match.group(1)


def violations(files):
    for path, line, own, target, header in arrows_of(files):
        if target not in ARROWS[own]:
            yield f"{path}:{line}: {own} may not include {header}"


def unused(files):
    used = {(own, target) for _, _, own, target, _ in arrows_of(files)}
    for own in ARROWS.keys() - {"cli"}:
        for target in sorted(ARROWS[own]):
            if (own, target) not in used:
                yield f"{own} includes nothing of {target}: take the arrow out of this table"


def circles_of(files):
    """Sets of files that include each other, directly or through others; a source and its header count as one file."""
    stem = lambda path: path.rsplit(".", 1)[0]
    arrows = {stem(path): set() for path, _ in files if not path.endswith(".inc")}
    for path, text in files:
        if path.endswith(".inc"):  # text that a source takes in
            continue
        arrows[stem(path)] |= {stem(match.group(1)) for match in INCLUDE.finditer(text)} & arrows.keys() - {stem(path)}
    reached = {}
    for start in arrows:
        reached[start], left = set(), [start]
        while left:
            for target in arrows[left.pop()] - reached[start]:
                reached[start].add(target)
                left.append(target)
    return {tuple(sorted(other for other in reached[one] if one in reached[other])) for one in arrows if one in reached[one]}


def circles(files):
    for circle in sorted(circles_of(files)):
        yield f"{' '.join(circle)}: these include each other; move what they share into a file below them"


def torch_outside_worker(files):
    for path, text in files:
        if path.startswith("runtime/worker/") or not path.startswith(("cli/", "compiler/", "runtime/")):
            continue
        for match in re.finditer(r'^\s*#\s*include\s+[<"](torch|ATen|c10)/', text, re.M):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: torch belongs in runtime/worker"


def of_tests(path):
    return path.endswith("_test.cpp") or path.startswith(("tests/", "nullgpu/tests/"))


def support_among_products(files):
    """Headers of the product that nothing but tests includes; a header's own source does not count."""
    included = {}
    for path, text in files:
        for match in INCLUDE.finditer(text):
            included.setdefault(match.group(1), set()).add(path)
    for path, users in sorted(included.items()):
        others = {user for user in users if user.rsplit(".", 1)[0] != path.rsplit(".", 1)[0]}
        if not of_tests(path) and others and all(map(of_tests, others)):
            yield f"{path}: only tests include it; its place is tests/support, or nullgpu/tests"
    for path, text in files:
        for match in INCLUDE.finditer(text):
            if not of_tests(path) and match.group(1).startswith("tests/"):
                yield f"{path}: includes {match.group(1)}, which is the tests'"


NULL_GPU_FACE = "nullgpu/core/counters_api.h"


def null_gpu_apart(files):
    """The null GPU stands by itself: tests and all it includes nothing of the house, and the house one header of it, in plain C."""
    for path, text in files:
        inside = path.startswith("nullgpu/")
        for match in INCLUDE.finditer(text):
            header = match.group(1)
            of_house = not header.startswith("nullgpu/") and (ROOT / header).exists()
            if (of_house or path == NULL_GPU_FACE) if inside else header.startswith("nullgpu/") and header != NULL_GPU_FACE:
                yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {header} crosses the border of the null GPU"


# Where results are computed, there are codes and numbers; words for them are in runtime/report (reasons.cpp).
WORDLESS = ("runtime/judge/", "runtime/describe/", "runtime/simulate/", "runtime/stats/", "runtime/plan/evaluate.", "runtime/plan/reason.")
# Of a program: comments, and texts that stand side by side.
SPOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|((?:"(?:[^"\\\n]|\\.)*"\s*)+)', re.S)


def prose_below_report(files):
    """Texts of three words and more where results are computed. Errors of what a person gave, and assertions, may have words."""
    for path, text in files:
        if not path.startswith(WORDLESS):
            continue
        spoken = list(SPOKEN.finditer(text))
        bare = list(text)
        for one in spoken:
            bare[one.start():one.end()] = " " * (one.end() - one.start())
        bare = "".join(bare)
        for one in spoken:
            said = re.sub(r'"\s*"|"|\{[^}]*\}', " ", one.group(1) or "")
            if sum(len(re.findall("[A-Za-z]", word)) > 1 for word in said.split()) < 3:
                continue
            statement = bare[max(bare.rfind(end, 0, one.start()) for end in ";{}") + 1:one.start()]
            if not re.search(r"\b(createStringError|assert|static_assert)\(", statement):
                line = text.count("\n", 0, one.start()) + 1
                yield f"{path}:{line}: prose below runtime/report, where a code of runtime/plan/reason.h belongs: {said.strip()}"


def foreign_namespaces(files):
    """A file below compiler/ or runtime/ that opens namespaces of the house opens that of a folder it lies in, or its own."""
    words = {"export": "exports"}  # a word of C++
    for path, text in files:
        whole = set(re.findall(r"^namespace expc::([\w:]+)", text, re.M))
        opened = {name.split("::")[0] for name in whole}
        own = re.sub(r"(_test)?\.\w+$", "", path)
        rooms = {words.get(name, name) for name in own.split("/")}
        if path.startswith(("cli/", "compiler/", "runtime/")) and opened and not opened & rooms:
            yield f"{path}: its namespace is expc::{min(opened)}, and it lies in none of that name"
        # Rooms of the engine are apart from each other by their names, too.
        if path.startswith("runtime/engine/") and whole - {"::".join(path.split("/")[1:-1])}:
            yield f"{path}: its namespace is expc::{min(whole)}, and not that of its room"


def project_files():
    """All of the project's own C++ with its tests."""
    for top in ("cli", "compiler", "runtime", "nullgpu", "stdlib", "tests"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in {".h", ".cpp", ".cu", ".def", ".inc"}:
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def self_test():
    """The checker must see what it is there to see."""
    bad = [("runtime/engine/x.cpp", '#include "compiler/diag/diagnostic.h"\n'),
           ("compiler/check/x.cpp", '#include "runtime/store/records.h"\n')]
    assert len(list(violations(bad))) == 2 and len(list(unused(bad))) > 20
    assert len(list(torch_outside_worker([("runtime/engine/x.cpp", "#include <torch/all.h>\n")]))) == 1
    assert not list(violations([("runtime/store/x.cpp", '#include "runtime/plan/plan.h"\n')]))
    own = ("runtime/a/x.cpp", '#include "runtime/a/x.h"\n')
    test = ("runtime/a/x_test.cpp", '#include "runtime/a/x.h"\n#include "tests/support/a.h"\n')
    assert len(list(support_among_products([own, test]))) == 1
    assert not list(support_among_products([own, test, ("runtime/b/y.cpp", '#include "runtime/a/x.h"\n')]))
    assert len(list(support_among_products([("runtime/b/y.cpp", '#include "tests/support/a.h"\n')]))) == 1
    crossing = [("nullgpu/core/x_test.cpp", '#include "runtime/base/failure.h"\n'), ("runtime/x.cpp", '#include "nullgpu/core/cards.h"\n'),
                (NULL_GPU_FACE, '#include "nullgpu/core/activity.h"\n')]
    assert len(list(null_gpu_apart(crossing))) == 3
    assert not list(null_gpu_apart([("runtime/x.cpp", f'#include "{NULL_GPU_FACE}"\n'), ("nullgpu/x.cpp", '#include "nullgpu/core/cards.h"\n')]))
    reason = ("runtime/judge/x.cpp", 'f("{0} ran out "\n  "of memory"); // one two three\n#include "runtime/a/b.h"\ng("two words");')
    error = ("runtime/judge/x.cpp", 'if (!x) return llvm::createStringError(fmt::format("there is no \'{}\' here", x));')
    assert len(list(prose_below_report([reason, error, ("runtime/report/x.cpp", reason[1])]))) == 1
    circle = [("a/x.h", '#include "a/y.h"\n'), ("a/y.cpp", '#include "a/y.h"\n#include "a/z.h"\n'), ("a/z.h", '#include "a/x.h"\n'), ("a/y.h", "")]
    assert circles_of(circle) == {("a/x", "a/y", "a/z")} and not circles_of(circle[1:])
    assert len(list(circles(circle))) == 1
    named = ("runtime/a/x.h", "namespace expc::a {\n")
    assert len(list(foreign_namespaces([("runtime/engine/launch/x.h", "namespace expc::engine {\n")]))) == 1
    assert not list(foreign_namespaces([("compiler/parse/words_test.cpp", "namespace expc::words {\n")]))
    assert not list(foreign_namespaces([named])) and len(list(foreign_namespaces([("runtime/b/x.h", named[1])]))) == 1


def main():
    self_test()
    everything = list(project_files())
    files = [(path, text) for path, text in everything if not of_tests(path)]
    assert len(files) > 20, "no sources found"
    found = list(violations(files)) + list(unused(files)) + list(torch_outside_worker(files)) + list(support_among_products(everything)) + list(null_gpu_apart(everything))
    found += list(foreign_namespaces(everything)) + list(prose_below_report(files)) + list(circles(files))
    print("\n".join(found) or f"{len(files)} files keep to the layers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
