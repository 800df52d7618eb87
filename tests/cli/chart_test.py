#!/usr/bin/env python3
"""Charts of reports: what the page draws, one of them as a picture, a page for each selection, and published values at other settings.

usage: chart_test.py --expc PATH [--clients PYTHON]
"""
import json
import pathlib
import re
import shutil
import subprocess
import unittest

from command import OPTIONS, expc, main, new_folder

PUBLISHED = """gpus,seconds
1,0.100
2,0.060
4,0.030
"""
STUDY = """enum Method { plain, odd }
workload tool command ["bash", "-c", "echo t $$((100 * ${rows} / ${gpus})) ms; echo r ${gpus}; for i in 4 3 2; do echo l $$i; done; : ${method} ${loader}"] {
  param gpus   : int in 1..8 = 1
  param rows   : int in 1..9 = 1
  param loader : int in 1..9 = 1
  param method : Method = plain
  metric job_time : Time lower from regex("t ([0-9]+) ms", unit = 1ms)
  metric rate : Images / Time higher from regex("r ([0-9]+)", unit = 1img / 1s)
  metric loss : float series lower from regex("l ([0-9])")
}
reference table2 from "published.csv" { gpus  job_time = column(seconds) * 1s }
study s {
  workload tool
  factor gpus in { 1, 2, 4 } baseline 1
  factor method in { plain, odd } baseline plain
  compare scaling = efficiency(rate) over gpus
  compare faster = speedup(rate) over gpus
  criterion quick: forall *: job_time <= 1s
  plot job_time over gpus by method
  plot scaling over gpus by method
  plot faster over gpus by method
  plot rate over gpus by method
  plot loss over epoch by method
  plot job_time over rate by method
  design { timed { repeat 2 } }
  preset large { rows = 2 }
}
"""
PLACE = re.compile(r'id="(chart-\d+)" role="img" aria-label="Chart of ([^"]+)"')


def setUpModule():
    global FOLDER
    FOLDER = new_folder(unittest.addModuleCleanup)
    (FOLDER / "s.exp").write_text(STUDY, encoding="utf-8")
    (FOLDER / "published.csv").write_text(PUBLISHED, encoding="utf-8")
    study("run", "--heat-up", "0", code=0)


def study(command, *words, code=None):
    return expc(command, "s.exp", "--devices", "cpu:4", *words, folder=FOLDER, code=code)


def charts(page):
    """The specifications of a page by the names of their charts."""
    text = (FOLDER / "results" / page).read_text(encoding="utf-8")
    drawn = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.S)
    if not drawn:
        raise unittest.SkipTest("expc was built without its chart library")
    specifications = json.loads(drawn[1])
    return {name: specifications[place] for place, name in PLACE.findall(text)}


def having(field, chart):
    """Where on x the field is, with its values, each once."""
    return sorted({(one["xp"], one[field]) for one in chart["datasets"]["cells"] if field in one})


