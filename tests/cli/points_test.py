#!/usr/bin/env python3
"""`expc plan` as a way to look at points: machines, conditions, pages, explanations, locks; runs that a lock holds; and what is foretold.

usage: points_test.py --expc PATH --null-worker PATH
"""
import json
import subprocess
import sys

from command import OPTIONS, Command, main

STUDY = """import std.null
system box { gpus = 1  gpu.memory = 80GB }
study tiny {
  workload null.idle(noise = 0.01)
  factor step in { 20ms, 10ms }  baseline 20ms
  factor gpus in { 1, 2, 3 }  baseline 1
  require slow: gpus < 3 or step == 20ms  because "it would take days"
  require cards: gpus <= system.gpus  because "the node has fewer cards"
  compare gain = speedup(step_time) over step
  criterion faster: forall *: gain >= 1.5x  with confidence 95%
  design { timed { repeat 7  steps 1  warmup 0 } seed 7 }
  preset quick { noise = 0.02  only gpus in { 1, 2 } }
}
"""

GRID = """workload job {
  param a : int in 0..999 = 0
  param b : int in 0..999 = 0
  metric t : Time lower
}
study grid {
  workload job
  factor a in 0..999
  factor b in 0..999
  exclude a == 0 and b == 0
  measure t
  design { timed { repeat 6  steps 1 } }
}
"""


class Tiny(Command):
    timeout = 120

    def setUp(self):
        super().setUp()
        self.study = self.write("tiny.exp", STUDY)

    def plan(self, *arguments, code=0):
        return self.expc("plan", "tiny.exp", *arguments, code=code)


class Machines(Tiny):
    def test_a_machine_of_the_file_marks_points(self):
        plan = json.loads(self.plan("--system", "box", "--format", "json").stdout)
        self.assertEqual(plan["system"], "box")
        self.assertEqual({len(plan["points"]), sum("unavailable" in point for point in plan["points"])}, {5, 3})

    def test_points_and_digest_are_the_same_everywhere(self):
        here = json.loads(self.plan("--devices", "cpu:2", "--format", "json").stdout)
        there = json.loads(self.plan("--system", "proxima", "--format", "json").stdout)
        self.assertEqual([point["id"] for point in here["points"]], [point["id"] for point in there["points"]])
        self.assertEqual(here["digest"], there["digest"])

    def test_an_unknown_machine_names_the_others(self):
        error = self.plan("--system", "boxx", code=1).stderr
        self.assertIn("did you mean 'box'?", error)
        self.assertIn("proxima", error)

    def test_devices_are_of_this_machine(self):
        self.assertIn("--devices", self.plan("--system", "box", "--devices", "2", code=1).stderr)


class Looking(Tiny):
    def test_a_condition_chooses_points(self):
        lines = self.plan("--where", "gpus > 1 and step == 20ms").stdout.splitlines()
        self.assertEqual(lines[0], "study tiny: 2 of 5 points satisfy gpus > 1 and step == 20ms")
        self.assertEqual(len(lines), 3)

    def test_json_lines_can_be_chosen_too(self):
        lines = self.plan("--format", "jsonl", "--where", "gpus == 1").stdout.splitlines()
        self.assertEqual(json.loads(lines[0])["schema"], "expc.plan-lines/2")
        self.assertEqual([json.loads(line)["levels"]["gpus"] for line in lines[1:]], ["1", "1"])

    def test_a_condition_is_checked(self):
        self.assertIn("did you mean 'gpus'?", self.plan("--where", "gpu > 1", code=2).stderr)
        self.assertIn("E0206", self.plan("--where", "gpus", code=2).stderr)

    def test_a_million_points_are_summed_up_and_paged(self):
        self.write("grid.exp", GRID)
        text = self.expc("plan", "grid.exp").stdout
        self.assertIn("999999 of 1000000 combinations", text)
        self.assertLess(len(text.splitlines()), 40)
        page = self.expc("plan", "grid.exp", "--page", "20000").stdout.splitlines()
        self.assertIn("page 20000 of 20000", page[0])
        self.assertEqual(len(page), 50)  # the title, and the last 49
        self.assertIn("a=999 b=999", page[-1])

    def test_memory_does_not_grow_with_the_points(self):
        def peak(study):
            self.write("grid.exp", study)
            code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
                    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
            return int(subprocess.run([sys.executable, "-c", code, OPTIONS.expc, "plan", "grid.exp", "--format", "jsonl"],
                                      cwd=self.folder, capture_output=True, text=True, check=True).stdout)
        small = peak(GRID.replace("0..999\n  factor b in 0..999", "0..9\n  factor b in 0..9"))
        self.assertLess(peak(GRID) - small, 16 << 10)  # KiB


