#!/usr/bin/env python3
"""The version of the program stands in cli/version.h, the number of a format where it is written; pages and recipes repeat both, and this test
holds them to it. usage: versions.py"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Where the version of the program is repeated, and in which words.
REPEATED = {
    "CITATION.cff": r"^version: (\S+)$",
    "CHANGELOG.md": r"^## (\S+)(?= .*$)",
    "docs/install.md": r"expc-(\d[\w.]*?)(?=-py3|-linux|\.vsix)",
    "docs/editors.md": r"expc-(\d[\w.]*?)(?=\.vsix)",
    "tools/packaging/conda/recipe.yaml": r'^  version: "(.+)"$',
    "tools/packaging/spack/packages/expc/package.py": r'^    version\("(.+)"\)$',
}
FORMATS = ("docs/versions.md", "CHANGELOG.md")


def faults(name, text, version, formats):
    if name in REPEATED:
        found = re.findall(REPEATED[name], text, re.M)
        if not found:
            yield f"{name} does not say the version in the words that versions.py looks for"
        # A list of changes goes on with older ones.
        yield from (f"{name} says {one}, and the program {version}" for one in found[:1 if name == "CHANGELOG.md" else None] if one != version)
    if name in FORMATS:
        yield from (f"{name} says {one}, which nothing writes" for one in sorted(set(re.findall(r"expc\.[a-z-]+/\d+", text)) - formats))


def main():
    assert list(faults("CITATION.cff", "version: 1\n", "2", set())) == ["CITATION.cff says 1, and the program 2"]
    assert list(faults("CHANGELOG.md", "## 2 (not released)\nplan `expc.plan/1`\n## 1 (old)\n", "2", {"expc.plan/2"})) == ["CHANGELOG.md says expc.plan/1, which nothing writes"]
    version = re.search(r'kVersion = "([^"]+)"', (ROOT / "cli/version.h").read_text())[1]
    sources = [path for folder in ("cli", "compiler", "runtime") for path in (ROOT / folder).rglob("*.[ch]*") if path.suffix in (".cpp", ".h") and not path.stem.endswith("_test")]
    formats = {one for path in sources for one in re.findall(r'"(expc\.[a-z-]+/\d+)"', path.read_text())}
    formats.add("expc.plan/" + re.search(r"kPlanVersion = (\d+)", (ROOT / "runtime/plan/plan.h").read_text())[1])
    wrong = [fault for name in sorted({*REPEATED, *FORMATS}) for fault in faults(name, (ROOT / name).read_text(), version, formats)]
    for fault in wrong:
        print(fault)
    print(f"{version}, {len(formats)} formats, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
