#!/usr/bin/env python3
"""Does what a tutorial says, in an empty folder, and compares the verdicts: docs/tutorials/PAGE.md.

A block of code is marked as docs/tutorials/README.md says: with a kind and a name it is a file, `sh` is typed, and the lines of the `text` block
behind it that tell a verdict or an exit code are looked for in what was printed, in that order and with any numbers. Of a block `text measured`
only the criteria are: its verdicts rest on times of this machine, which other programs may share.

usage: tutorials.py --expc PATH PAGE... [--exactly] [--slurm] [--show]
"""
import argparse
import contextlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.M | re.S)
TOLD = re.compile(r"(PASS|FAIL|INCONCLUSIVE|INFEASIBLE|NOT RUN|BROKEN|NOT ASKED|exit code)\b")
NUMBER = re.compile(r"[-+]?\d[\d.,]*(?: (?:ns|us|µs|ms|s|min)\b)?")


def criteria(text):
    """The names of the criteria that have a verdict, whatever it is, and one word for an exit code that is an answer (0, 3 or 4)."""
    names = re.findall(r"^ *(?:PASS|FAIL|INCONCLUSIVE) +(\w+):", text, re.M)
    return names + ["answered"] * len(re.findall(r"^exit code [034]$", text, re.M))


def verdicts(text, exactly):
    """The lines that tell a verdict, without what another run has otherwise: numbers, and how far a line goes."""
    lines = [" ".join(line.split()) for line in text.splitlines() if TOLD.match(line)]
    return [line if exactly or line.startswith("exit code") else NUMBER.sub("#", line) for line in lines]


def first_difference(expected, said):
    """The first line of `expected` that does not come in `said`, in this order, or None. A longer number may have sent words to the next line."""
    rest = iter(said)
    same = lambda line, other: min(len(line), len(other)) > 30 and (line.startswith(other) or other.startswith(line))
    return next((line for line in expected if not any(line == other or same(line, other) for other in rest)), None)


# Pages leave the default of --heat-up, two seconds of load on every core, which no verdict of theirs depends on.
WITHOUT_HEAT_UP = """expc() {
  [[ $1 != run && $1 != bench || $* == *--heat-up* ]] || set -- "$1" --heat-up 0 "${@:2}"
  command expc "$@"
}
"""


def pip():
    """A shell function by which `pip install --target FOLDER` needs no network: it copies the package that tools/setup --tests put into .deps. "" without that."""
    packages = next((ROOT / ".deps/clients/lib").glob("python3*/site-packages"), ROOT)
    return f'pip() {{ mkdir -p "$4" && cp -r {shlex.quote(str(packages / "waitress"))} "$4"; }}\n' if (packages / "waitress").is_dir() else ""


def follow(page, options):
    """What is wrong with a page, in one text, or "". Every block is done, in the order of the page."""
    text = page.read_text(encoding="utf-8")
    environment = {**os.environ, "PATH": f"{os.path.dirname(os.path.abspath(options.expc))}:{os.environ['PATH']}",
                   "PYTHONPATH": str(ROOT / "python")}  # a wheel brings `import expc`, and this is none
    said, compared = None, 0
    with tempfile.TemporaryDirectory(prefix="expc-tutorial-") as folder:
        for found in BLOCK.finditer(text):
            kind, name, body = found.groups()
            line = text.count("\n", 0, found.start()) + 1
            if kind == "text":
                if said is None:
                    return f"{page.name}:{line}: there is an output and no command before it"
                told = criteria if name == "measured" else lambda text: verdicts(text, options.exactly)
                expected = told(body)
                missing = first_difference(expected, told(said))
                if missing is not None:
                    return f"{page.name}:{line}: nothing printed '{missing}'; this was printed:\n{said}"
                compared += len(expected)
            elif name == "on the cluster" and not options.slurm:
                said = None
                return "" if compared else f"{page.name}: no verdict was compared"
            elif kind == "sh" and name in (None, "on the cluster"):
                done = subprocess.run(["bash", "-c", WITHOUT_HEAT_UP + pip() + body], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=800)
                said = done.stdout
                if options.show:
                    print("".join(f"$ {command}\n" for command in body.splitlines()) + said)
                # 3, 4 and 6 are answers; what a page wants to be told of them it prints.
                if done.returncode in (1, 2, 5, 126, 127, 130):
                    return f"{page.name}:{line}: exit code {done.returncode}\n{body}{said}"
            elif name:
                if name == "site" and "EXPC_DEVICE_LOCKS" in os.environ:
                    body += "export = EXPC_DEVICE_LOCKS\n"  # a job has no other variable of the tests
                (pathlib.Path(folder) / name).write_text(body, encoding="utf-8")
                if body.startswith("#!"):
                    (pathlib.Path(folder) / name).chmod(0o755)
            else:
                return f"{page.name}:{line}: a block '{kind}' is neither a file with a name, nor typed, nor printed"
    return "" if compared else f"{page.name}: no verdict was compared"


def self_test():
    assert verdicts("PASS  a: 2.05x [1.6x, 2x] is >= 1.5x\nnext: x\n  PASS inside", False) == ["PASS a: #x [#x, #x] is >= #x"]
    assert first_difference(["a", "b"], ["a", "c", "b"]) is None
    assert first_difference(["b", "a"], ["a", "b"]) == "a"
    assert verdicts("exit code 0", False) != verdicts("exit code 4", False)
    assert verdicts("FAIL  a: 1x", False) != verdicts("PASS  a: 1x", False)
    assert criteria("FAIL  a: 1x\nexit code 3") == criteria("PASS  a: 2x\nexit code 0") == ["a", "answered"]
    assert criteria("BROKEN  a: no trial\nexit code 5") == []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expc", required=True)
    parser.add_argument("--exactly", action="store_true", help="numbers must be those of the page too")
    parser.add_argument("--slurm", action="store_true", help="also the blocks of the cluster, on a Slurm of the test's own")
    parser.add_argument("--show", action="store_true", help="print what is typed and printed, to write a page")
    parser.add_argument("page", nargs="+", help="a name in docs/tutorials, without .md")
    options = parser.parse_args()
    self_test()
    with contextlib.ExitStack() as stack:
        if options.slurm:
            sys.path.insert(0, str(ROOT / "tests/slurm"))
            import cluster
            if why := cluster.lacking():
                print(f"SKIPPED: {why}")
                return 77
            stack.enter_context(cluster.Slurm())
        wrong = [fault for name in options.page if (fault := follow(ROOT / f"docs/tutorials/{name}.md", options))]
    for fault in wrong:
        print(f"FAILED: {fault}")
    print(f"{len(options.page)} pages, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
