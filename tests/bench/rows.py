#!/usr/bin/env python3
"""Intervals of many values from one process and of services, measured and judged by the binary: how often they miss the true effect on each side.

A study has 20 metrics, which are 20 independent draws, and a program that goes through four rows. Blocks, processes and rows have noise of their
own. `outer` compares two processes at one row, `inner` two rows of a process, `overall` is the geometric mean over the rows. `p99` compares the
99th percentile of a thousand values of each process, as written and as kept in a sketch. `server` compares two settings of a service, each start
of which is 3 % faster or slower than another for all its trials of the block.

usage: rows.py --expc PATH [--runs N] [--only NAME]     (20 studies a run)"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import tempfile

from binary import Binary

METRICS, BLOCKS, EFFECT = 20, 10, 1.1
NAMES = [f"m{k}" for k in range(METRICS)]
# Prints a table of the rows. The seed is that of the block, and the trial's own draws depend on its number.
SWEEP = f"""import math, os, random, sys
fast = int(sys.argv[1])
block, own = random.Random(os.environ["EXPC_SEED"]), random.Random(f"{{os.environ['EXPC_SEED']}} {{os.environ['EXPC_TRIAL']}}")
shift = [(block.gauss(0, 0.1), own.gauss(0, 0.03)) for _ in range({METRICS})]
print(",".join(["size", *[f"m{{k}}" for k in range({METRICS})]]))
for size in (1, 2, 3, 4):
    print(",".join([str(size), *[repr(math.exp(b + p + own.gauss(0, 0.02)) * {EFFECT} ** (size - 1) / {EFFECT} ** fast) for b, p in shift]]))
"""
# Writes a thousand latencies for each metric; the process moves all of them, so that the true ratio of percentiles is the effect.
LATENCIES = f"""import math, os, random, sys
fast = int(sys.argv[1])
own = random.Random(f"{{os.environ['EXPC_SEED']}} {{os.environ['EXPC_TRIAL']}}")
columns = []
for _ in range({METRICS}):
    process = math.exp(own.gauss(0, 0.03)) / {EFFECT} ** fast
    columns.append([process * math.exp(own.gauss(0, 0.5)) for _ in range(1000)])
with open("out.csv", "w") as out:
    print(",".join(f"m{{k}}" for k in range({METRICS})), file=out)
    for row in zip(*columns):
        print(",".join(map(repr, row)), file=out)
"""
SERVER = f"""import http.server, os, random, sys
draw = random.Random()
body = " ".join(repr(draw.gauss(0, 0.03)) for _ in range({METRICS})).encode()
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
CLIENT = f"""import math, random, sys, urllib.request
fast = int(sys.argv[2])
draw = random.Random()
starts = urllib.request.urlopen(sys.argv[1]).read().decode().split()
for k, start in enumerate(starts):
    print(f"m{{k}}", math.exp(float(start) + draw.gauss(0, 0.01)) / {EFFECT} ** fast)
"""
STUDIES = {
    "sweep": ("""workload job command ["python3", "sweep.py", "${fast}"] {
  inputs "sweep.py"
  outputs csv(stdout)
  param fast : int in 0..1 = 0
  param size : int inside
  METRICS
}
study s {
  workload job
  factor fast in 0..1  baseline 0
  factor size in 1..4  baseline 1
  CLAIMS
  design { repeat BLOCKS }
}
""", "metric {0} : Time lower from csv(stdout, column = \"{0}\")",
              ["compare f{0} = speedup({0}) over fast", "compare s{0} = ratio({0}) over size", "compare o{0} = geomean(f{0}) over size",
               "criterion outer_{0}: f{0}[size = 4] >= 1x with confidence 95%", "criterion inner_{0}: s{0}[fast = 0, size = 2] >= 1x with confidence 95%",
               "criterion overall_{0}: o{0} >= 1x with confidence 95%"]),
    "p99": ("""workload job command ["python3", "latencies.py", "${fast}"] {
  inputs "latencies.py"
  param fast : int in 0..1 = 0
  METRICS
}
study s {
  workload job
  factor fast in 0..1  baseline 0
  CLAIMS
  design { repeat BLOCKS }
}
""", "metric {0} : Time distribution lower from csv(\"out.csv\")\n  metric t{0} : Time lower from p99(csv(\"out.csv\", column = \"{0}\"))\n  metric d{0} = p99({0})",
            ["compare f{0} = speedup(t{0}) over fast", "compare g{0} = speedup(d{0}) over fast", "criterion p99_{0}: f{0} >= 1x with confidence 95%",
             "criterion sketch_{0}: g{0} >= 1x with confidence 95%"]),
    "server": ("""service web command ["python3", "server.py", "${port}", "${fast}"] {
  inputs "server.py"
  param fast : int in 0..1 = 0
  ready http("/")
}
workload job command ["python3", "client.py", "http://${web.host}:${web.port}/", "${fast}", "${load}"] {
  inputs "client.py"
  service web
  param load : int in 1..2 = 1
  METRICS
}
study s {
  workload job
  factor fast in 0..1  baseline 0
  factor load in 1..2  baseline 1
  CLAIMS
  design { repeat BLOCKS }
}
""", "metric {0} : Time lower from regex(\"{0} (.+)\", unit = 1s)",
               ["compare f{0} = speedup({0}) over fast", "compare l{0} = ratio({0}) over load",
                "criterion server_{0}: f{0}[load = 1] >= 1x with confidence 95%", "criterion client_{0}: l{0}[fast = 0] >= 0.9x with confidence 95%"]),
}
# Loads take as long as each other.
TRUE = {"client": 1.0}


