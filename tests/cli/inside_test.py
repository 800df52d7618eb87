#!/usr/bin/env python3
"""Many points from one process: rows as points, the formats of other programs, and what is stored of both.

usage: inside_test.py --expc PATH
"""
import csv
import io
import json
import math

from command import Command, main

# Goes through sizes by itself and prints as nccl-tests does. Times are drawn, so nothing waits; a process and each of its rows have noise.
SWEEP = """import math, os, random, sys
def argument(name, otherwise=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise
cards, miss = int(argument("--cards", "1")), argument("--miss", "")
draw = random.Random(f"{os.environ['EXPC_SEED']} {cards}")
process = draw.gauss(0, 0.02)
print(f"# setup {3 / cards * math.exp(process):.4f} us")
print("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong")
print("#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)")
for size in argument("--sizes", "1024,4096,16384").split(","):
    if size in miss.split(","):
        continue
    time = (5 + int(size) / 1e3) / cards * math.exp(process + draw.gauss(0, 0.01))
    rate = int(size) / time / 1e3
    one = f"{time:8.3f} {rate:7.4f} {rate:7.4f}      0"
    print(f"{size:>12} {int(size) // 4:13d}     float     sum      -1 {one} {one}")
"""
WORKLOAD = """workload sweep command ["python3", "sweep.py", "--cards", "${cards}", %s] {
  inputs "sweep.py"
  outputs nccl_tests(stdout)
  param cards : int in 1..8 = 1
  param size  : Bytes inside
  metric time : Time lower
  metric setup : Time lower  from regex("# setup ([0-9.]+) us", unit = 1us)
}
"""
STUDY = """study sizes {
  workload sweep
  factor cards in { 1, 2 }  baseline 1
  factor size in { %s }  baseline 1KiB
  compare faster = speedup(time) over cards
  compare larger = ratio(time) over size
  compare overall = geomean(faster) over size
  criterion one: faster[size = 1KiB] >= 1.5x            with confidence 95%%
  criterion each: forall size: faster >= 1.5x           with confidence 95%%
  criterion all: overall >= 1.5x                        with confidence 95%%
  criterion grows: forall *: larger >= 1.3x             with confidence 95%%
  criterion whole: forall cards: setup <= 5us           with confidence 95%%
  table setup by cards
  table time by cards, size
  design { repeat 8  seed 3 }
}
"""
TOLD = '"--sizes", "${size}"'
RUN = ("--heat-up", "0", "--devices", "cpu:1")


