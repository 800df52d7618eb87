#!/usr/bin/env python3
"""`expc bench` beside hyperfine: how long the answer takes, and whether it is right where the machine does not stand still.

First the same two commands for both, in turns, whole processes from the line to the answer. Then one program under two names, which no honest
answer calls different, while other programs come to the cores in the middle of the measurement and stay: `--rounds` times each. hyperfine is
taken to say that they differ where its ratio lies more than twice its own ± from 1, expc where its verdict is pass or fail.
Prints tables, then one JSON line.

usage: commands.py --expc PATH [--runs N] [--rounds N]
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# Two commands of some milliseconds, of a tenth of a second, of a second.
PAIRS = [
    ("true a b", "sleep 0.005"),
    ("gzip -6 -k -f data", "gzip -9 -k -f data"),
    ("sleep 1", "sleep 1.1"),
]
WORK = ("python3 work.py", "python3 work.py again")
HALF = 10  # trials of each command before the others come; hyperfine runs one command after the other, 20 times each


def timed(command, folder):
    began = time.monotonic()
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode in (0, 3, 4), f"{command}\n{done.stdout}\n{done.stderr}"
    return time.monotonic() - began


def hyperfine(commands, folder, *more):
    seconds = timed(["hyperfine", "-N", "--style", "basic", "--export-json", folder / "hyperfine.json", *more, *commands], folder)
    first, second = json.loads((folder / "hyperfine.json").read_text())["results"]
    ratio = second["mean"] / first["mean"]
    spread = ratio * math.hypot(first["stddev"] / first["mean"], second["stddev"] / second["mean"])  # as hyperfine prints it
    return {"seconds": seconds, "ratio": ratio, "low": ratio - 2 * spread, "high": ratio + 2 * spread, "differ": abs(ratio - 1) > 2 * spread}


def expc(commands, folder, *more):
    for left in folder.glob("bench*.exp"):
        left.unlink()
    shutil.rmtree(folder / "results", ignore_errors=True)
    seconds = timed([OPTIONS.expc, "bench", "--quiet", *more, *commands], folder)
    judged = json.loads(subprocess.run([OPTIONS.expc, "report", "bench.exp", "--format", "json"], cwd=folder, capture_output=True, text=True).stdout)
    criterion = judged["criteria"][0]
    cell = criterion["cells"][0]
    return {"seconds": seconds, "ratio": cell["estimate"], "low": cell["interval"]["low"], "high": cell["interval"]["high"],
            "differ": criterion["verdict"] in ("pass", "fail")}


def others(count):
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]


def while_others_come(tool, folder, one, *more):
    """The others come once about half of the trials are over."""
    watch = subprocess.Popen([sys.executable, __file__, "--load", str(2 * HALF * one), str(2 * len(os.sched_getaffinity(0)))])
    try:
        return tool(WORK, folder, *more)
    finally:
        watch.terminate()
        watch.wait()


def load(after, count):
    """What comes and stays until it is ended."""
    import signal
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    time.sleep(float(after))
    started = others(int(count))
    try:
        while True:
            time.sleep(1)
    finally:
        for process in started:
            process.kill()


def span(found):
    return f"{found['ratio']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"


def main():
    result = {"time_to_result": [], "others_come": []}
    with tempfile.TemporaryDirectory(prefix="expc-bench-commands-") as name:
        folder = pathlib.Path(name)
        (folder / "data").write_bytes(b"".join(b"%d\n" % (number * number % 9973) for number in range(400000)))
        (folder / "work.py").write_text("total = 0\nfor number in range(1000000):\n    total += number * number\n")
        print("| commands | hyperfine, s | expc bench, s | ratio | hyperfine says | expc says |\n| --- | --: | --: | --: | --- | --- |")
        for pair in PAIRS:
            theirs, ours = [], []
            for _ in range(OPTIONS.runs):
                theirs.append(hyperfine(pair, folder))
                ours.append(expc(pair, folder))
            seconds = [statistics.median(one["seconds"] for one in side) for side in (theirs, ours)]
            result["time_to_result"].append({"commands": pair, "hyperfine": theirs, "expc": ours, "ratio": seconds[1] / seconds[0]})
            print(f"| `{pair[0]}`, `{pair[1]}` | {seconds[0]:.2f} | {seconds[1]:.2f} | {seconds[1] / seconds[0]:.2f} | {span(theirs[-1])} | {span(ours[-1])} |",
                  flush=True)
        began = time.monotonic()
        for _ in range(5):
            subprocess.run(["python3", "work.py"], cwd=folder, check=True)
        one = (time.monotonic() - began) / 5
        print("\nOne program under two names, others come halfway:\n\n| round | hyperfine | expc bench |\n| --: | --- | --- |")
        for number in range(OPTIONS.rounds):
            theirs = while_others_come(hyperfine, folder, one, "--runs", 2 * HALF)
            ours = while_others_come(expc, folder, one, "--heat-up", "0")
            result["others_come"].append({"hyperfine": theirs, "expc": ours})
            said = [f"{span(side)}{', says they differ' if side['differ'] else ''}" for side in (theirs, ours)]
            print(f"| {number + 1} | {said[0]} | {said[1]} |", flush=True)
        wrong = {tool: sum(one[tool]["differ"] for one in result["others_come"]) for tool in ("hyperfine", "expc")}
        print(f"\nwrong: hyperfine {wrong['hyperfine']} of {OPTIONS.rounds}, expc {wrong['expc']} of {OPTIONS.rounds}")
    print(json.dumps(result))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--load"]:
        load(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expc", required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=10)
    OPTIONS = parser.parse_args()
    OPTIONS.expc = str(pathlib.Path(OPTIONS.expc).resolve())
    main()
