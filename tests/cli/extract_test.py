#!/usr/bin/env python3
"""`expc extract`, and what commands see of the environment, as a user meets them.

usage: extract_test.py --expc PATH
"""
from command import Command, main

STUDY = """workload tool command ["bash", "-c", "echo step 5 ms; echo loss 3; echo nap $$NAP"] {
  metric value : float lower from regex("%s")
}
study s {
  workload tool
  measure value
  design { timed { repeat 3 } }
}
"""


class Commands(Command):
    timeout = 120

    def setUp(self):
        super().setUp()
        self.read("step ([0-9]+)")

    def read(self, pattern):
        self.write("s.exp", STUDY % pattern)

    def expc(self, command, *words, code, **more):
        heat_up = ["--heat-up", "0"] if command == "run" else []
        return super().expc(command, "s.exp", "--devices", "cpu:1", *heat_up, *words, code=code, **more)

    def values(self):
        point, = self.document("report", code=None)["points"]
        return point["metrics"]["value"]["values"]

    def test_a_corrected_pattern_is_read_from_what_was_kept(self):
        self.expc("run", code=None)
        self.assertEqual(self.values(), [5, 5, 5])
        self.read("loss ([0-9]+)")
        self.assertIn("`expc extract` re-reads stored output", " ".join(self.expc("report", code=None).stdout.split()))
        self.assertEqual(self.expc("extract", code=0).stdout, "study s: re-read 3 trials, 0 unchanged\n")
        self.assertEqual(self.values(), [3, 3, 3])
        self.assertIn("nothing to run: all 3 trials are stored", self.expc("run", code=None).stderr)
        self.assertEqual(self.expc("extract", code=0).stdout, "study s: re-read 0 trials, 3 unchanged\n")

    def test_half_a_number_fails_and_can_be_read_again_whole(self):
        for pattern, printed, whole in (("loss ([0-9.]+)", "loss 9.8e-05", 9.8e-05), ("([0-9.]+) rows", "1,250.5 rows", None)):
            study = STUDY.replace("echo loss 3", f"echo {printed}")
            (self.folder / "s.exp").write_text(study % pattern, encoding="utf-8")
            done = self.expc("run", "--results", printed[:4], code=5)
            self.assertRegex(done.stderr, r"found '[0-9.]+', which is a part of '[0-9].*': make the group match")
            if whole:
                (self.folder / "s.exp").write_text(study % r"loss (\\S+)", encoding="utf-8")
                self.expc("extract", "--results", printed[:4], code=0)
                point, = self.document("report", "--results", printed[:4], code=None)["points"]
                self.assertEqual(set(point["metrics"]["value"]["values"]), {whole})

    def test_a_copied_input_is_no_output_until_the_program_writes_it(self):
        (self.folder / "out.json").write_text('{"t": 3}', encoding="utf-8")
        for script, code in (("exit 0", 5), ("sed -i s/3/4/ out.json", 0)):
            (self.folder / "s.exp").write_text(f"""workload tool command ["sh", "-c", "{script}"] {{
  inputs copy "*.json"
  metric value : float lower from json("out.json", "/t")
}}
study s {{ workload tool  measure value  design {{ repeat 3 }} }}""", encoding="utf-8")
            done = self.expc("run", code=code)
            self.assertEqual("read from 'out.json': the program did not write it" in " ".join(done.stderr.split()), code == 5)
            if code == 5:
                self.expc("extract", code=0)
                self.expc("report", code=5)
        self.assertEqual(self.values(), [4, 4, 4])

    def test_what_cannot_be_read_again_is_said(self):
        self.expc("run", code=None)
        self.read("no such words ([0-9]+)")
        done = self.expc("extract", code=4)
        self.assertIn("3 trials could not be re-read: the metric value", done.stderr)
        self.assertEqual(done.stdout, "study s: re-read 0 trials, 0 unchanged\n")
        for kept in (self.folder / "results/outputs").iterdir():
            kept.unlink()
        self.assertIn("; 3 trials had no stored output", self.expc("extract", code=4).stdout)

    def test_a_variable_counts_once_it_is_passed_and_is_not_seen_else(self):
        self.read("nap ([0-9.]*)$")
        self.assertIn("failed", self.expc("run", NAP="0.1", code=None).stderr)
        self.expc("run", "--pass-env", "NAP", NAP="0.1", code=None)
        self.assertEqual(self.values(), [0.1] * 3)
        self.expc("run", "--pass-env", "NAP", NAP="0.3", code=None)
        self.assertEqual(self.values(), [0.3] * 3)
        missing = self.expc("run", "--pass-env", "NO_SUCH", code=1)
        self.assertIn("--pass-env NO_SUCH: that variable is not set here", missing.stderr)
        for path in (self.folder / "results/journal").iterdir():
            self.assertNotIn('"NAP":"0.', path.read_text(encoding="utf-8"), "only a digest is recorded")


if __name__ == "__main__":
    main()
