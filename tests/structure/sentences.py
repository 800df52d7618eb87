#!/usr/bin/env python3
"""Finds sentences that are put together from pieces, and lists all others.

A sentence that a user sees is one literal with a place for each value, in a call (`failure`, `say`, `message`) or in a table, so a translator or a
fresh reader gets it whole. With --list the script prints each with its place: the catalogue to translate or to read aloud. Decision 202 says
why it is no file.

usage: sentences.py [--list]
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("cli", "compiler", "runtime")
# The report builds its sentences in functions of its own, clause by clause (docs/layers/report.md), and diagnostics stand in tables. The worker with torch,
# the readers of records and the ground floor word what only a damaged file or a mistake of ours shows.
NOT_HELD = ("compiler/", "runtime/report/", "runtime/plan/", "runtime/base/", "runtime/data/", "runtime/worker/")
HELD = ("runtime/worker/command/",)
# Text of a study, of a page and of a script is no sentence.
TEXTS = {"cli/bench_command.cpp", "cli/bundle_command.cpp", "runtime/cluster/slurm.cpp"}
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
JOINED = re.compile(rf"{LITERAL}(?:\s*{LITERAL})*")
COMMENT = re.compile(rf"({LITERAL})|//[^\n]*")
WORDS = re.compile(r"[a-z]{2,}'?[a-z]* [a-z]{2,}")


def sentences(text):
    """(line, sentence, whether it is a piece) of each sentence in C++ source."""
    code = COMMENT.sub(lambda found: found.group(1) or "", text)
    for found in JOINED.finditer(code):
        sentence = "".join(one[1:-1] for one in re.findall(LITERAL, found.group()))
        if not WORDS.search(sentence):
            continue
        before, after = code[:found.start()].rstrip(), code[found.end():].lstrip()
        # A text that grows by whole sentences (`+=`) is fine, and so is a label in front of another text.
        joined = before.endswith("+") or (after.startswith("+") and not sentence.endswith(": "))
        yield code.count("\n", 0, found.start()) + 1, sentence, joined


def self_test():
    assert [piece for *_, piece in sentences('say("the run " + name); say("the {} is ready", name); say("for that reason: " + why);')] == [True, False, False]
    assert not list(sentences('// "the run is over" + more\nopen("/proc/self/maps" + x)'))
    assert [one for _, one, _ in sentences('say("one line "\n    "goes on")')] == ["one line goes on"]


def main():
    self_test()
    found, count = [], 0
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.cpp")):
        name = str(path.relative_to(ROOT))
        if name.endswith("_test.cpp"):
            continue
        for line, sentence, piece in sentences(path.read_text(encoding="utf-8")):
            count += 1
            if "--list" in sys.argv:
                print(f"{name}:{line}: {sentence}")
            if piece and (name.startswith(HELD) or not name.startswith(NOT_HELD)) and name not in TEXTS:
                found.append(f"{name}:{line}: '{sentence}' is a piece of a sentence; write the whole with a place for each value (fmt::format)")
    print("\n".join(found) or f"{count} sentences, none is put together from pieces")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
