#!/usr/bin/env python3
"""What programs print, and how people write down what to read of it: read, or refused with what it is; and what is shown of it all.

usage: reading_test.py --expc PATH
"""
import csv
import json
import os
import unittest

from command import Command, main


class Reading(Command):
    timeout = 120

    def study(self, text):
        self.write("s.exp", text)

    def expc(self, command, *more, code=None, devices="cpu:1"):
        heat_up = ["--heat-up", "0"] if command == "run" else []
        return super().expc(command, "s.exp", "--devices", devices, *heat_up, *more, code=code)

    def metric(self, source, written):
        """What one trial reads from standard output, or why it reads nothing."""
        (self.folder / "out.bin").write_bytes(written)
        self.study('workload w command ["cat", "out.bin"] {\n  inputs "out.bin"\n  metric value : Time lower  %s\n}\n'
                   "study s { workload w  measure value  design { repeat 1 } }\n" % source)
        self.expc("run", "--fresh", "--results", "r%d" % len(written))
        point, = self.document("report", "--results", "r%d" % len(written))["points"]
        values = point["metrics"].get("value", {}).get("values")
        return values if values else json.dumps(point)

    def test_micro_signs_colours_and_other_bytes_are_read(self):
        pattern = 'from regex("time: ([-0-9.]+) [µμu]s$", unit = 1us)'
        for number, written in enumerate(("time: 12.5 µs\n".encode(), "time: 12.5 μs\r\n".encode() + b" ", b"caf\xe9\ntime: 12.5 \xb5s\n",
                                          b"\x1b]0;title\x1b[0m\ntime: \x1b[1;32m12.5\x1b[0m us\x1b[K\n")):
            with self.subTest(number):
                self.assertEqual(self.metric(pattern, written), [12.5 * 1e-6])
        self.assertEqual(self.metric("from stdout", b"\x1b[32m12.5\x1b[0m\n"), [12.5])
        self.assertEqual(self.metric('from regex("\\\\x1b.32m([0-9]+)")', b"\x1b[32m7\x1b[0m\n"), [7])

    def test_a_script_of_windows_is_refused_before_it_runs(self):
        script = self.folder / "bench.sh"
        script.write_bytes(b"#!/bin/sh\r\necho 1\r\n")
        script.chmod(0o755)
        self.study('workload w command ["./bench.sh"] { metric wall : Time lower }\n'
                   "study s { workload w  measure wall  design { repeat 1 } }\n")
        self.assertIn("ends with a carriage return", self.expc("run", code=1).stderr)

    def test_a_metric_of_ones_own_reads_parameters(self):
        self.study("""unit row
workload train command ["echo", "step 500 ms", "${batch}"] {
  param batch : int = 1
  metric step_time : Time lower  from regex("step ([0-9.]+) ms", unit = 1ms)
  metric each : Time = step_time / batch lower
}
study s {
  workload train
  factor batch in { 8, 64 }  baseline 8
  metric rate = batch * 1row / step_time  higher
  measure rate, each
  compare gain = ratio(rate) over batch
  criterion grows: forall *: gain >= 7.9x
  design { repeat 2 }
}
""")
        shown = self.expc("run", code=0).stdout
        self.assertRegex(shown, r"(?m)^Other metrics +medians over trials$")
        self.assertRegex(shown, r"(?m)^ +64 .*128 row/s")
        rows = self.expc("export", code=0).stdout
        self.assertIn(",rate,row/s,higher,true,128.0,", rows)
        self.assertIn(",each,s,lower,true,0.0625,", rows)

    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "one core")
    def test_devices_are_the_cores_that_a_command_had(self):
        self.study('workload w command ["nproc"] { metric n : float higher  from stdout }\n'
                   "study s { workload w  measure n  design { repeat 1 } }\n")
        self.expc("run", devices="cpu:2", code=0)
        header, row = csv.reader(self.expc("export", code=0).stdout.splitlines())
        trial = dict(zip(header, row))
        cores = {core for slot in json.loads(trial["devices"]) for core in slot["cores"]}
        self.assertEqual(float(trial["value"]), len(cores))

    def test_what_is_true_of_all_rows_stands_once(self):
        self.study("""workload w command ["echo", "${n}"] {
  param n : int = 1
  metric value : float higher  from stdout
  metric wall : Time lower
}
study s {
  workload w
  factor n in { 1, 2, 3 }  baseline 1
  compare gain = ratio(value) over n
  measure value, wall
  design { repeat 2 }
}
""")
        self.expc("run", code=0)
        text = self.expc("report", "--all", code=0).stdout
        self.assertEqual(text.count("a 95 % interval needs 6"), 1, text)
        self.assertEqual(text.count("range "), 2, text)
        self.assertIn("all rows: only 2 pairs; a 95 % interval needs 6", text)
        self.study((self.folder / "s.exp").read_text().replace('"echo", "${n}"', '"sh", "-c", "exit 3"').replace("param n", "param m : int = 1\n  param n")
                   .replace('"exit 3"', '"exit 3", "${n}", "${m}"'))
        broken = self.expc("run", "--results", "broken", code=5).stdout
        self.assertIn("for the same reason", broken)

    def test_a_string_on_the_command_line_asks_for_its_quotes(self):
        self.study("""workload w command ["echo", "${build}", "${prog}"] {
  param build : string = "old"
  param prog  : path = "./old"
  metric wall : Time lower
}
study s { workload w  factor build in { "old", "new" }  measure wall  design { repeat 1 } }
""")
        for given, wanted in (("build=new", 'build="new"'), ("prog=./new", 'prog="./new"'), ("build='new'", 'build="new"')):
            self.assertIn(f"put a string in quotes, inside the shell's: -D '{wanted}'", self.expc("plan", "-D", given, code=2).stderr)
        self.assertIn("did you mean '\"new\"'?", self.expc("plan", "--where", "build == new").stderr)
        self.expc("plan", "-D", 'build="new"', code=0)

    def test_true_and_false_are_written_small(self):
        self.study("""workload w command ["echo", "${on}"] {
  param on : bool = true
  metric wall : Time lower
}
study s { workload w  measure wall  design { repeat 1 } }
""")
        for given, wanted in (("False", "did you mean 'false'?"), ("TRUE", "did you mean 'true'?"), ("0", "it is true or false"), ('"false"', "it is true or false")):
            self.assertIn(wanted, self.expc("plan", "-D", f"on={given}", code=2).stderr)
        self.expc("plan", "-D", "on=false", code=0)


if __name__ == "__main__":
    main()
