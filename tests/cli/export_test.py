#!/usr/bin/env python3
"""`expc export`, read by the programs that it is for: pandas, DuckDB, MLflow, xmllint.

usage: export_test.py --expc PATH [--clients PYTHON]
"""
import contextlib
import csv
import io
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import unittest
import xml.etree.ElementTree

from command import OPTIONS, expc, main, new_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVIL = "<script>alert('1')<!--, \"@all\""

STUDY = """enum Mode { plain, odd }
workload tool command ["bash", "-c", "echo t $$((100 + ${size})) ms; echo l 3; echo l 2; : ${mode}; [ ${size} != 30 ]"] {
  param size : int
  param mode : Mode
  metric wall_time : Time lower from regex("t ([0-9]+) ms", unit = 1ms)
  metric loss : float series lower from regex("l ([0-9])")
}
study s {
  workload tool
  factor size in { 10, 20, 30 } baseline 10
  factor mode in { plain, odd } baseline plain
  measure wall_time, loss
  compare slower = difference(wall_time) over size
  criterion quick: forall size, mode where size < 30: wall_time <= 1s
  criterion wrong: forall size, mode where size < 30: wall_time <= 115ms
  criterion open: forall mode: wall_time[size = 30] <= 1s
  design { timed { repeat 3 } }
}
"""


def setUpModule():
    global FOLDER
    FOLDER = new_folder(unittest.addModuleCleanup)
    (FOLDER / "s.exp").write_text(STUDY, encoding="utf-8")
    expc("run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", folder=FOLDER, code=6)  # at 30 nothing runs


def export(*words, file="s.exp", code=0, devices=("--devices", "cpu:1")):
    done = expc("export", file, *devices, *words, folder=FOLDER, code=code)
    return done.stdout if code == 0 else done.stderr


def evil(*words):
    """The same study under a name that no `.exp` file can have, but a plan."""
    if not (FOLDER / "evil.json").exists():
        plan = json.loads(expc("plan", "s.exp", "--devices", "cpu:1", "--format", "json", folder=FOLDER, code=None).stdout)
        (FOLDER / "evil.json").write_text(json.dumps({**plan, "study": EVIL}), encoding="utf-8")
        expc("run", "evil.json", "--heat-up", "0", "--results", "evil", folder=FOLDER, code=6)
    return export("--results", "evil", *words, file="evil.json", devices=())


