#!/usr/bin/env python3
"""Claims of several assertions through the binary: which branch holds, what runs out of memory, and how many of a factor's levels.

usage: claims_test.py --expc PATH
"""
from command import Command, main

# Twice as fast, with 3 % more memory; of `way` b every size from 3 on runs out of memory.
STUDY = """enum way { a, b }
workload job command ["python3", "-c",
    "import os, sys; w, n, s = sys.argv[1:]; wobble = 1 + int(s) % 7 / 1000; w == 'b' and int(n) > 2 and (open(os.environ['EXPC_OUT_OF_MEMORY'], 'w').write('too large'), sys.exit(1)); print('time', (2 if w == 'a' else 1) * wobble); print('memory', (100 if w == 'a' else 103) * wobble)",
    "${way}", "${n}", "${seed}"] {
  param way : way = a
  param n : int in 1..4 = 1
  metric t : Time lower from regex("time (.+)", unit = 1s)
  metric m : Bytes lower from regex("memory (.+)", unit = 1B)
}
study s {
  workload job
  factor way in { a, b } baseline a
  factor n in { SIZES }
  compare gain = speedup(t) over way
  compare less = ratio(m) over way
  criterion c: CLAIM
  design { repeat 10  seed 3 }
}
"""


class Claims(Command):
    def run_study(self, claim, sizes="1, 2", code=0):
        self.write("s.exp", STUDY.replace("CLAIM", claim).replace("SIZES", sizes))
        self.expc("run", "s.exp", "--heat-up", "0", "--devices", "cpu:1", "--quiet", code=code)
        text = " ".join(self.expc("report", "s.exp", code=code).stdout.split())
        return text, self.document("report", "s.exp", code=code)["criteria"][0]

    def test_or_names_the_branch_that_holds(self):
        text, criterion = self.run_study("forall *: gain >= 1.5x or less <= 0.9x  with confidence 95%")
        self.assertEqual(criterion["verdict"], "pass")
        self.assertEqual(criterion["held_by"], ["gain >= 1.5x"])
        self.assertIn("c holds by 'gain >= 1.5x' in both configurations; closest is ", text)
        self.assertRegex(criterion["answer"], "^Yes: c holds by [^:]*$")
        self.assertEqual([cell["verdict"] for cell in criterion["cells"]], ["pass", "pass", "fail", "fail"])
        self.assertEqual(criterion["cells"][2]["assertion"], "less <= 0.9x")
        # The same trials decide a claim that no branch meets, and one that needs both.
        for claim in ("gain >= 2.5x or less <= 0.9x", "gain >= 1.5x and less <= 0.9x"):
            self.write("s.exp", STUDY.replace("CLAIM", f"forall *: {claim}  with confidence 95%").replace("SIZES", "1, 2"))
            said = self.document("report", "s.exp", code=3)["criteria"][0]
            self.assertEqual(said["verdict"], "fail", said)
            self.assertIn("'less <= 0.9x' fails with 1.03", said["why"])
        page = self.folder / "page.html"
        self.expc("report", "s.exp", "--html", str(page), code=3)
        self.assertIn("less &lt;= 0.9x", page.read_text())

    def test_what_runs_out_of_memory_is_seen(self):
        text, criterion = self.run_study("forall *: infeasible or gain >= 1.5x  with confidence 95%", "1, 2, 3")
        self.assertEqual(criterion["verdict"], "pass", text)
        self.assertEqual(sorted(criterion["held_by"]), ["gain >= 1.5x", "infeasible"])
        self.write("s.exp", STUDY.replace("CLAIM", "forall *: gain >= 1.5x  with confidence 95%").replace("SIZES", "1, 2, 3"))
        self.assertEqual(self.document("report", "s.exp", code=3)["criteria"][0]["verdict"], "fail")

    def test_at_least(self):
        text, criterion = self.run_study("at least 60% of n: gain >= 1.5x  with confidence 95%", "1, 2, 3")
        self.assertEqual(criterion["verdict"], "pass", text)
        self.assertIn("holds in 2 of 3 parts (2 are enough)", text)
        plan = self.document("plan", "s.exp")
        self.assertEqual((plan["criteria"][0]["claim"]["is"], plan["criteria"][0]["claim"]["least"]), ("at_least", 2))
        text, _ = self.run_study("at least 60% of n: gain >= 1.5x  with confidence 95%", "2, 3, 4", code=3)
        self.assertIn("1 of 3 parts hold (2 must)", text)

    def test_diagnose_simulates_the_tree(self):
        self.run_study("forall *: gain >= 1.5x or less <= 0.9x  with confidence 95%")
        said = self.document("diagnose", "s.exp", "--studies", "200", "--noise", "3%")["design"]["criteria"][0]
        at_bound = next(sweep for sweep in said["sweeps"] if sweep["half_widths"] == 0)
        self.assertLessEqual(at_bound["chances"]["pass"], 0.06)
        self.assertIn("write c.gain=VALUE or c.less=VALUE", self.expc("diagnose", "s.exp", "--effect", "c=2x", code=2).stderr)
        for truth, chance in (("c.gain=3x", 1), ("c.gain=1.2x", 0)):
            said = self.document("diagnose", "s.exp", "--studies", "200", "--noise", "3%", "--effect", truth, "--effect", "c.less=1x")
            stated = said["design"]["criteria"][0]
            self.assertEqual((stated["known"]["from"], stated["chances"]["pass"]), ("stated", chance))

    def test_two_kinds_of_trials_get_advice(self):
        study = STUDY.replace("Bytes lower", "Bytes lower quality").replace("{ repeat 10  seed 3 }", "{ timed { repeat 10 }  quality { repeat 10 }  seed 3 }")
        self.write("s.exp", study.replace("CLAIM", "forall n: t[way = b] >= 1.003s and less <= 1.05x  with confidence 95%").replace("SIZES", "1, 2"))
        self.expc("run", "s.exp", "--heat-up", "0", "--devices", "cpu:1", "--quiet", code=4)
        text = " ".join(self.expc("report", "s.exp", "--all", code=4).stdout.split())
        self.assertIn("A claim about several kinds of trials does not show how many blocks would decide it", text)


if __name__ == "__main__":
    main()
