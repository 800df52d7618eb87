#!/usr/bin/env python3
"""Missing is never good news: over a value that was asked for and is not there, no command that ends with a verdict says PASS, shows a check
mark or exits with 0; each names it.

usage: missing_test.py --expc PATH
"""
import csv
import itertools
import math
import re
import xml.etree.ElementTree

from command import Command, main

# The program's behaviour does not count for whether two trials are comparable, so a change of it can stand for another commit.
STUDY = """unit req
workload bench command ["bash", "-c", ". %s/mode; run $$0", "${case}"] {
  param case : string = "small"
  metric rate : req / Time higher from regex("^rate (\\\\S+)", unit = 1req/s)
}
study s {
  workload bench
  factor case in { "small", "big" } baseline "small"
  measure rate
  %s
  design { repeat 7 }
}
"""
FORMS = {
    "measured alone": "",
    "compared": "compare gain = speedup(rate) over case",
    "of pairs": "compare gain = speedup(rate) over case\n  criterion c: forall *: gain >= 0.5x with confidence 95%",
    "of every trial": "criterion c: forall *: rate > -1req/s",
    "of one": "criterion c: exists case: rate >= 1req/s with confidence 95%",
    "of the other": 'criterion c: forall case where case == "small": rate >= 1req/s with confidence 95%',
}
FINE = "run() { echo rate $((100 + (EXPC_TRIAL * 7919 + 13) % 17)); }"
# How "big" loses its value, and whether that makes the study broken.
MODES = {
    "it crashes": ('run() { [ $1 = small ] || { echo assertion failed >&2; exit 1; }; echo rate 100; }', True),
    "it prints nothing": ('run() { [ $1 = small ] && echo rate 100; true; }', True),
    "it prints half a number": ('run() { [ $1 = small ] && echo rate 100 || echo rate 1,250; }', True),
    "all crash": ("run() { exit 1; }", True),
}