def client(script, *words, needs=""):
    if not OPTIONS.clients or not os.path.exists(OPTIONS.clients):
        raise unittest.SkipTest("tools/setup --tests installs pandas, DuckDB and MLflow")
    if needs and subprocess.run([OPTIONS.clients, "-c", "import " + needs], capture_output=True).returncode:
        raise unittest.SkipTest(f"{needs} is not installed")
    done = subprocess.run([OPTIONS.clients, "-c", script, *words], cwd=FOLDER, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PATH": f"{os.path.dirname(OPTIONS.expc)}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    return done.stdout


class Tables(unittest.TestCase):
    def test_measurements_are_tidy(self):
        rows = list(csv.DictReader(io.StringIO(export())))
        self.assertEqual({row["metric"] for row in rows if row["status"] == "valid"}, {"wall_time", "loss"})
        times = [row for row in rows if row["metric"] == "wall_time" and row["factor_size"] == "20"]
        self.assertEqual([row["value"] for row in times], ["0.12"] * 6)
        self.assertEqual({row["factor_mode"] for row in times}, {"plain", "odd"})
        self.assertEqual({row["unit"] for row in times}, {"s"})
        self.assertEqual(len({row["block"] for row in times}), 3)
        failed = [row for row in rows if row["status"] == "failed"]
        self.assertTrue(failed and all(row["factor_size"] == "30" and row["reason"] for row in failed))

    def test_what_the_report_does_not_count_is_marked(self):
        source = (FOLDER / "s.exp").read_text(encoding="utf-8")
        (FOLDER / "other.exp").write_text(source.replace("t ([0-9]+) ms", "t ([0-9]*) ms"), encoding="utf-8")
        expc("run", "other.exp", "--devices", "cpu:1", "--heat-up", "0", "--results", "again", folder=FOLDER, code=None)
        rows = list(csv.DictReader(io.StringIO(export("--results", "again", file="s.exp"))))
        self.assertEqual({row["counts"] for row in rows}, {"false"})

    def test_series_are_long(self):
        rows = list(csv.DictReader(io.StringIO(export("--table", "series"))))
        self.assertEqual([(row["step"], row["value"]) for row in rows[:2]], [("1", "3.0"), ("2", "2.0")])
        self.assertEqual({row["series"] for row in rows}, {"loss"})

    def test_json_holds_both_tables_and_the_judgement(self):
        whole = json.loads(export("--format", "json"))
        self.assertEqual(whole["schema"], "expc.export/1")
        self.assertEqual(len(whole["measurements"]), len(list(csv.DictReader(io.StringIO(export())))))
        self.assertEqual(whole["reports"][0]["study"], "s")
        names = {column["name"] for column in whole["columns"]["measurements"]}
        self.assertLessEqual(set(whole["measurements"][0]), names)

    def test_a_file_is_written_whole_or_not_at_all(self):
        self.assertEqual(export("--to", "out.csv"), "")
        self.assertEqual((FOLDER / "out.csv").read_text(encoding="utf-8"), export())
        self.assertIn("cannot write no/such/place.csv: No such file", export("--to", "no/such/place.csv", code=1))
        self.assertIn("--no-formulas needs", export("--no-formulas", "--format", "json", code=2))
        self.assertIn("--table series needs", export("--table", "series", "--format", "junit", code=2))
        self.assertIn("no results in", export("--results", "nowhere", code=1))


    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_a_device_is_written_to_and_never_replaced(self):
        before = os.stat("/dev/full").st_rdev
        self.assertIn("cannot write /dev/full: No space left", export("--to", "/dev/full", code=1))
        self.assertIn("cannot write /dev/full: No space left", export("--format", "parquet", "--to", "/dev/full", code=1))
        self.assertEqual(os.stat("/dev/full").st_rdev, before)
        self.assertEqual(export("--to", "/dev/stdout"), export())
        with open("/dev/full", "w") as full:
            done = subprocess.run([OPTIONS.expc, "export", "s.exp", "--devices", "cpu:1"], cwd=FOLDER, stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, "standard output: No space left" in done.stderr), (1, True))

    def test_a_reader_that_goes_away_has_seen_enough(self):
        with subprocess.Popen([OPTIONS.expc, "export", "s.exp", "--devices", "cpu:1"], cwd=FOLDER, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            process.stdout.close()
            self.assertEqual(process.stderr.read(), "")
        self.assertEqual(process.returncode, 0)


class Clients(unittest.TestCase):
    def test_the_lines_of_the_page_keep_every_level(self):
        lines, = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/export.md").read_text(encoding="utf-8"), re.S | re.M)
        (FOLDER / "missing.exp").write_text("""workload w command ["sh", "-c", "echo t 5", "${level}"] {
  param level : string = "None"
  metric t : Time lower from regex("t ([0-9]+)", unit = 1ms)
}
study missing { workload w  factor level in { "None", "null", "NA", "lru" }  measure t  design { repeat 2 } }
""", encoding="utf-8")
        expc("run", "missing.exp", "--devices", "cpu:1", "--heat-up", "0", "--results", "levels", folder=FOLDER)
        export("--results", "levels", "--to", "precision.csv", file="missing.exp")
        lines = lines.replace('["factor_precision", "factor_gpus"]', '["factor_level"]').replace("step_time", "t")
        shown = client(lines)
        for level in ("None", "null", "NA", "lru"):
            self.assertRegex(shown, rf"{level} +0.005")

    def test_polars_guesses_that_reals_are_reals(self):
        script = """
import io, sys, polars
head, *rows = open("m.csv").read().splitlines()
whole = [row.replace(",0.11,", ",7.0,") for row in rows if ",wall_time," in row and ",valid," in row]
assert whole
table = polars.read_csv(io.StringIO("\\n".join([head, *whole * 60, *rows])), infer_schema_length=100)
assert table["value"].dtype == polars.Float64
"""
        evil("--to", "m.csv")
        client(script, needs="polars")

    def test_prometheus_reads_medians(self):
        script = """
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as families
found = {family.name: family for family in families(open("m.txt").read())}
median, = [sample.value for sample in found["expc_wall_time_seconds"].samples
           if sample.labels["of"] == "median" and sample.labels["factor_size"] == "20" and sample.labels["factor_mode"] == "odd"]
print(median, found["expc_wall_time_seconds"].unit, found["expc_loss"].samples[0].labels["study"] == sys.argv[1])
"""
        evil("--format", "openmetrics", "--to", "m.txt")
        self.assertEqual(client(script, EVIL, needs="prometheus_client").split(), ["0.12", "seconds", "True"])

    def test_pandas_reads_csv_and_json(self):
        evil("--to", "m.csv")
        evil("--format", "json", "--to", "m.json")
        script = """
import json, sys, pandas
rows = pandas.read_csv("m.csv", dtype={"point": str}, parse_dates=["started"])
assert set(rows.study) == {sys.argv[1]}, set(rows.study)
assert rows.counts.dtype == bool and rows.factor_size.dtype == "int64" and rows.value.dtype == "float64", rows.dtypes
assert rows.started.dt.tz is not None
same = pandas.DataFrame(json.load(open("m.json"))["measurements"])
assert list(same.value.dropna()) == list(rows.value.dropna())
print(rows[rows.metric == "wall_time"].groupby("factor_size").value.median().to_dict())
"""
        self.assertEqual(client(script, EVIL).strip(), "{10: 0.11, 20: 0.12}")

    def test_duckdb_reads_csv(self):
        export("--to", "m.csv")
        script = """
import duckdb
print(duckdb.sql("SELECT factor_size, median(value), count(*) FROM 'm.csv' WHERE metric = 'wall_time' AND counts "
                 "GROUP BY ALL ORDER BY ALL").fetchall())
print(duckdb.sql("SELECT typeof(started) FROM 'm.csv' LIMIT 1").fetchall())
"""
        self.assertEqual(client(script), "[(10, 0.11, 6), (20, 0.12, 6)]\n[('TIMESTAMP WITH TIME ZONE',)]\n")

    def test_parquet_is_read_with_its_types(self):
        if not any(ROOT.glob(".deps/python/lib/python3*/site-packages/pyarrow")):
            self.assertIn("cannot write m.parquet: it needs pyarrow", export("--format", "parquet", "--to", "m.parquet", code=1))
            self.skipTest("there is no pyarrow")
        evil("--format", "parquet", "--to", "m.parquet")
        export("--format", "parquet", "--table", "series", "--to", "s.parquet")
        evil("--to", "m.csv")
        script = """
import sys, duckdb, pandas
rows = pandas.read_parquet("m.parquet")
assert set(rows.study) == {sys.argv[1]}, set(rows.study)
assert rows.counts.dtype == bool and rows.factor_size.dtype == "int64" and rows.value.dtype == "float64", rows.dtypes
text = pandas.read_csv("m.csv", dtype={"point": str}, parse_dates=["started"])
assert list(text.columns) == list(rows.columns)
assert (text.started.dt.as_unit("us") == rows.started).all() and (text.value.dropna() == rows.value.dropna()).all()
print(duckdb.sql("SELECT factor_size, median(value), count(*) FROM 'm.parquet' WHERE metric = 'wall_time' AND counts "
                 "GROUP BY ALL ORDER BY ALL").fetchall())
print(duckdb.sql("SELECT typeof(started), typeof(null_cards) FROM 'm.parquet' LIMIT 1").fetchall())
print(duckdb.sql("SELECT step, avg(value) FROM 's.parquet' GROUP BY ALL ORDER BY ALL").fetchall())
"""
        self.assertEqual(client(script, EVIL), "[(10, 0.11, 6), (20, 0.12, 6)]\n[('TIMESTAMP WITH TIME ZONE', 'BOOLEAN')]\n"
                         "[(1, 3.0), (2, 2.0)]\n")
        self.assertIn("cannot write no/place.parquet: ", export("--format", "parquet", "--to", "no/place.parquet", code=1))
        self.assertIn("--format parquet needs --to FILE", export("--format", "parquet", code=2))

    def test_the_notebook_makes_a_figure(self):
        cells = json.loads((ROOT / "docs/results.ipynb").read_text(encoding="utf-8"))["cells"]
        names, code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        self.assertLessEqual(len(code.splitlines()), 10)
        self.assertEqual([name.strip() for name in names.split("=")[0].split(",")], ["STUDY", "METRIC", "X", "BY"])
        client("import os; os.environ['MPLBACKEND'] = 'Agg'\n"
               "STUDY, METRIC, X, BY = 's.exp', 'wall_time', 'factor_size', 'factor_mode'\n" + code)
        self.assertIn("<svg", (FOLDER / "figure.svg").read_text(encoding="utf-8"))

    def test_mlflow_takes_each_trial_once(self):
        evil("--format", "json", "--to", "m.json")
        script = """
import os, subprocess, sys
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
uri = "file://" + os.path.abspath("mlflow")
for _ in range(2):
    done = subprocess.run([sys.executable, sys.argv[1], "--uri", uri], stdin=open("m.json"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    print(done.stdout.split(",")[0])
import mlflow
client = mlflow.MlflowClient(uri)
experiment, = [one for one in client.search_experiments() if one.name != "Default"]
runs = client.search_runs([experiment.experiment_id], "params.size = '20' and tags.`expc.counts` = 'True'")
assert {run.data.tags["expc.study"] for run in runs} == {sys.argv[2]}
print(len(runs), {run.data.metrics["wall_time"] for run in runs}, {run.info.status for run in runs})
print([(one.step, one.value) for one in client.get_metric_history(runs[0].info.run_id, "loss")])
"""
        text = client(script, str(ROOT / "tools/to_mlflow"), EVIL)
        trials = len({row["trial"] for row in json.loads((FOLDER / "m.json").read_text())["measurements"]})
        self.assertEqual(text, f"{trials} runs are new\n0 runs are new\n6 {{0.12}} {{'FINISHED'}}\n[(1, 3.0), (2, 2.0)]\n")

    @unittest.skipUnless(shutil.which("xmllint"), "xmllint is not installed")
    def test_xmllint_finds_junit_valid(self):
        evil("--format", "junit", "--to", "j.xml")
        schema = pathlib.Path(__file__).parent / "junit.xsd"
        done = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", schema, "j.xml"], cwd=FOLDER,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class Sql(unittest.TestCase):
    def rows(self, query):
        with contextlib.closing(sqlite3.connect(f"file:{FOLDER}/all.sqlite?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(query)]

    def setUp(self):
        (FOLDER / "all.sqlite").unlink(missing_ok=True)
        expc("store", "export", "all.sqlite", folder=FOLDER)

    def test_measurements_are_those_of_the_export(self):
        rows = {(str(row["trial"]), row["metric"] or ""): row for row in self.rows("SELECT * FROM measurement")}
        exported = [row for row in csv.DictReader(io.StringIO(export())) if row["metric"] != "loss"]
        self.assertEqual(len(exported), len([row for row in rows.values() if row["metric"] != "loss"]))
        for row in exported:
            stored = rows[row["trial"], row["metric"]]
            self.assertEqual(str(stored["value"] or ""), row["value"])
            self.assertEqual(stored["started"][:19], row["started"][:19])
            for name in set(stored) & set(row) - {"value", "started", "seconds", "time_limit", "null_cards"}:
                self.assertEqual("" if stored[name] is None else str(stored[name]), row[name], name)

    def test_points_have_their_parameters(self):
        rows = self.rows("SELECT json_extract(parameters, '$.size') AS size, count(*) AS n FROM measurement "
                         "JOIN point ON point.id = measurement.point WHERE metric = 'wall_time' GROUP BY size")
        self.assertEqual(rows, [{"size": 10, "n": 6}, {"size": 20, "n": 6}])


class Summaries(unittest.TestCase):
    def test_services_get_medians_as_they_ask_for_them(self):
        bencher = json.loads(evil("--format", "bencher"))
        self.assertEqual(bencher[f"{EVIL} size=20 mode=odd"], {"wall_time": {"value": 0.12}, "loss": {"value": 2}})
        smaller = json.loads(evil("--format", "customSmallerIsBetter"))
        self.assertIn({"name": f"{EVIL} size=20 mode=odd: wall_time", "unit": "s", "value": 0.12, "extra": "median of 3 trials"}, smaller)
        self.assertEqual(json.loads(evil("--format", "customBiggerIsBetter")), [])
        self.assertEqual(evil("--format", "openmetrics").splitlines()[-1], "# EOF")

    def test_junit_says_what_holds(self):
        suite, = xml.etree.ElementTree.fromstring(evil("--format", "junit"))
        self.assertEqual(suite.get("name"), EVIL)
        self.assertEqual(suite.get("skipped"), "0")
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("5", "1", "3"))
        outcome = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
        self.assertEqual(outcome, {"quick": ["system-out"], "wrong": ["failure", "system-out"],
                                   "open": ["error", "system-out"],
                                   **{f"timed size=30 mode={mode}": ["error", "system-out"] for mode in ("plain", "odd")}})
        self.assertEqual({error.get("type") for error in suite.iter("error")}, {"broken"})

    def test_markdown_is_a_summary_without_foreign_markup(self):
        text = evil("--format", "markdown")
        self.assertIn("### &lt;script&gt;alert(&#39;1&#39;)&lt;&#33;--, &quot;@&#8203;all&quot;\n", text)
        for part in ["| ☑️ | **quick**<br>", "| ❌ | **wrong**<br>", "| ❌ | **open**<br>", "<details><summary>slower"]:
            self.assertIn(part, text)
        self.assertNotIn("<script", text)
        self.assertNotIn("<b>", text)


if __name__ == "__main__":
    main()