class Bench(Binary):
    def run(self, kind, seed):
        """Of each claim of one run: misses below, above, and claims without an interval."""
        with tempfile.TemporaryDirectory(prefix="expc-rows-") as name:
            folder = pathlib.Path(name)
            text, metric, claims = STUDIES[kind]
            for file, program in (("sweep.py", SWEEP), ("latencies.py", LATENCIES), ("server.py", SERVER), ("client.py", CLIENT)):
                (folder / file).write_text(program, encoding="utf-8")
            (folder / "s.exp").write_text(
                text.replace("METRICS", "\n  ".join(metric.format(one) for one in NAMES))
                .replace("CLAIMS", "\n  ".join(claim.format(one) for one in NAMES for claim in claims)).replace("BLOCKS", f"{BLOCKS}  seed {seed + 1}"),
                encoding="utf-8")
            done = self.command(folder, "run", "s.exp", "--heat-up", "0", "--devices", "cpu:1")
            report = json.loads(self.command(folder, "report", "s.exp", "--format", "json").stdout or "{}")
            if "criteria" not in report:
                raise SystemExit(done.stderr)
            seen = {}
            for criterion in report["criteria"]:
                claim = criterion["name"].split("_")[0]
                end = criterion["cells"][0].get("interval")
                end = end and (end["low"], end["high"]) if isinstance(end, dict) else end
                of = seen.setdefault(claim, [0, 0, 0, 0])
                true = TRUE.get(claim, EFFECT)
                for i, holds in enumerate((True, bool(end) and end[0] > true, bool(end) and end[1] < true, not end)):
                    of[i] += holds
            return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expc", required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", choices=list(STUDIES), action="append")
    options = parser.parse_args()
    bench = Bench(str(pathlib.Path(options.expc).resolve()))
    print("claim, studies: covered, missed below, missed above, without an interval")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for kind in options.only or STUDIES:
            total = {}
            for seen in pool.map(lambda seed, of=kind: bench.run(of, seed), range(options.runs)):
                for claim, counts in seen.items():
                    total[claim] = [a + b for a, b in zip(total.get(claim, [0] * 4), counts)]
            for claim, (count, above, below, none) in total.items():
                shares = (count - above - below - none, above, below, none)
                print(f"{claim:8} {count:5}", *(f"{100 * share / count:6.1f} %" for share in shares), flush=True)


if __name__ == "__main__":
    main()