class Charts(unittest.TestCase):
    def test_numbers_lie_where_they_are(self):
        chart = charts("s.html")["job_time over gpus by method"]
        x = chart["encoding"]["x"]
        self.assertEqual("log", x["scale"]["type"])
        self.assertEqual([1, 2, 4], x["axis"]["values"])

    def test_scaling_has_its_ideal(self):
        drawn = charts("s.html")
        self.assertEqual([(2, 1.0), (4, 1.0)], having("i", drawn["scaling over gpus by method"]))
        self.assertEqual([(2, 2), (4, 4)], having("i", drawn["faster over gpus by method"]))
        # The rate's own ideal is the measured baseline times the ideal ratio.
        self.assertEqual([(1, 1), (2, 2), (4, 4)], having("i", drawn["rate over gpus by method"]))
        self.assertEqual([], having("i", drawn["job_time over gpus by method"]))

    def test_curves_and_metric_against_metric(self):
        drawn = charts("s.html")
        curves = [chart for name, chart in drawn.items() if name.startswith("loss over epoch by method")]
        self.assertEqual(3, len(curves))  # one for each number of gpus
        self.assertEqual([4, 3, 2], [one["e"] for one in curves[0]["datasets"]["cells"] if one["s"] == "plain"])
        self.assertIn("lowest to highest", curves[0]["title"]["text"])
        self.assertEqual(6, len(drawn["job_time over rate by method"]["datasets"]["cells"]))

    def test_published_values_stand_only_beside_the_same_settings(self):
        drawn = charts("s.html")["job_time over gpus by method"]
        self.assertEqual([30, 30, 60, 60, 100, 100], sorted(one["r"] for one in drawn["datasets"]["cells"] if "r" in one))
        self.assertIn("table2", drawn["title"]["text"])
        for words, page in ((["--preset", "large"], "s.large.html"), (["-D", "loader=2"], "s.loader=2.html")):
            done = study("run", "--heat-up", "0", *words)
            self.assertIn("Page        results/" + page, done.stdout)
            self.assertNotIn("published at other settings", done.stdout)
            self.assertNotRegex(done.stdout, r"\(published \d")
            self.assertEqual([], having("r", charts(page)["job_time over gpus by method"]))
        self.assertTrue((FOLDER / "results/s.html").exists())  # what another selection left as it was
        # A selection of levels does not change the setting.
        study("report", "-D", "gpus=1", code=0)
        self.assertEqual(2, sum("r" in one for one in charts("s.gpus=1.html")["job_time over gpus by method"]["datasets"]["cells"]))

    def test_a_chart_as_a_picture(self):
        for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG\r\n"), ("pdf", b"%PDF-")):
            done = study("report", "--format", kind, "--chart", "scaling over gpus by method", "-o", "x." + kind)
            if "needs vl-convert" in done.stderr:
                self.assertIn("tools/setup", done.stderr)
                self.skipTest("no vl-convert here")
            self.assertEqual((0, "x." + kind + "\n"), (done.returncode, done.stdout), done.stderr)
            self.assertTrue((FOLDER / ("x." + kind)).read_bytes().startswith(start))
        self.assertNotIn("s.html", [file.name for file in FOLDER.glob("*.html")])
        picture = (FOLDER / "x.svg").read_text(encoding="utf-8")
        for word in ("scaling", "gpus", "ideal", "plain"):
            self.assertIn(word, picture)
        self.assertNotIn("NaN", picture)
        if shutil.which("xmllint"):
            subprocess.run(["xmllint", "--noout", str(FOLDER / "x.svg")], check=True)
        pdf = (FOLDER / "x.pdf").read_bytes()
        self.assertIn(b"%%EOF", pdf[-16:])
        start = int(re.search(rb"startxref\s+(\d+)\s+%%EOF", pdf)[1])
        self.assertRegex(pdf[start:start + 20], rb"^(xref|\d+ 0 obj)")
        if OPTIONS.clients and pathlib.Path(OPTIONS.clients).exists():
            read = "import PIL.Image, sys; image = PIL.Image.open(sys.argv[1]); image.load(); print(image.width, len(set(image.convert('L').getdata())))"
            width, greys = subprocess.run([OPTIONS.clients, "-c", read, str(FOLDER / "x.png")], check=True, capture_output=True,
                                          text=True).stdout.split()
            self.assertGreater(int(width), 1000)
            self.assertGreater(int(greys), 10)  # it is not blank

    def test_a_chart_is_asked_for_by_name_or_number(self):
        several = study("report", "--format", "svg")
        self.assertEqual(1, several.returncode)
        self.assertRegex(several.stderr, r"several charts\. Choose one with --chart .*\n *1  job_time over gpus by method")
        self.assertIn("no chart 'x'", study("report", "--format", "svg", "--chart", "x").stderr)
        for words in (["--chart", "1"], ["--to", "x.svg"]):
            self.assertEqual(2, study("report", *words).returncode)
        done = study("report", "--format", "svg", "--chart", "2")
        if done.returncode == 0:
            self.assertEqual("scaling-over-gpus-by-method.svg\n", done.stdout)
            self.assertTrue((FOLDER / "scaling-over-gpus-by-method.svg").exists())

    def test_a_picture_that_cannot_be_written_is_one_message(self):
        done = study("report", "--format", "svg", "--chart", "1", "--to", "nowhere/x.svg")
        self.assertEqual(1, done.returncode)
        self.assertIn("nowhere/x.svg", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    main()
