#!/usr/bin/env python3
"""Stores what an expc says of studies and their results, or compares it with what another one said, byte by byte.

Use it around a change that moves code and must leave what a user sees as it is: first with the old expc, then with the
new one and --with. Each of STUDIES is a folder with study files, and maybe with results in its folder `results`.
"""
import argparse
import concurrent.futures
import pathlib
import subprocess
import sys


def store(expc, path, words, folder):
    done = subprocess.run([expc, *words], cwd=folder, capture_output=True, timeout=600)
    path.write_bytes(b"exit code %d\n" % done.returncode + done.stdout + done.stderr)


def jobs(expc, out, folders):
    for command in ("--help-all", "run --help", "report --help"):
        yield expc, out / command.replace(" ", "_"), command.split(), "/"
    for study in sorted(study for folder in folders for study in folder.glob("*.exp")):
        name = f"{study.parent.name}.{study.stem}."
        calls = {f"plan.{form}": ["plan", study.name, "--format", form] for form in ("text", "json")}
        if (study.parent / "results").is_dir():
            calls |= {f"report.{form}": ["report", study.name, "--format", form, "--html", f"{out}/{name}html"] for form in ("text", "json")}
            calls["report.all"] = ["report", study.name, "--all", "--html", f"{out}/{name}all.html"]
            calls |= {f"export.{form}": ["export", study.name, "--format", form] for form in ("json", "markdown", "csv", "junit", "bencher", "openmetrics")}
            calls["compare"] = ["compare", study.name, "results", "results"]
        for call, words in calls.items():
            yield expc, out / (name + call), words, study.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--with", dest="other", type=pathlib.Path, help="folder of an earlier call")
    parser.add_argument("expc", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("out", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("studies", nargs="+", type=lambda path: pathlib.Path(path).resolve())
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for one in [pool.submit(store, *job) for job in jobs(options.expc, options.out, options.studies)]:
            one.result()
    names = sorted(path.name for path in options.out.iterdir())
    if not options.other:
        return print(f"{len(names)} files")
    # The folders' names are in what is printed.
    content = lambda folder, name: (folder / name).read_bytes().replace(bytes(folder), b"OUT") if (folder / name).exists() else b""
    differ = [name for name in names if content(options.out, name) != content(options.other.resolve(), name)]
    print("\n".join(differ) or f"{len(names)} files are equal")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
