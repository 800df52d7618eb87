#!/usr/bin/env python3
"""The gate of docs/ci.md, as it stands there: its study, its script, its exit codes; and `expc compare --by session`.

usage: ci_test.py --expc PATH
"""
import json
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

from command import OPTIONS, Command, expc, main, new_folder

HISTORY = """workload bench command ["bash", "-c", "echo took $$(cat %s/time) ms; echo steady 5"] {
  metric wall : Time lower from regex("took ([0-9]+) ms", unit = 1ms)
  metric steady : float lower from regex("steady ([0-9]+)")
  metric twice : Time = wall * 2
}
study history {
  workload bench
  measure wall, steady, twice
  criterion quick: wall <= 110ms
  design { timed { repeat 2 } }
}
"""
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/ci.md"


def block(language):
    found, = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return found


class Gate(Command):
    def setUp(self):
        super().setUp()
        self.write("gate.exp", block("exp"))
        self.write("gate.sh", block("sh").replace("expc run ", "expc run --heat-up 0 "))
        self.program("old", "100")

    def program(self, name, milliseconds, then="true"):
        self.write(name, f"#!/bin/bash\ntime=$(({milliseconds}))\necho took $time.$((EXPC_TRIAL * 7 % 10)) ms\n{then}\n").chmod(0o755)

    def gate(self, code):
        path = f"{os.path.dirname(OPTIONS.expc)}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "gate.sh"], cwd=self.folder, env={**os.environ, "PATH": path}, capture_output=True, text=True,
                              timeout=600)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.assertTrue((self.folder / "gate-results/gate.html").exists())
        suites = xml.etree.ElementTree.parse(self.folder / "junit.xml").getroot()
        return suites.attrib, (self.folder / "summary.md").read_text(encoding="utf-8")

    def test_a_slower_program_shuts_the_gate_and_a_mended_one_opens_it(self):
        self.program("new", "110")
        counts, summary = self.gate(3)
        self.assertEqual((counts["failures"], counts["errors"]), ("1", "0"))
        self.assertIn("| ❌ | **no&#95;regression**<br>", summary)
        self.program("new", "101")
        counts, summary = self.gate(0)
        self.assertEqual((counts["failures"], counts["errors"]), ("0", "0"))
        self.assertIn("| ✅ | **no&#95;regression**<br>", summary)

    def test_a_program_that_crashes_shuts_the_gate_and_is_no_noise(self):
        self.program("new", "100", then="exit 1")
        counts, summary = self.gate(6)
        self.assertGreater(int(counts["errors"]), 0)
        self.assertIn("| ❌ | **no&#95;regression**<br>", summary)
        self.assertIn("exited with code 1", summary)
        # The old program alone would compare with nothing, so it ran no more often than needed.
        points = self.document("report", "gate.exp", "--results", "gate-results", code=None)["points"]
        self.assertEqual({point["levels"]["program"]: point["trials"][0]["valid"] for point in points}, {'"./old"': 2, '"./new"': 0})

    def test_noise_leaves_it_shut(self):
        (self.folder / "n").write_text("0")
        self.program("new", f"n = $(cat {self.folder}/n), n % 2 ? 60 : 160", then=f"echo $((n + 1)) >{self.folder}/n")
        counts, summary = self.gate(4)
        self.assertEqual((counts["failures"], counts["errors"]), ("0", "1"))
        self.assertIn("| ❔ | **no&#95;regression**<br>", summary)


class History(Command):
    """Sixteen sessions of one program that becomes slower after the eighth; each takes over the journal of the one before."""

    @classmethod
    def setUpClass(cls):
        cls.folder = new_folder(cls.addClassCleanup)
        (cls.folder / "h.exp").write_text(HISTORY % cls.folder, encoding="utf-8")
        for session in range(16):
            (cls.folder / "time").write_text(str((100 if session < 8 else 120) + session % 3))
            results = f"results-{session}"
            expc("run", "h.exp", "--devices", "cpu:1", "--heat-up", "0", "--results", results, folder=cls.folder, code=(0, 3))
            if session:
                expc("store", "merge", results, "--results", "results-0", folder=cls.folder)

    def history(self, *words, code=None):
        return self.expc("compare", "h.exp", "--devices", "cpu:1", *words, "--by", "session", code=code)

    def test_a_level_that_changed_is_found_between_two_sessions(self):
        whole = json.loads(self.history("results-0", "--format", "json", code=0).stdout)
        courses = {course["metric"]: course for course in whole["courses"]}
        self.assertEqual(len(courses["wall"]["stays"]), 16)
        change, = courses["wall"]["changes"]
        self.assertEqual((change["at"], change["worse"]), (8, True))
        self.assertAlmostEqual(change["after"], 0.121, delta=0.0011)
        self.assertEqual(courses["steady"]["changes"], [])
        text = self.history("results-0").stdout
        self.assertIn("worse: ", text)
        self.assertIn("2 of 3 values changed level", text)
        self.assertNotIn("steady at", text)
        self.assertIn("steady at", self.history("results-0", "--all").stdout)
        self.assertIn("1 of 1 values changed level", self.history("results-0", "--metric", "wall").stdout)
        self.assertIn("does not measure 'speed'", self.history("results-0", "--metric", "speed").stderr)

    def test_what_is_derived_has_a_course_that_is_neither_better_nor_worse(self):
        whole = json.loads(self.history("results-0", "--metric", "twice", "--format", "json").stdout)
        change, = whole["courses"][0]["changes"]
        self.assertEqual((change["at"], change["worse"]), (8, None))
        self.assertIn("changed: ", self.history("results-0", "--metric", "twice").stdout)

    def test_folders_and_parts_of_them_are_one_history(self):
        one = json.loads(self.history("results-0", "--metric", "wall", "--format", "json").stdout)
        apart = json.loads(self.history("results-0,run=1", *(f"results-{i}" for i in range(1, 16)), "--metric", "wall", "--format", "json").stdout)
        medians, = [[stay["median"] for stay in course["stays"]] for course in one["courses"]]
        self.assertEqual([stay["median"] for stay in apart["courses"][0]["stays"]], medians)
        self.assertEqual(apart["courses"][0]["stays"][3]["side"], "results-3")
        self.assertIn("wall at", self.history("results-0", "--format", "markdown").stdout)


if __name__ == "__main__":
    main()
