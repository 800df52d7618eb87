#!/usr/bin/env python3
"""Compares `expc plan` with a brute-force enumeration of random small studies.

Each study has int and enum factors, perhaps one in lockstep and some that are conditional, rules, comparisons (against a
baseline, against `previous`, of a comparison) and a criterion with a `where`. What this program computes by looking at every
combination must be what the compiler says: the points and their parameters, the size of the product, what was removed, the
cells of comparisons and criteria, the codes of all errors and warnings; the same in any order of the declarations, and
restricted with -D.

usage: brute_force.py --expc PATH [--seed N] [--count N]
"""
import argparse
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

KINDS = ["k0", "k1", "k2"]
INTS = ["p0", "p1", "p2"]
DEFAULTS = {"p0": 2, "p1": 3, "p2": 1, "e": "k0", "c": 5, "r": None}  # r must be given
WORKLOAD = """enum kind { k0, k1, k2 }
workload w command ["prog", "${p0}", "${p1}", "${p2}", "${e}", "${c}", "${r}"] {
  param p0 : int in 0..20 = 2
  param p1 : int in 0..20 = 3
  param p2 : int in 0..20 = 1
  param e  : kind = k0
  param c  : int in 0..20 = 5  when e in { k1, k2 }
  param r  : int in 0..20
  metric t : Time lower from regex("t ([0-9.]+)", unit = 1ms)
}
"""
COMPARE = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b}