class Explaining(Tiny):
    def test_where_each_value_comes_from(self):
        text = self.plan("--explain", "step=10ms gpus=2", "--preset", "quick", "--devices", "cpu:2").stdout
        self.assertRegex(text, r"step = 0\.01s +factor, tiny\.exp:5:10")
        self.assertRegex(text, r"noise = 0\.02 +preset quick, tiny\.exp:12:")
        self.assertRegex(text, r"duration = 0\.01s +default of null\.idle")

    def test_an_id_does_as_well(self):
        plan = json.loads(self.plan("--format", "json").stdout)
        point = plan["points"][0]["id"]
        for length in (8, 2):
            self.assertIn(f"point {point}", self.plan("--explain", point[:length]).stdout)
        self.assertIn("E0602", self.plan("--explain", "0000", code=2).stderr)

    def test_what_removed_a_point(self):
        text = self.plan("--explain", "step=10ms, gpus=3").stdout
        self.assertIn("the rule slow removes it (tiny.exp:7:3): require gpus < 3 or step == 20ms", text)
        self.assertIn('because "it would take days"', text)
        self.assertIn("gpus = 3", text)
        left_out = self.plan("--explain", "step=20ms gpus=3", "--preset", "quick").stdout
        self.assertIn("the selection leaves out gpus = 3", left_out)

    def test_what_the_machine_says(self):
        text = self.plan("--explain", "step=20ms gpus=2", "--system", "box").stdout
        self.assertIn("cannot run here: the node has fewer cards", text)

    def test_a_point_must_be_named_whole(self):
        self.assertIn("it gives no level of 'gpus'", self.plan("--explain", "step=10ms", code=2).stderr)
        self.assertIn("did you mean 'gpus'?", self.plan("--explain", "step=10ms gpu=1", code=2).stderr)
        self.assertIn("E0602", self.plan("--explain", "step=10ms step=20ms gpus=1", code=2).stderr)


