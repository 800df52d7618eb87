#!/usr/bin/env python3
"""What set-ups ask nvidia-smi. usage: smi_test.py NVIDIA_SMI"""
import os
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()


def smi(*arguments, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NULLGPU_")}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env={**kept, **environment})


class Smi(unittest.TestCase):
    def test_lists_all_cards_whatever_is_visible(self):
        answer = smi("-L", NULLGPU_CARDS="2", CUDA_VISIBLE_DEVICES="1")
        self.assertEqual(answer.stdout.splitlines(),
                         [f"GPU {i}: Null GPU (computes nothing) (UUID: GPU-6e756c6c-0000-0000-0000-00000000000{i + 1})"
                          for i in range(2)])

    def test_tells_the_fields_that_it_is_asked_for(self):
        fields = "--query-gpu=driver_version,memory.total,name"
        answer = smi(fields, "--format=csv,noheader", NULLGPU_CARDS="1", NULLGPU_MEMORY="80GiB")
        self.assertEqual(answer.stdout, "580.95.05, 81920 MiB, Null GPU (computes nothing)\n")
        answer = smi(fields, "--format=csv,noheader,nounits", NULLGPU_CARDS="1", NULLGPU_MEMORY="80GiB")
        self.assertEqual(answer.stdout, "580.95.05, 81920, Null GPU (computes nothing)\n")

    def test_a_table_without_options(self):
        answer = smi(NULLGPU_CARDS="2", NULLGPU_MEMORY="80GiB")
        self.assertIn("Driver Version: 580.95.05    CUDA Version: 13.0", answer.stdout)
        self.assertEqual(answer.stdout.count("0MiB / 81920MiB"), 2)
        self.assertEqual({len(line) for line in answer.stdout.splitlines()}, {79})

    def test_refuses_everything_else_with_one_line(self):
        for arguments, why in [(["-q"], "'-q' is not known"),
                               (["--query-gpu=fan.speed", "--format=csv,noheader"], "no field 'fan.speed'"),
                               (["--query-gpu=name", "--format=csv"], "no format 'csv'"),
                               (["--query-gpu=name"], "expected a query and its format")]:
            answer = smi(*arguments)
            self.assertEqual((answer.returncode, answer.stdout), (2, ""), arguments)
            self.assertIn(why, answer.stderr)
            self.assertEqual(answer.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