class Study:
    """A random study: factors as (names, levels, when, baseline), the rest as (text, function of a point's values)."""

    def __init__(self, rng):
        self.rng = rng
        self.arguments = {name: rng.randint(0, 4) for name in INTS if rng.random() < 0.2}
        free = [name for name in INTS if name not in self.arguments]
        rng.shuffle(free)
        self.factors = []
        if len(free) > 1 and rng.random() < 0.4:
            pair = (free.pop(), free.pop())
            self.add(pair, rng.sample(list(itertools.product(range(4), repeat=2)), rng.randint(2, 3)))
        for name in free:
            if rng.random() < 0.8:
                self.add((name,), [(value,) for value in rng.sample(range(5), rng.randint(1, 4))])
        if rng.random() < 0.8:
            self.add(("e",), [(kind,) for kind in rng.sample(KINDS, rng.randint(2, 3))])
        if self.varied("e") and rng.random() < 0.7:
            self.add(("c",), [(value,) for value in rng.sample(range(9), rng.randint(1, 3))], self.when())
        if rng.random() < 0.5:
            self.arguments["r"] = rng.randint(0, 4)
        else:
            self.add(("r",), [(value,) for value in rng.sample(range(9), rng.randint(1, 2))], self.when() if self.varied("e") and rng.random() < 0.3 else None)
        if not self.factors:
            self.add(("e",), [("k0",), ("k1",)])
        self.rules = [self.rule(i) for i in range(rng.randint(0, 3))]
        self.compare()

    def varied(self, name):
        return any(name in factor["names"] for factor in self.factors)

    def add(self, names, levels, when=None):
        if when is None and len(names) == 1 and names[0] in INTS and self.varied_ints(names) and self.rng.random() < 0.25:
            when = self.comparison(self.rng.choice(self.varied_ints(names)), simple=True)
        baseline = self.rng.randrange(len(levels)) if self.rng.random() < 0.7 else None
        self.factors.append({"names": names, "levels": levels, "when": when, "baseline": baseline})

    def varied_ints(self, but):
        """Those that vary everywhere, so that a `when` may ask about them."""
        return [n for f in self.factors if f["when"] is None for n in f["names"] if n in INTS and n not in but]

    def when(self):
        text, holds = self.rng.choice([("e in { k1, k2 }", lambda v: v["e"] in ("k1", "k2")), ("e == k1", lambda v: v["e"] == "k1")])
        return text, holds

    def value(self, name):
        """A number; what may be absent gets a fallback."""
        factor = next((f for f in self.factors if name in f["names"]), None)
        if name == "c" or (factor and factor["when"]):
            other = self.rng.randint(0, 5)
            return f"({name} ?? {other})", lambda v: other if v[name] is None else v[name]
        return name, lambda v: v[name]

    def comparison(self, name=None, simple=False):
        name = name or self.rng.choice([n for f in self.factors for n in f["names"]] + INTS)
        op = self.rng.choice(list(COMPARE))
        if name == "e":
            kind = self.rng.choice(KINDS)
            op = self.rng.choice(["==", "!="])
            return f"e {op} {kind}", lambda v: COMPARE[op](v["e"], kind)
        text, value = self.value(name)
        if not simple and self.rng.random() < 0.3:
            other, there = self.value(self.rng.choice([n for n in INTS if n != name]))
            least = self.rng.randint(0, 3)
            return f"{text} + {least} {op} {other} * 2", lambda v: COMPARE[op](value(v) + least, there(v) * 2)
        if self.rng.random() < 0.3:
            values = self.rng.sample(range(6), 3)
            return f"{text} in {{ {', '.join(map(str, values))} }}", lambda v: value(v) in values
        bound = self.rng.randint(0, 4)
        return f"{text} {op} {bound}", lambda v: COMPARE[op](value(v), bound)

    def condition(self, depth=2):
        if depth == 0 or self.rng.random() < 0.4:
            return self.comparison()
        (a, left), (b, right) = self.condition(depth - 1), self.condition(depth - 1)
        shape = self.rng.choice(["and", "or", "not"])
        if shape == "not":
            return f"not ({a})", lambda v: not left(v)
        if shape == "and":
            return f"({a}) and ({b})", lambda v: left(v) and right(v)
        return f"({a}) or ({b})", lambda v: left(v) or right(v)

    def rule(self, index):
        text, holds = self.condition()
        if self.rng.random() < 0.5:
            return f'require q{index}: {text} because "it must"', holds
        return f"exclude q{index}: {text}", lambda v: not holds(v)

    def compare(self):
        """Comparisons as (name, text, over, against or None for previous, inner or None)."""
        self.comparisons = []
        for index, factor in enumerate(self.factors):
            if len(factor["levels"]) < 2:
                continue
            if factor["baseline"] is not None and self.rng.random() < 0.7:
                self.comparisons.append((f"g{index}", f"speedup(t) over {self.name(factor)}", index, factor["baseline"], None))
            elif self.rng.random() < 0.4:
                text = f"speedup(t) over {self.name(factor)} against previous"
                self.comparisons.append((f"g{index}", text, index, None, None))
        if self.comparisons:
            inner = self.rng.choice(self.comparisons)
            outer = [i for i, f in enumerate(self.factors) if i != inner[2] and f["baseline"] is not None and len(f["levels"]) > 1]
            if outer and self.rng.random() < 0.6:
                over = self.rng.choice(outer)
                text = f"ratio({inner[0]}) over {self.name(self.factors[over])}"
                self.comparisons.append(("h", text, over, self.factors[over]["baseline"], inner))
        self.criterion = None
        if self.comparisons:
            where = self.condition(1) if self.rng.random() < 0.5 else ("true", lambda v: True)
            self.criterion = (self.rng.choice(self.comparisons), where)

    @staticmethod
    def name(factor):
        names = factor["names"]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    @staticmethod
    def level(values):
        return str(values[0]) if len(values) == 1 else f"({', '.join(map(str, values))})"

    def text(self, shuffled=None):
        lines = []
        for factor in self.factors:
            line = f"factor {self.name(factor)} in {{ {', '.join(map(self.level, factor['levels']))} }}"
            if factor["when"]:
                line += f" when {factor['when'][0]}"
            if factor["baseline"] is not None:
                line += f" baseline {self.level(factor['levels'][factor['baseline']])}"
            lines.append(line)
        lines += [text for text, _ in self.rules]
        lines += [f"compare {name} = {text}" for name, text, *_ in self.comparisons]
        if self.criterion:
            comparison, (where, _) = self.criterion
            narrowed = "" if where == "true" else f" where {where}"
            lines.append(f"criterion z: forall *{narrowed}: {comparison[0]} >= 0.5x with confidence 95%")
        lines += ["measure t", "design { repeat 30 }"]
        if shuffled:
            shuffled.shuffle(lines)
        given = ", ".join(f"{name} = {value}" for name, value in self.arguments.items())
        return WORKLOAD + "study s {\n" + "\n".join([f"  workload w({given})" if given else "  workload w", *("  " + l for l in lines)]) + "\n}\n"