class Locks(Tiny):
    def run_study(self, code=0):
        return self.expc("run", "tiny.exp", "--worker", OPTIONS.null_worker, "--devices", "cpu:2", "--preset", "quick",
                         "--heat-up", "0", code=code)

    def test_formatting_changes_nothing(self):
        self.plan("--lock")
        self.write("tiny.exp", "// a comment\n" + STUDY.replace("  factor", "\n      factor"))
        self.assertEqual(self.plan("--diff", "tiny.exp.lock").stdout, "nothing changed since tiny.exp.lock\n")

    def test_neither_blanks_nor_order_change_anything(self):
        factors = "  factor gpus in { 1, 2 }  baseline 1\n  factor gpus_per_node in { 1 }\n"
        parts = ["  workload null.idle(noise = 0.01, step=10ms)\n", "  factor gpus in {1,2} baseline   1\n", "  require small: gpus<=2 and gpus>0\n",
                 "  compare gain=speedup( step_time )over gpus\n", "  criterion faster:forall gpus :gain>=1.5x with confidence  95%\n",
                 "  criterion again : forall * where gpus in {2, 1}: step_time<=1s\n",
                 "  table step_time by gpus\n", "  table gain by gpus\n", "  design { timed { repeat 7..9 until half_width(gain)<=10%  steps 1  warmup 0 } }\n"]
        text = "import std.null\nstudy tiny {\n" + "".join(parts) + "}\n"
        self.write("tiny.exp", text)
        self.plan("--lock")
        self.expc("fmt", "tiny.exp")
        self.assertNotEqual((self.folder / "tiny.exp").read_text(), text)
        self.assertEqual(self.plan("--diff", "tiny.exp.lock").stdout, "nothing changed since tiny.exp.lock\n")
        self.write("tiny.exp", "import std.null\nstudy tiny {\n" + "".join(reversed(parts)).replace("<=2 and gpus>0", " > 0 and gpus <= 2").replace("{2, 1}", "{ 1, 2 }") + "}\n")
        self.assertEqual(self.plan("--diff", "tiny.exp.lock").stdout, "nothing changed since tiny.exp.lock\n")

    def test_a_lock_is_small_however_many_points_there_are(self):
        self.write("tiny.exp", STUDY.replace("{ 1, 2, 3 }", "1..1000 by 1").replace("{ 10ms, 20ms }", "1ms..200ms by 1ms"))
        self.plan("--lock")
        self.assertLess((self.folder / "tiny.exp.lock").stat().st_size, 100_000)

    def test_changes_are_named(self):
        self.write("tiny.exp", STUDY.replace("noise = 0.01", "noise = 0.05"))
        self.plan("--lock")
        changed = STUDY.replace("{ 1, 2, 3 }", "{ 1, 2, 4 }").replace("1.5x", "1.6x").replace("repeat 7", "repeat 8")
        self.write("tiny.exp", changed.replace("gpus < 3", "gpus < 4").replace("noise = 0.01", "noise = 0.03"))
        text = self.plan("--diff", "tiny.exp.lock").stdout
        for line in ["argument noise changed: 0.05 -> 0.03", "factor gpus changed: { 1, 2, 3 } baseline 1 -> { 1, 2, 4 } baseline 1",
                     "criterion faster changed", "rule slow changed: require gpus < 3 or step == 20ms -> require gpus < 4", "design changed",
                     "points changed: 5 -> 5", "points with gpus=4 added", "points with gpus=3 removed"]:
            self.assertIn("tiny: " + line, text)

    def test_defaults_are_held_and_a_parameter_more_is_not(self):
        job = ('workload show command ["sh", "-c", "echo ${rank} ${speed}"] {\n  param rank : int = 1\n  param speed : int = 5 when rank > 1\n'
               '  metric wall : Time lower\n}\n')
        self.write("jobs.exp", job)
        self.write("tiny.exp", 'import "jobs.exp"\nstudy tiny { workload jobs.show()  factor rank in { 1, 2 } baseline 1  measure wall  design { repeat 6 } }\n')
        self.plan("--lock")
        self.write("jobs.exp", job.replace("int = 5", "int = 6"))
        self.assertEqual(self.plan("--diff", "tiny.exp.lock").stdout, "tiny: default of speed changed: 5 -> 6\n")
        self.assertIn("default of speed changed", self.expc("run", "tiny.exp", "--devices", "cpu:1", code=1).stderr)
        self.write("jobs.exp", job.replace("  metric", "  param more : int = 3\n  metric"))
        self.assertEqual(self.plan("--diff", "tiny.exp.lock").stdout, "nothing changed since tiny.exp.lock\n")

    def test_what_a_condition_means_is_held(self):
        where = "criterion some: forall * where gpus > 1: step_time <= 1s\n  compare"
        self.write("tiny.exp", STUDY.replace("  compare", "  " + where, 1))
        self.plan("--lock")
        text = (self.folder / "tiny.exp").read_text(encoding="utf-8")
        for changed, line in [(text.replace("where gpus > 1", "where gpus >= 2"), "nothing changed since tiny.exp.lock\n"),
                              (text.replace("where gpus > 1", "where gpus == 1"), "tiny: criterion some changed"),
                              (text.replace("gpus <= system.gpus", "gpus  <=  system.gpus"), "nothing changed since tiny.exp.lock\n"),
                              (text.replace("gpus <= system.gpus", "gpus < system.gpus"), "tiny: rule cards changed: require gpus <= system.gpus -> require gpus < system.gpus\n")]:
            self.write("tiny.exp", changed)
            self.assertTrue(self.plan("--diff", "tiny.exp.lock").stdout.startswith(line), self.plan("--diff", "tiny.exp.lock").stdout)

    def test_a_point_with_another_name_is_the_same(self):
        self.write("tiny.exp", STUDY.replace("  factor gpus", "  factor noise in { 0.01 }\n  factor gpus", 1).replace("(noise = 0.01)", "").replace("noise = 0.02 ", ""))
        self.plan("--lock")
        self.write("tiny.exp", STUDY)
        text = self.plan("--diff", "tiny.exp.lock").stdout
        self.assertIn("factor noise removed", text)
        self.assertNotIn("point", text)

    def test_a_lock_is_of_the_whole_file(self):
        for arguments in [("--lock", "--preset", "quick"), ("--lock", "-D", "gpus=1"), ("--diff", "x.lock", "--study", "tiny")]:
            self.assertIn("a lock covers the whole file", self.plan(*arguments, code=2).stderr)
        self.assertIn("excludes", self.plan("--lock", "--explain", "gpus=1", code=2).stderr)
        self.assertFalse((self.folder / "tiny.exp.lock").exists())

    def test_a_stale_lock_is_refused_and_a_new_one_is_not(self):
        self.plan("--lock")
        self.run_study()
        self.write("tiny.exp", STUDY.replace("1.5x", "1.4x"))
        error = self.run_study(code=1).stderr
        self.assertIn("criterion faster changed", error)
        self.assertIn("--lock", error)
        self.plan("--lock")
        self.run_study()

    def test_what_is_no_lock(self):
        for text, word in [("", "is not a lock"), ("[]", "a lock of another version"), ('{"schema": "expc.lock/1"}', "a lock of another version")]:
            self.write("tiny.exp.lock", text)
            self.assertIn(word, self.run_study(code=1).stderr)
        self.assertIn("cannot read", self.plan("--diff", "nothing.lock", code=1).stderr)

    def test_data_is_held_too(self):
        (self.folder / "data").mkdir()
        (self.folder / "data/a.bin").write_bytes(b"one")
        self.write("tiny.exp", STUDY.replace("noise = 0.01)", 'noise = 0.01, data = folder("data"))'))
        self.plan("--lock")
        self.run_study()
        (self.folder / "data/a.bin").write_bytes(b"two")
        self.assertIn("has changed since the lock was written", self.run_study(code=1).stderr)
        self.assertIn("tiny: data data changed", self.plan("--diff", "tiny.exp.lock").stdout)

    def test_the_inputs_of_a_command_are_held_too(self):
        self.write("in.txt", "one")
        self.write("tiny.exp", 'workload show command ["cat", "in.txt"] {\n  inputs "in.txt"\n  metric wall : Time lower\n}\n'
                               "study tiny { workload show  measure wall  design { repeat 6 } }\n")
        self.plan("--lock")
        self.write("in.txt", "two")
        self.assertIn("tiny: inputs of show changed", self.plan("--diff", "tiny.exp.lock").stdout)

    def test_data_that_no_point_reads_is_not_held(self):
        for name in ["read", "unread"]:
            (self.folder / name).mkdir()
        self.write("tiny.exp", STUDY.replace("  require slow", '  factor data in { folder("read"), folder("unread") }\n  exclude data == folder("unread")\n  require slow', 1))
        self.plan("--lock")
        lock = json.loads((self.folder / "tiny.exp.lock").read_text(encoding="utf-8"))
        self.assertEqual(list(lock["studies"]["tiny"]["data"]), ["read"])

    def test_a_lock_that_cannot_be_written(self):
        (self.folder / "tiny.exp.lock").mkdir()
        self.assertIn("cannot write tiny.exp.lock", self.plan("--lock", code=1).stderr)