class Inside(Command):
    def study(self, told=TOLD, sizes="1KiB, 4KiB, 16KiB"):
        self.write("sweep.py", SWEEP)
        self.write("s.exp", WORKLOAD % told + STUDY % sizes)

    def trials(self):
        """How many trials the store holds of each status, from the text of a plan."""
        return " ".join(self.expc("plan", "s.exp", "--devices", "cpu:1").stdout.split())

    def test_rows_are_points_and_processes_are_trials(self):
        self.study()
        self.assertIn("2 processes measure the 6 points", self.trials())
        self.expc("run", "s.exp", *RUN)
        report = self.document("report", "s.exp")
        criteria = {criterion["name"]: criterion for criterion in report["criteria"]}
        self.assertEqual({one["verdict"] for one in criteria.values()}, {"pass"}, criteria)
        self.assertEqual({name: len(one["cells"]) for name, one in criteria.items()}, {"one": 1, "each": 3, "all": 1, "grows": 4, "whole": 2})
        # Pairs within a process lack its noise: 2 % of each process would not allow these.
        for cell in criteria["grows"]["cells"]:
            self.assertLess(cell["interval"][1] / cell["interval"][0] if isinstance(cell["interval"], list)
                            else cell["interval"]["high"] / cell["interval"]["low"], 1.06)
        self.assertIn("16 stored, 0 to run", self.trials())
        # A second run has nothing to do, and a table of the process has no column of sizes.
        self.assertIn("all 16 trials are stored\n", self.expc("run", "s.exp", *RUN).stderr + "\n")
        self.assertIn("0 to run", self.trials())
        text = self.expc("report", "s.exp").stdout
        self.assertIn("setup", text)
        rows = list(csv.DictReader(io.StringIO(self.expc("export", "s.exp", "--format", "csv").stdout)))
        self.assertEqual(sum(row["metric"] == "time" for row in rows), 8 * 2 * 3)
        self.assertEqual(sum(row["metric"] == "setup" for row in rows), 8 * 2)
        self.assertEqual({row["factor_size"] for row in rows if row["metric"] == "time"}, {"1024", "4096", "16384"})

    def test_a_level_that_is_not_printed_is_missing_alone(self):
        self.study(TOLD + ', "--miss", "4096"')
        self.expc("run", "s.exp", *RUN, code=4)
        report = self.document("report", "s.exp", code=4)
        verdicts = {criterion["name"]: criterion["verdict"] for criterion in report["criteria"]}
        self.assertEqual(verdicts["one"], "pass")
        self.assertEqual(verdicts["whole"], "pass")
        self.assertNotEqual(verdicts["each"], "pass")
        text = " ".join(self.expc("report", "s.exp", code=4).stdout.split())
        self.assertIn("size=4KiB", text)
        # More trials of this program would not print it either.
        self.assertRegex(text, "Next Print the rows that the output lacks, or leave their levels out of the study; then measure again: expc run s.exp "
                         "--study sizes --fresh ")

    def test_levels_that_are_asked_later_count_where_the_command_is_told_nothing(self):
        self.study("", "1KiB, 4KiB")
        self.expc("run", "s.exp", *RUN)
        self.assertIn("row that no level names: 16384", " ".join(self.expc("report", "s.exp", "--all").stdout.split()))
        self.study("", "1KiB, 4KiB, 16KiB")
        self.assertIn("16 stored, 0 to run", self.trials())

    def test_another_list_of_levels_is_another_start(self):
        self.study(TOLD, "1KiB, 4KiB")
        self.expc("run", "s.exp", *RUN)
        self.study()
        self.assertIn("started otherwise", self.trials())

    def test_intervals_cover_the_truth_where_processes_and_rows_have_noise(self):
        self.study()
        diagnosis = self.document("diagnose", "s.exp", "--noise", "3%", "--studies", "400", code=None)
        coverage = {criterion["name"]: criterion["coverage"] for criterion in diagnosis["design"]["criteria"]}
        for name in ("one", "each", "all", "grows"):
            self.assertTrue(0.91 < coverage[name] < 0.99, coverage)

    def test_rows_are_read_anew(self):
        self.study()
        self.expc("run", "s.exp", *RUN)
        self.write("s.exp", (WORKLOAD % TOLD).replace("metric time : Time lower", 'metric time : Time lower from nccl_tests(stdout, column = "in_time")') + STUDY % "1KiB, 4KiB, 16KiB")
        self.expc("extract", "s.exp")
        self.assertIn("16 stored, 0 to run", self.trials())


