#!/usr/bin/env python3
"""What stdlib/*.exp declares and what workers describe must be one thing: parameters, types, defaults, names and kinds of metrics, versions.

usage: stdlib_matches_worker.py EXPC_WORKER EXPC_WORKER_NULL
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"px": 1, "tok": 1, "s": 1, "ms": 0.001, "": 1}

PARAM = re.compile(r"^\s*param\s+(\w+)\s*:\s*(list\(.*?\)+(?=\s)|\w+)(?:\s+in\s+\S+(?:\s+by\s+\S+)?)?(?:\s*=\s*(\S+))?(?:\s+(?:when|with)\s+.*)?\s*$")
METRIC = re.compile(r"^\s*metric\s+(\w+)\s*:\s*\w+(?:\s*/\s*\w+)?\s+(?:lower|higher)\s+(timed|quality|profile)(?:\s+exact)?(?:\s+series)?\s*$")


def default_value(text):
    """A default as the worker prints it: numbers in base units, words as they are, levels with what they carry, None without one."""
    if text is None:
        return None
    if text in ("true", "false"):
        return text == "true"
    if text == "[]":
        return []
    number = re.fullmatch(r"(-?[0-9.]+(?:e-?\d+)?)([a-z]*)", text)
    if carrying := re.fullmatch(r"(\w+)\((\d+)\)", text):
        return {carrying.group(1): [int(carrying.group(2))]}
    return float(number.group(1)) * UNITS[number.group(2)] if number else text


def declared(module, text):
    """Workloads of one stdlib file, in the form of --describe."""
    workloads, current = [], None
    group = re.compile(r"^  metric (\w+)\.\*$", re.M)  # what a module declares for workloads stands for itself
    for line in group.sub(lambda taken: (ROOT / "stdlib" / f"{taken[1]}.exp").read_text(), text).splitlines():
        line = line.split("//")[0].rstrip() if not line.lstrip().startswith("///") else ""
        if head := re.match(r"^workload\s+(\w+)\s*\{", line):
            current = {"name": f"{module}.{head.group(1)}", "version": None, "params": [], "metrics": []}
            workloads.append(current)
        elif line.startswith("}"):
            current = None
        elif current is not None and line.strip():
            if version := re.match(r"^\s*version\s+(\d+)$", line):
                current["version"] = int(version.group(1))
            elif param := PARAM.match(line):
                current["params"].append({"name": param.group(1), "type": param.group(2), "default": default_value(param.group(3))})
            elif metric := METRIC.match(line):
                current["metrics"].append({"name": metric[1], "kind": metric[2]})
            elif re.match(r"^\s*(param|metric|version)\b", line):
                raise SystemExit(f"{module}: this test cannot read: {line.strip()}")
    return workloads


def plain(workload):
    """What is compared: not what only the engine asks, nor the order of metrics."""
    without = lambda entry: {key: value for key, value in entry.items() if key != "one_process"}  # noqa: E731
    return {**workload, "params": [without(p) for p in workload["params"]], "metrics": sorted(workload["metrics"], key=lambda m: m["name"])}


def differences(left, right):
    for name in sorted({w["name"] for w in left} ^ {w["name"] for w in right}):
        yield f"{name} is only on one side"
    other = {w["name"]: plain(w) for w in right}
    for workload in map(plain, left):
        twin = other.get(workload["name"])
        if not twin:
            continue
        for key in ("version", "params", "metrics"):
            if workload[key] != twin[key]:
                yield f"{workload['name']} {key}:\n  stdlib {workload[key]}\n  worker {twin[key]}"


def main():
    described = [json.loads(subprocess.run([worker, "--describe"], check=True, capture_output=True, text=True).stdout)
                 for worker in sys.argv[1:]]
    assert all(d["v"] == 1 and re.fullmatch(r"[0-9a-f]{16}", d["build"]) for d in described), described
    assert described[0]["libraries"]["torch"], described
    workloads = [workload for worker in described for workload in worker["workloads"]]
    found = []
    for module in sorted({workload["name"].split(".")[0] for workload in workloads}):
        found += declared(module, (ROOT / "stdlib" / f"{module}.exp").read_text())
    assert found and all(w["params"] and w["metrics"] for w in found), "nothing was read from stdlib"
    problems = list(differences(found, workloads))
    # The comparison must see a change.
    changed = json.loads(json.dumps(workloads))
    changed[0]["params"][1]["default"] = 225
    assert list(differences(found, changed)) != problems
    changed = json.loads(json.dumps(workloads))
    changed[0]["metrics"][0]["kind"] = "no kind"
    assert list(differences(found, changed)) != problems
    print("\n".join(problems) or "stdlib and workers agree on " + ", ".join(w["name"] for w in found))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