class Expected:
    """What looking at every combination gives."""

    def __init__(self, study, only=None):
        self.study = study
        self.product = [levels for levels in self.combinations()]
        self.whole = [x for x in self.product if all(holds(self.values(x)) for _, holds in study.rules)]
        kept = lambda x: all(l is None or i not in (only or {}) or l in only[i] for i, l in enumerate(x))
        self.points = [x for x in self.whole if kept(x)]
        self.kept_product = [x for x in self.product if kept(x)]
        self.inside = set(self.points)

    def combinations(self):
        """Levels by factor, None where one is not active: each consistent combination once."""
        factors = self.study.factors
        ranges = [[*range(len(f["levels"])), *([None] if f["when"] else [])] for f in factors]
        for levels in itertools.product(*ranges):
            values = self.values(levels)
            if all(f["when"] is None or self.active(f, values) == (levels[i] is not None) for i, f in enumerate(factors)):
                yield levels

    def active(self, factor, values):
        return factor["when"][1](values) and (factor["names"] != ("c",) or values["e"] in ("k1", "k2"))

    def values(self, levels):
        """By parameter as the study's expressions see it: None where a factor has no level."""
        values = {**DEFAULTS, **self.study.arguments}
        if not self.study.varied("c"):
            values["c"] = None if not self.applies(levels) else DEFAULTS["c"]
        for factor, level in zip(self.study.factors, levels):
            for slot, name in enumerate(factor["names"]):
                values[name] = None if level is None else factor["levels"][level][slot]
        return values

    def applies(self, levels):
        kind = DEFAULTS["e"]
        for factor, level in zip(self.study.factors, levels):
            if factor["names"] == ("e",):
                kind = factor["levels"][level][0]
        return kind in ("k1", "k2")

    def parameters(self, levels):
        """What a trial is told: where a factor is not active, the argument or default."""
        seen = self.values(levels)
        told = {name: DEFAULTS[name] if name not in self.study.arguments else self.study.arguments[name] for name in DEFAULTS}
        told.update({name: value for name, value in seen.items() if value is not None})
        if not self.applies(levels):
            del told["c"]
        return tuple(sorted(told.items()))

    def partners(self, point, over, level, among):
        return [y for y in among if y[over] == level and
                all(i == over or a is None or b is None or a == b for i, (a, b) in enumerate(zip(point, y)))]

    def partner(self, comparison, point):
        """('one', y), ('none',), ('several',) or ('untreated',), in the whole study."""
        _, _, over, against, _ = comparison
        own = point[over]
        if own is None or own == against:
            return ("untreated",)
        for level in [against] if against is not None else range(own - 1, -1, -1):
            found = self.partners(point, over, level, self.whole)
            if found:
                return ("one", found[0]) if len(found) == 1 else ("several",)
        return ("none",) if against is not None or own > 0 else ("untreated",)

    def value(self, comparison, point):
        outer = self.partner(comparison, point)
        if outer[0] != "one" or comparison[4] is None:
            return outer
        for at in (point, outer[1]):
            inner = self.value(comparison[4], at)
            if inner[0] != "one":
                return inner
        return outer

    def reads(self, comparison, point):
        partner = self.partner(comparison, point)[1]
        if comparison[4] is None:
            return [point, partner]
        return self.reads(comparison[4], point) + self.reads(comparison[4], partner)

    def cells(self, comparison):
        return [x for x in self.points if self.value(comparison, x)[0] == "one" and all(y in self.inside for y in self.reads(comparison, x))]

    def codes(self):
        """The diagnostics of the whole study; an error hides what depends on it."""
        if any(dict(self.parameters(x))["r"] is None for x in self.whole):
            return {"E0303"}, False
        if not self.whole:
            return {"E0401"}, False
        codes = set()
        if any(all(holds(self.values(x)) for x in self.product) for text, holds in self.study.rules if self.reads_factors(text)):
            codes.add("W0402")
        if any(not any(x[i] == l for x in self.whole) for i, f in enumerate(self.study.factors) for l in range(len(f["levels"]))):
            codes.add("W0403")
        good, paired = {}, {}
        for comparison in self.study.comparisons:
            found = [self.value(comparison, x)[0] for x in self.whole]
            paired[comparison[0]] = "one" in found
            good[comparison[0]] = "several" not in found and "one" in found
            if "several" in found:
                codes.add("E0408")
            elif comparison[4] and not paired[comparison[4][0]]:
                pass  # said of the comparison inside
            elif "one" not in found:
                codes.add("E0405")
            elif "none" in found:
                codes.add("W0406")
        if self.study.criterion and good[self.study.criterion[0][0]] and not self.asked():
            codes.add("E0407")
        if any(code.startswith("E") for code in codes):
            codes.discard("W0406")
        return codes, True

    def reads_factors(self, text):
        """A rule that only asks about arguments guards presets and overrides, so it is never called useless."""
        words = set(re.findall(r"\w+", text))
        return any(name in words for factor in self.study.factors for name in factor["names"])

    def asked(self):
        comparison, (_, holds) = self.study.criterion
        return [x for x in self.cells(comparison) if holds(self.values(x))]