# What each program writes, with its study: the key, its levels, a metric and its values in base units at the levels, a place of outputs.
FORMATS = {
    "nccl_tests": ("size : Bytes", "1KiB, 1MiB", "time : Time lower", [8.12e-6, 31.5e-6], "stdout",
                   "# nThread 1 nGpus 2 minBytes 1024 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n"
                   "#                                                              out-of-place                       in-place\n"
                   "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
                   "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
                   "        1024           256     float     sum      -1     8.12    0.13    0.13      0     8.10    0.13    0.13      0\n"
                   "     1048576        262144     float     sum      -1    31.50   33.29   33.29      0    31.20   33.61   33.61      0\n"
                   "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 16.79\n"),
    "google_benchmark": ("arg : int", "8, 64", "real_time : Time lower", [12.5e-9, 80e-6], "out.json", {
        "context": {"num_cpus": 8},
        "benchmarks": [
            {"name": "BM_copy/8", "run_name": "BM_copy/8", "run_type": "iteration", "repetitions": 1, "repetition_index": 0, "threads": 1, "iterations": 100, "real_time": 12.5, "cpu_time": 12.0, "time_unit": "ns"},
            {"name": "BM_copy/64", "run_name": "BM_copy/64", "run_type": "iteration", "repetitions": 1, "repetition_index": 0, "threads": 1, "iterations": 100, "real_time": 80.0, "cpu_time": 79.0, "time_unit": "us"},
            {"name": "BM_copy/64_mean", "run_name": "BM_copy/64", "run_type": "aggregate", "aggregate_name": "mean", "threads": 1, "iterations": 1, "real_time": 81.0, "cpu_time": 79.0, "time_unit": "us"}]}),
    "pytest_benchmark": ("n : int", "10, 100", "median : Time lower", [1.5e-5, 1.6e-4], "out.json", {
        "benchmarks": [{"group": None, "name": f"test_sort[{n}]", "fullname": f"test_a.py::test_sort[{n}]", "params": {"n": n}, "param": str(n),
                        "stats": {"min": m, "max": m, "mean": m, "median": m, "stddev": 0.0, "rounds": 5, "iterations": 1, "ops": 1 / m, "data": [m] * 5}}
                       for n, m in ((10, 1.5e-5), (100, 1.6e-4))]}),
    "fio": ("bs : Bytes", "4KiB, 64KiB", "read_p99 : Time lower", [1.6e-5, 9.0e-5], "out.json", {
        "fio version": "fio-3.33",
        "jobs": [{"jobname": bs, "job options": {"bs": bs, "rw": "randread"},
                  "read": {"iops": 1000.5, "bw_bytes": 4096000, "lat_ns": {"mean": 12000.0}, "clat_ns": {"mean": 11000.0, "percentile": {"50.000000": 9000, "99.000000": ns, "99.900000": 2 * ns}}},
                  "write": {"iops": 0.0, "bw_bytes": 0, "lat_ns": {"mean": 0.0}}} for bs, ns in (("4k", 16000), ("64k", 90000))]}),
    "llama_bench": ("n_prompt : int", "0, 512", "avg_ts : Tokens / Time higher", [131.5, 2300.0], "stdout", [
        {"model_filename": "m.gguf", "n_prompt": 0, "n_gen": 128, "n_threads": 8, "avg_ns": 973000000, "stddev_ns": 10, "avg_ts": 131.5, "stddev_ts": 0.5, "samples_ns": [973000000], "samples_ts": [131.5]},
        {"model_filename": "m.gguf", "n_prompt": 512, "n_gen": 0, "n_threads": 8, "avg_ns": 222000000, "stddev_ns": 10, "avg_ts": 2300.0, "stddev_ts": 5.0, "samples_ns": [222000000], "samples_ts": [2300.0]}]),
    "hyperfine": ("command : string", '"sleep 0.1", "true"', "median : Time lower", [0.103, 0.0011], "out.json", {
        "results": [{"command": name, "mean": t, "stddev": 0.001, "median": t, "user": 0.0, "system": 0.0, "min": t, "max": t, "times": [t, t], "exit_codes": [0, 0]}
                    for name, t in (("sleep 0.1", 0.103), ("true", 0.0011))]}),
    "vllm_bench": ("max_concurrency : int", "1, 8", "p99_ttft_ms : Time lower", [0.05, 0.21], "out.jsonl", "\n".join(json.dumps(
        {"date": "20261129", "max_concurrency": c, "request_throughput": 2.5 * c, "output_throughput": 100.0 * c, "mean_ttft_ms": 20.0, "p99_ttft_ms": t, "duration": 9.0}) for c, t in ((1, 50.0), (8, 210.0)))),
}
PRINT = 'import sys\ntext = open("given").read()\nprint(text) if sys.argv[1] == "stdout" else open(sys.argv[1], "w").write(text)\n'


