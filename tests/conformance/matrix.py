"""What the tests of all combinations of a workload's factors share. `names`: the factors, the number of devices last. A combination is
a tuple of levels in that order, None where a factor does not apply."""
import itertools
import json
import pathlib
import re
import subprocess
import tempfile

import ranks


def levels(library, factors):
    """Of each factor its levels, as a file of stdlib declares them."""
    text = (ranks.ROOT / "stdlib" / f"{library}.exp").read_text()
    return {name: re.search(rf"^enum {name} \{{([^}}]*)\}}", text, re.M).group(1).replace(",", " ").split() for name in factors}


def combinations(of, devices, only):
    """All of them. `only`: of a factor that only one level of another has, that one."""
    found = {}
    for at in itertools.product(*of.values(), map(str, devices)):
        named = dict(zip((*of, "gpus"), at))
        for name, (other, level) in only.items():
            if named[other] != level:
                named[name] = None
        found[tuple(named.values())] = None
    return list(found)


def declared(of, devices, only):
    """The factors as a study declares them."""
    text = ""
    for name, values in [*of.items(), ("gpus", map(str, devices))]:
        when = " when {} == {}".format(*only[name]) if name in only else ""
        text += f"  factor {name} in {{ {', '.join(values)} }}{when}\n"
    return text


def expc(program, command, library, text, *options):
    """What `expc COMMAND --format json` prints of a study, and how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "matrix.exp"
        file.write_text(f"import std.{library}\n{text}")
        ended = subprocess.run([program, command, str(file), "--format", "json", *options], capture_output=True, text=True)
    return ended.returncode, ended.stdout + ended.stderr


def points(plan, names):
    """The plan's points by combination."""
    found = {}
    for point in plan["points"]:
        labels = [factor["levels"][level]["label"] if level is not None else None
                  for factor, level in zip(plan["factors"], point["levels"])]
        named = dict(zip((factor["name"] for factor in plan["factors"]), labels))
        found[tuple(named[name] for name in names)] = point
    return found


def covering(candidates, names, start):
    """`start` and as many of the candidates as it takes for each pair of levels that some candidate has to be in one of them."""
    def pairs(point):
        return {pair for pair in itertools.combinations(list(zip(names, point)), 2) if None not in (pair[0][1], pair[1][1])}
    chosen = list(start)
    missing = set().union(*map(pairs, candidates)).difference(*map(pairs, chosen))
    while missing:
        chosen.append(max(candidates, key=lambda point: len(pairs(point) & missing)))
        missing -= pairs(chosen[-1])
    return chosen