def run(options, *arguments):
    return subprocess.run([options.expc, *arguments], capture_output=True, text=True, timeout=60)


def problems_of_plan(plan, expected):
    points = {tuple(sorted(p["parameters"].items())) for p in plan["points"]}
    wanted = {expected.parameters(x) for x in expected.points}
    if points != wanted or len(plan["points"]) != len(expected.points):
        yield f"points: {len(plan['points'])}, expected {len(expected.points)}; too many {points - wanted}; missing {wanted - points}"
    if plan["product"] != len(expected.kept_product):
        yield f"product: {plan['product']}, expected {len(expected.kept_product)}"
    removed = sum(group["count"] for group in plan["removed"])
    if removed != len(expected.kept_product) - len(expected.points):
        yield f"removed: {removed}, expected {len(expected.kept_product) - len(expected.points)}"
    cells = {comparison["name"]: len(comparison["cells"]) for comparison in plan["comparisons"]}
    for comparison in expected.study.comparisons:
        if cells.get(comparison[0]) != len(expected.cells(comparison)):
            yield f"cells of {comparison[0]}: {cells.get(comparison[0])}, expected {len(expected.cells(comparison))}"
    if expected.study.criterion and len(plan["criteria"][0]["cells"]) != len(expected.asked()):
        yield f"cells of the criterion: {len(plan['criteria'][0]['cells'])}, expected {len(expected.asked())}"


def problems_of(options, seed, file):
    rng = random.Random(seed)
    study = Study(rng)
    file.write_text(study.text())
    expected = Expected(study)
    checked = run(options, "check", str(file), "--format", "json")
    said = json.loads(checked.stdout)
    found = {d["code"] for d in (said["diagnostics"] if isinstance(said, dict) else said)}
    wanted, comparable = expected.codes()
    if found - {"W0502"} != wanted:
        yield f"codes: {sorted(found)}, expected {sorted(wanted)}"
    if not comparable or any(code.startswith("E") for code in wanted | found):
        return
    plans = []
    for shuffled in (None, rng):
        file.write_text(study.text(shuffled))
        planned = run(options, "plan", str(file), "--format", "json")
        if planned.returncode != 0:
            yield f"no plan: {planned.stderr}"
            return
        plans.append(json.loads(planned.stdout))
        yield from problems_of_plan(plans[-1], expected)
    if plans[0]["digest"] != plans[1]["digest"]:
        yield "the order of the declarations changes the digest"
    if {p["id"] for p in plans[0]["points"]} != {p["id"] for p in plans[1]["points"]}:
        yield "the order of the declarations changes ids"
    index = rng.randrange(len(study.factors))
    factor = study.factors[index]
    only = sorted(rng.sample(range(len(factor["levels"])), rng.randint(1, len(factor["levels"]))))
    restricted = Expected(study, {index: only})
    option = f"{study.name(factor)}={{{', '.join(study.level(factor['levels'][i]) for i in only)}}}"
    planned = run(options, "plan", str(file), "--format", "json", "-D", option)
    if not restricted.points:
        if "E0603" not in planned.stderr:
            yield f"-D {option}: not refused, though it leaves no point"
    elif planned.returncode != 0:
        yield f"-D {option}: no plan: {planned.stderr}"
    else:
        yield from (f"-D {option}: {problem}" for problem in problems_of_plan(json.loads(planned.stdout), restricted))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "random.exp"
        for seed in range(options.seed, options.seed + options.count):
            problems = list(problems_of(options, seed, file))
            if problems:
                failed += 1
                print(f"--- seed {seed}\n{file.read_text()}" + "\n".join(problems))
    print(f"{options.count - failed} of {options.count} random studies are as enumerated")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
