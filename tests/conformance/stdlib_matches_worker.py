#!/usr/bin/env python3
"""What stdlib/*.exp declares and what the worker describes must be one thing: parameters, types, defaults, metrics, versions.

usage: stdlib_matches_worker.py EXPC_WORKER
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"px": 1, "": 1}

PARAM = re.compile(r"^\s*param\s+(\w+)\s*:\s*(\w+)(?:\s+in\s+\S+)?(?:\s*=\s*(\S+))?\s*$")
METRIC = re.compile(r"^\s*metric\s+(\w+)\s*:\s*(\w+(?:\s*/\s*\w+)?)\s+(lower|higher)\s+(timed|quality|profile)(\s+exact)?\s*$")


def default_value(text):
    """A default as the worker prints it: numbers in base units, words as they are, None without one."""
    if text is None:
        return None
    number = re.fullmatch(r"(-?[0-9.]+)([a-z]*)", text)
    return float(number.group(1)) * UNITS[number.group(2)] if number else text


def declared(module, text):
    """Workloads of one stdlib file, in the form of --describe."""
    workloads, current = [], None
    for line in text.splitlines():
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
                name, dimension, better, kind, exact = metric.groups()
                current["metrics"].append({"name": name, "dimension": dimension, "better": better, "kind": kind, "exact": bool(exact)})
            elif re.match(r"^\s*(param|metric|version)\b", line):
                raise SystemExit(f"{module}: this test cannot read: {line.strip()}")
    return workloads


def differences(left, right):
    for name in sorted({w["name"] for w in left} ^ {w["name"] for w in right}):
        yield f"{name} is only on one side"
    other = {w["name"]: w for w in right}
    for workload in left:
        twin = other.get(workload["name"])
        if not twin:
            continue
        for key in ("version", "params", "metrics"):
            if workload[key] != twin[key]:
                yield f"{workload['name']} {key}:\n  stdlib {workload[key]}\n  worker {twin[key]}"


def main():
    described = json.loads(subprocess.run([sys.argv[1], "--describe"], check=True, capture_output=True, text=True).stdout)
    assert described["v"] == 1 and re.fullmatch(r"[0-9a-f]{16}", described["build"]), described
    assert described["libraries"]["torch"], described
    found = []
    for module in sorted({workload["name"].split(".")[0] for workload in described["workloads"]}):
        found += declared(module, (ROOT / "stdlib" / f"{module}.exp").read_text())
    assert found and all(w["params"] and w["metrics"] for w in found), "nothing was read from stdlib"
    problems = list(differences(found, described["workloads"]))
    # The comparison must see a change.
    changed = json.loads(json.dumps(described["workloads"]))
    changed[0]["params"][1]["default"] = 225
    assert list(differences(found, changed)) != problems
    print("\n".join(problems) or "stdlib and worker agree on " + ", ".join(w["name"] for w in found))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