class Estimates(Tiny):
    """What is foretold of a model that lies in a folder, and of rows that lie in a file."""

    STUDY = """import std.llm
system box {{ gpus = 2  gpu.memory = 94GB }}
study memory {{
  workload llm.finetune(model = {model}, data = {data}, precision = bf16, method = {method}, max_length = 256tok)
  factor gpus in {{ 1, 2 }}
  measure device_memory_peak
  design {{ timed {{ repeat 1  steps 2 }} }}
}}
"""
    # Llama 3.2 1B's.
    CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
              "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256,
              "tie_word_embeddings": True, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "hidden_act": "silu"}

    def estimates(self, model="llama3_2_1b", data="synthetic(64)", method="lora"):
        """Bytes of each point, and what was said beside the plan."""
        self.write("memory.exp", self.STUDY.format(model=model, data=data, method=method))
        done = self.expc("plan", "memory.exp", "--system", "box", "--format", "json")
        return [point.get("estimates", {}).get("device_memory_peak") for point in json.loads(done.stdout)["points"]], done.stderr

    def test_a_folder_is_foretold_as_the_named_model_of_its_sizes(self):
        (self.folder / "mine").mkdir()
        self.write("mine/config.json", json.dumps(self.CONFIG))
        named, _ = self.estimates()
        self.assertEqual(self.estimates('folder("mine")'), (named, ""))
        self.write("mine/config.json", json.dumps(self.CONFIG | {"num_hidden_layers": 8}))
        for smaller, whole in zip(self.estimates('folder("mine")')[0], named):
            self.assertLess(smaller, whole)

    def test_of_sizes_that_cannot_be_read_nothing_is_foretold(self):
        (self.folder / "mine").mkdir()
        for text, why in (("", "config.json"), ('{"hidden_size": "x"', "config.json: [1:19"), ("[]", "config.json")):
            self.write("mine/config.json", text)
            found, said = self.estimates('folder("mine")')
            self.assertEqual(found, [None, None], text)
            self.assertIn("the memory that folder(\"mine\") needs is unknown", said)
            self.assertIn(why, said)
        self.assertIn("needs is unknown", self.estimates('folder("none")')[1])
        self.assertEqual(self.expc("check", "memory.exp").stderr, "memory.exp: no mistakes found\n")

    def test_rows_are_foretold_by_their_own_lengths(self):
        rows = lambda words: "".join(json.dumps({"instruction": "say", "output": "a " * words}) + "\n" for _ in range(64))  # noqa: E731
        self.write("short.jsonl", rows(5))
        self.write("long.jsonl", rows(500))
        short, _ = self.estimates(data='file("short.jsonl")')
        cut, said = self.estimates(data='file("long.jsonl")')
        unknown, note = self.estimates(data='file("none.jsonl")')
        self.assertIn("no tokenizer is named, so each byte of long.jsonl counts as a token of a model that has 128256", said)
        self.assertIn("no memory estimate for points that read none.jsonl, which is missing", note)
        for one, other in zip(short, cut):
            self.assertLess(one, other)
        self.assertEqual(set(unknown), {None})
        self.assertEqual(self.estimates("tiny", 'file("short.jsonl")')[1], "")

    def test_the_longest_pair_is_named_where_most_are_shorter(self):
        pairs = lambda *words: "".join(json.dumps({"instruction": "say", "chosen": "a " * count, "rejected": "b"}) + "\n" for count in words)  # noqa: E731
        self.write("alike.jsonl", pairs(*[50] * 9))
        self.write("one.jsonl", pairs(*[5] * 8, 90))
        self.assertNotIn("estimated for the longest", self.estimates(data='file("alike.jsonl")', method="dpo")[1])
        self.assertRegex(self.estimates(data='file("one.jsonl")', method="dpo")[1],
                         r"pairs of one.jsonl is estimated for the longest of 9 \(2\d\d tokens; the median has \d+\): a trial without that pair needs less")


if __name__ == "__main__":
    main("--null-worker")