class Formats(Command):
    def run_study(self, reader, key, levels, metric, place, text, claims):
        source = "stdout" if place == "stdout" else json.dumps(place)
        name, number = key.split(" : ")[0], metric.split(" : ")[0]
        self.write("print.py", PRINT)
        self.write("given", text if isinstance(text, str) else json.dumps(text))
        inside = f"  param {key} inside\n" if key != " : " else ""
        self.write("s.exp", f"""workload job command ["python3", "print.py", "{place}"] {{
  inputs "print.py", "given"
  outputs {reader}({source})
{inside}  metric {metric}
}}
study s {{
  workload job
{f"  factor {name} in {{ {levels} }}" if inside else ""}
  measure {number}
{claims}
  design {{ repeat 6 }}
}}
""")
        self.assertLessEqual((self.folder / "s.exp").read_text().count("\n"), 20)
        self.expc("run", "s.exp", *RUN, code=None)
        return self.document("report", "s.exp", code=None)

    def test_each_format_is_read(self):
        for reader, (key, levels, metric, values, place, text) in FORMATS.items():
            with self.subTest(reader):
                number, higher = metric.split(" : ")[0], "higher" in metric
                name = key.split(" : ")[0]
                first = levels.split(",")[0].strip()
                unit = "tok/s" if "Tokens" in metric else "s"
                bound = (f">= {0.5 * min(values):f}{unit}" if higher else f"<= {2 * max(values):f}{unit}")
                claims = (f"  criterion one: {number}[{name} = {first}] {bound} with confidence 90%\n"
                          f"  criterion each: forall {name}: {number} {bound} with confidence 90%\n"
                          f"  compare overall = geomean({number}) over {name}\n"
                          f"  criterion all: overall {bound} with confidence 90%\n")
                report = self.run_study(reader, key, levels, metric, place, text, claims)
                found = [point["metrics"][number]["median"] for point in report["points"]]
                for value, wanted in zip(found, values):
                    self.assertTrue(math.isclose(value, wanted, rel_tol=1e-9), (reader, found, values))
                self.assertEqual({one["name"]: one["verdict"] for one in report["criteria"]}, {"one": "pass", "each": "pass", "all": "pass"}, reader)

    def test_a_study_is_written_from_an_output(self):
        for reader, (key, _, _, _, _, text) in FORMATS.items():
            with self.subTest(reader):
                self.write("given", text if isinstance(text, str) else json.dumps(text))
                self.expc("new", reader, "--from", "given")
                starter = (self.folder / f"{reader}.exp").read_text()
                self.assertIn(f"outputs {reader}(stdout)", starter)
                self.assertIn("design { repeat 1 }", starter)
                self.expc("fmt", "--check", f"{reader}.exp")
                self.expc("run", f"{reader}.exp", *RUN)
                report = self.document("report", f"{reader}.exp")
                self.assertEqual([all(one["n"] == 1 for one in point["metrics"].values()) for point in report["points"]], [True, True])
        self.write("given", "nothing known")
        self.assertIn(": unknown format (known: nccl_tests", self.expc("new", "other", "--from", "given", code=1).stderr)

    def test_rows_of_llama_bench_may_be_lines(self):
        key, levels, metric, values, place, rows = FORMATS["llama_bench"]
        report = self.run_study("llama_bench", key, levels, metric, place, "\n".join(map(json.dumps, rows)), "")
        self.assertEqual([point["metrics"]["avg_ts"]["median"] for point in report["points"]], values)

    def test_iperf3_has_no_rows(self):
        text = {"intervals": [{"sum": {"bits_per_second": 8e9}}], "end": {"streams": [{"sender": {"mean_rtt": 120}}], "sum_sent": {"bits_per_second": 9.6e9, "retransmits": 3},
                                                                          "sum_received": {"bits_per_second": 8e9}, "cpu_utilization_percent": {"host_total": 12.5, "remote_total": 3.0}}}
        report = self.run_study("iperf3", " : ", "", "received : Bytes / Time higher", "out.json", text, "  criterion one: received >= 900MB/s always")
        self.assertEqual(report["criteria"][0]["verdict"], "pass")
        self.assertEqual(report["points"][0]["metrics"]["received"]["median"], 1e9)

    def test_two_rows_of_a_level_are_an_error_unless_one_number_is_made_of_them(self):
        rows = "n,time\n1,2\n1,4\n2,8\n"
        self.write("print.py", PRINT)
        self.write("given", rows)
        study = """workload job command ["python3", "print.py", "out.csv"] {
  inputs "print.py", "given"
  outputs csv("out.csv")
  param n : int inside
  metric time : Time lower %s
}
study s {
  workload job
  factor n in { 1, 2 }
  measure time
  design { repeat 1 }
}
"""
        self.write("s.exp", study % "")
        self.assertIn("rows 1 and 2 are both of n = 1", self.expc("run", "s.exp", *RUN, code=None).stderr)
        self.write("s.exp", study % "from median(csv(column = \"time\"))")
        self.expc("run", "s.exp", *RUN, code=None)
        report = self.document("report", "s.exp", code=None)
        self.assertEqual([point["metrics"]["time"]["median"] for point in report["points"]], [3, 8])


if __name__ == "__main__":
    main()