class Missing(Command):
    def study(self, form):
        self.write("s.exp", STUDY % (self.folder, form))

    def mode(self, script):
        self.write("mode", script)

    def expc(self, command, *words, code=None):
        return super().expc(command, "s.exp", "--devices", "cpu:1", *words, code=code)

    def run_study(self, results):
        return self.expc("run", "--results", results, "--heat-up", "0", "--quiet")

    def outputs(self, results, before):
        """The commands that end with a verdict, each with its exit code (of `export` none) and what it printed."""
        yield "report", self.expc("report", "--results", results)
        yield "report as JSON", self.expc("report", "--results", results, "--format", "json")
        yield "markdown", self.expc("export", "--results", results, "--format", "markdown")
        yield "compare", self.expc("compare", before, results)
        yield "compare as Markdown", self.expc("compare", before, results, "--format", "markdown")
        yield "claims", self.expc("compare", before, results, "--claims")
        yield "claims as Markdown", self.expc("compare", before, results, "--claims", "--format", "markdown")
        yield "by session", self.expc("compare", results, "--by", "session")
        yield "by session as Markdown", self.expc("compare", results, "--by", "session", "--format", "markdown")

    def check(self, results, before, code, name):
        for what, done in self.outputs(results, before):
            with self.subTest(what):
                if what != "markdown":
                    self.assertIn(done.returncode, code, done.stdout + done.stderr)
                self.assertIsNone(re.search(r"^PASS|→ PASS|✅|☑|\bPASS gain", done.stdout, re.M), done.stdout)
                self.assertIn(name, done.stdout)
        suites = xml.etree.ElementTree.fromstring(self.expc("export", "--results", results, "--format", "junit").stdout)
        self.assertGreater(int(suites.get("failures")) + int(suites.get("errors")), 0)
        self.assertIn(name, " ".join(case.get("name") for case in suites.iter("testcase")))

    def test_over_what_is_broken_nothing_is_good(self):
        for (form, claim), (mode, (script, _)) in itertools.product(FORMS.items(), MODES.items()):
            with self.subTest(form=form, mode=mode):
                before, after = f"before {form}", f"{form} {mode}"
                self.study(claim)
                if not (self.folder / before).exists():
                    self.mode(FINE)
                    self.assertEqual(self.run_study(before).returncode, 0)
                self.mode(script)
                code = (6,) if mode != "all crash" or "criterion" in claim else (5, 6)  # without a valid trial nothing ran
                self.assertIn(self.run_study(after).returncode, code)
                if form == "of the other" and mode != "all crash":
                    self.expc("report", "--results", after, code=6)  # its own claim holds, and says so
                else:
                    self.check(after, before, code + ((6,) if 5 in code else ()), "big")

    def test_a_value_that_cannot_be_used_keeps_from_a_pass(self):
        for values, verdict in (("112 0", "FAIL|INCONCLUSIVE"), ("112 -5", "INCONCLUSIVE")):
            for confidence in (" with confidence 95%", ""):
                self.study("compare gain = speedup(rate) over case\n  criterion c: forall *: gain >= 1.05x" + confidence)
                first, second = values.split()
                self.mode(f"run() {{ [ $1 = small ] && echo rate 100 || echo rate $((EXPC_TRIAL / 2 % 2 ? {first} : {second})); }}")
                done = self.run_study(f"{values}{confidence}")
                self.assertIn(done.returncode, (3, 4), done.stdout)
                self.assertRegex(done.stdout, rf"(?m)^({verdict}) +c: ")

    def test_a_baseline_of_zero_has_no_ratio_and_is_named(self):
        self.study("compare gain = speedup(rate) over case")
        self.mode("run() { [ $1 = big ] && echo rate 100 || echo rate $((EXPC_TRIAL / 2 % 2 * 100)); }")
        done = self.run_study("zero")
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertRegex(done.stdout, r'INCONCLUSIVE +gain at case="big": \d pairs? ha(s|ve) no value that can be used')

    def test_a_zero_on_either_side_is_no_ratio_and_named_by_its_point(self):
        for side, share, bound in itertools.product(("small", "big"), (1, 2), ("ratio(rate) over case|gain <= 1.03x", "speedup(rate) over case|gain >= 0.97x")):
            compare, claim = bound.split("|")
            with self.subTest(side=side, share=share, compare=compare):
                before, after = f"before {compare}", f"zero {side} {share} {compare}"
                self.study(f"compare gain = {compare}\n  criterion c: forall *: {claim} with confidence 95%")
                if not (self.folder / before).exists():
                    self.mode("run() { echo rate $((1000 + (EXPC_TRIAL * 7919 + 13) % 17)); }")
                    self.run_study(before)
                self.mode("run() { [ $1 = %s ] && [ $((EXPC_TRIAL / 2 %% %d)) = 0 ] && echo rate 0 || echo rate 1000; }" % (side, share))
                done = self.run_study(after)
                self.assertEqual(done.returncode, 4, done.stdout)
                text = " ".join(done.stdout.split())
                self.assertIn("INCONCLUSIVE c: ", text)
                self.assertRegex(text, f'a ratio needs values above 0, and rate of case="{side}" is 0 in [1-7] of 7 trials: claim a difference')
                for what, done in self.outputs(after, before):
                    if not what.startswith("by session"):
                        self.assertTrue(what == "markdown" or done.returncode in (3, 4), done.stdout)  # 3: a rate of 0 is worse
                        self.assertIsNone(re.search(r"^PASS|→ PASS|✅|☑|\bPASS gain", done.stdout, re.M), done.stdout)

    def test_what_diverged_is_worse_than_every_value_and_its_trial_stays_valid(self):
        self.write("train.py", "import sys\nprint('loss 2.31'); print('acc 90'); print(sys.argv[2].replace('|', chr(10)))\n")
        study = """workload train command ["python3", "train.py", "${lr}", "${lr}"] {
  inputs "train.py"
  param lr : string = "loss 1.5"
  metric loss : float lower from regex("loss (%s)")
  metric course : float series lower from regex("loss (%s)")
  metric acc : float higher from regex("acc ([0-9.]+)")
}
study s {
  workload train  factor lr in { "loss 1.5", "%s" } baseline "loss 1.5"
  measure loss, course, acc
  compare gain = speedup(loss) over lr
  criterion low: forall lr: loss <= 2.5
  criterion gains: forall *: gain >= 0.5x with confidence 95%%
  criterion right: forall lr: acc >= 80 with confidence 95%%
  design { repeat 6 }
}
"""
        for number, (pattern, last) in enumerate(((r"\\S+", "loss nan"), ("[0-9.]+", "loss NaN"), (r"[-+a-zA-Z0-9.]+", "loss -Infinity"))):
            with self.subTest(last):
                results = f"diverged{number}"
                self.write("s.exp", study % (pattern, pattern, last))
                done = self.run_study(results)
                text = " ".join(done.stdout.split())
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertRegex(text, r"FAIL low: 6 of 12 runs .*: a value that diverged")
                self.assertRegex(text, r"FAIL gains: ")
                self.assertRegex(done.stdout, r"(?m)^PASS +right: ")
                self.assertIn(f'"{last}" diverged diverged 90', text)
                point, = (one for one in self.document("report", "--results", results, code=3)["points"] if "loss 1.5" not in str(one["levels"]))
                self.assertEqual([(kind["valid"], kind["failed"]) for kind in point["trials"]], [(6, 0)])
                self.assertEqual((point["metrics"]["loss"]["diverged"], point["metrics"]["acc"]["diverged"]), (6, 0))
                rows = [row for row in csv.DictReader(self.expc("export", "--results", results, "--format", "csv").stdout.splitlines()) if row["metric"] == "loss"]
                self.assertEqual(sorted((row["diverged"], row["status"]) for row in rows), [("false", "valid")] * 6 + [("true", "valid")] * 6)
                self.assertTrue(all(not math.isfinite(float(row["value"])) and "loss diverged" in row["notes"] for row in rows if row["diverged"] == "true"), rows)
                self.assertIn("a value that diverged", self.expc("export", "--results", results, "--format", "junit").stdout)
                self.assertIn("diverged", next((self.folder / results).glob("*.html")).read_text(encoding="utf-8"))

    def test_words_without_a_number_behind_the_last_value_are_noted(self):
        self.study("")
        self.mode("run() { echo rate 100; echo rate n/a; }")
        self.write("s.exp", (self.folder / "s.exp").read_text().replace(r"(\\S+)", "([0-9.]+)"))
        self.run_study("words")
        done = self.expc("report", "--results", "words", "--all")
        self.assertIn("rate is read from before 'rate n/a', which has the same words and no number", " ".join(done.stdout.split()))

    def test_what_fails_now_and_then_on_one_side_is_named(self):
        self.study("")
        self.mode(FINE)
        self.assertEqual(self.run_study("steady").returncode, 0)
        (self.folder / "n").write_text("0")
        self.mode(f"run() {{ cd {self.folder}; n=$(($(cat n) + 1)); echo $n >n; [ $((n / 3 % 2)) = 0 ] && echo rate 100; true; }}")
        self.run_study("flaky")
        self.assertEqual(self.document("compare", "steady", "flaky", code=6)["outcome"], "broken")
        self.expc("compare", "flaky", "steady", code=0)

    def test_a_history_ends_with_what_is_newest(self):
        self.study("")
        for number, script in enumerate((FINE, MODES["it crashes"][0], MODES["it crashes"][0])):
            self.mode(script)
            self.run_study(f"h{number}")
            if number:
                super().expc("store", "merge", f"h{number}", "--results", "h0")
        done = self.expc("compare", "h0", "--by", "session", code=6)
        self.assertIn('rate at case="big": 1 session, ', done.stdout)
        self.assertIn("2 sessions since then without a value: ", " ".join(done.stdout.split()))
        whole = self.document("compare", "h0", "--by", "session")
        self.assertEqual({course["label"]: len(course["lost"]) for course in whole["courses"]}, {'case="small"': 0, 'case="big"': 2})


if __name__ == "__main__":
    main()
