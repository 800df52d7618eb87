#!/usr/bin/env python3
"""Variables and placement of a command as factors: the example of docs/language.md, run.

usage: placement_test.py --expc PATH
"""
import os
import pathlib
import re
import unittest

from command import Command, main

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "language.md"


class Placement(Command):
    @unittest.skipUnless({0, 1} <= os.sched_getaffinity(0), "two cores are needed")
    def test_the_example_of_the_page_sets_what_it_says(self):
        section = PAGE.read_text(encoding="utf-8").split("**Variables, placement and images**")[1]
        text = re.search(r"```exp\n(.*?)```", section, re.S).group(1)
        seen = 'metric threads_seen : float lower from regex("threads ([0-9]+)")\n  metric cores_seen : float lower from regex("cores ([0-9]+)")\n  metric wall'
        text = text.replace("metric wall", seen, 1).replace("compare gain", "measure threads_seen, cores_seen\n  compare gain")
        self.write("s.exp", text)
        self.write("solve", "#!/bin/sh\necho threads $OMP_NUM_THREADS\necho cores $(unset OMP_NUM_THREADS; nproc)\n").chmod(0o755)
        for point in self.document("run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", timeout=120)["points"]:
            levels, metrics = point["levels"], point["metrics"]
            self.assertEqual(metrics["threads_seen"]["values"], [float(levels["threads"])] * 7)
            self.assertEqual(metrics["cores_seen"]["values"], [2.0 if "," in levels["cores"] else 1.0] * 7)


if __name__ == "__main__":
    main()
