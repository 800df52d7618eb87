#!/usr/bin/env python3
"""Processes of one machine: what one holds of a card, NVML shows to others. usage: machine_test.py FOLDER_OF_THE_LIBRARIES"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop())
MEMORY = 1 << 20  # bytes of a card

# Holds memory until its input ends.
HOLDER = f"""
import ctypes, sys
runtime = ctypes.CDLL("{FOLDER}/libcudart.so.13")
address = ctypes.c_void_p()
assert runtime.cudaSetDevice(int(sys.argv[1])) == 0
print(runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(int(sys.argv[2]))), flush=True)
sys.stdin.read()
"""
# Says what NVML sees of a card: its used memory, and of each process its number and bytes.
ASKER = f"""
import ctypes, sys
nvml = ctypes.CDLL("{FOLDER}/libnvidia-ml.so.1")
class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]
class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("bytes", ctypes.c_ulonglong), ("gpu", ctypes.c_uint), ("compute", ctypes.c_uint)]
device, memory, count, processes = ctypes.c_void_p(), Memory(), ctypes.c_uint(8), (Process * 8)()
assert nvml.nvmlInit_v2() == 0
assert nvml.nvmlDeviceGetHandleByIndex_v2(int(sys.argv[1]), ctypes.byref(device)) == 0
assert nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) == 0
assert nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), processes) == 0
print([memory.used, {{p.pid: p.bytes for p in processes[:count.value]}}])
"""


class Machine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NULLGPU_", "CUDA_"))}
        self.environment = {**kept, "NULLGPU_MACHINE": folder.name + "/machine", "NULLGPU_CARDS": "2",
                            "NULLGPU_MEMORY": str(MEMORY)}

    def hold(self, card, size, **environment):
        """The process that holds memory of a card, and what cudaMalloc said."""
        process = subprocess.Popen([sys.executable, "-c", HOLDER, str(card), str(size)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env={**self.environment, **environment})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process, int(process.stdout.readline())

    def ask(self, card, **environment):
        answer = subprocess.run([sys.executable, "-c", ASKER, str(card)], capture_output=True, text=True,
                                env={**self.environment, **environment})
        return eval(answer.stdout) if answer.returncode == 0 else (answer.returncode, answer.stderr)

    def test_another_process_sees_who_holds_what(self):
        first, error = self.hold(0, MEMORY // 2)
        self.assertEqual(error, 0)
        second, error = self.hold(0, MEMORY // 4, CUDA_VISIBLE_DEVICES="1")
        self.assertEqual(error, 0)
        self.assertEqual(self.ask(0, CUDA_VISIBLE_DEVICES=""), [MEMORY // 2, {first.pid: MEMORY // 2}])
        self.assertEqual(self.ask(1), [MEMORY // 4, {second.pid: MEMORY // 4}])

    def test_a_card_has_no_more_for_all_than_it_has_and_takes_back_what_a_killed_process_held(self):
        first, error = self.hold(0, MEMORY)
        self.assertEqual(error, 0)
        self.assertEqual(self.hold(0, MEMORY)[1], 2)  # cudaErrorMemoryAllocation
        first.send_signal(signal.SIGKILL)
        first.wait()
        second, error = self.hold(0, MEMORY)
        self.assertEqual(error, 0)
        self.assertIn(second.pid, self.ask(0)[1])
        self.assertNotIn(first.pid, self.ask(0)[1])

    def test_a_process_that_is_told_of_other_cards_ends_with_one_line(self):
        self.assertEqual(self.hold(0, MEMORY)[1], 0)
        code, line = self.ask(0, NULLGPU_CARDS="3")
        self.assertEqual(code, 2)
        self.assertEqual(line.count("\n"), 1)
        self.assertIn("has 2 cards of 1048576 bytes", line)
        self.assertIn("this process is told 3 cards", line)


if __name__ == "__main__":
    unittest.main()
