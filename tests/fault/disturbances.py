#!/usr/bin/env python3
"""What disturbs a trial, acted out: such trials are invalid, are tried again, are shown with the reason, and never count."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys

import harness
from harness import Folder, expect, expect_no_orphans, wait_for

STUDY = """\
workload tool command ["python3", "-c", "{program}"] {{
  metric wall : Time lower
  metric cpu_time : Time lower
}}
study faults {{
  workload tool
  measure wall, cpu_time
  design {{ timed {{ repeat 1 }}  {limits} }}
}}
"""
SLEEP = "import time; time.sleep(1.2)"
# Takes about a third of a core, far more than limits allow, and leaves the rest to other tests.
BUSY = "import time\nwhile True:\n  end = time.process_time() + 0.01\n  while time.process_time() < end: pass\n  time.sleep(0.02)"


def write(folder, limits, program=SLEEP):
    folder.study.write_text(STUDY.format(program=program, limits=limits))


def judged(folder):
    """How the trials of a folder ended, in their order, with the reasons."""
    return folder.query("SELECT status, reason FROM trial ORDER BY id")


def expect_disturbed(folder, reason, times=3):
    rows = judged(folder)
    expect([status for status, _ in rows] == ["invalid"] * times, f"{times} invalid trials: {rows}")
    expect(all(reason in text for _, text in rows), f"each says '{reason}': {rows}")
    kept = folder.one("SELECT count(*) FROM metric_value WHERE name = 'wall'")
    expect(kept == times, f"what they measured is kept: {kept} values")
    shown = subprocess.run([harness.options.expc, "report", str(folder.study), "--results", str(folder.results), "--format", "json"],
                           capture_output=True, text=True)
    point = json.loads(shown.stdout)["points"][0]
    expect(point["trials"][0]["invalid"] == times and point["trials"][0]["valid"] == 0, f"a report shows them: {point}\n{shown.stderr}")
    expect(point["metrics"] == {}, f"and counts none: {point}")
    expect_no_orphans()


@contextlib.contextmanager
def beside(*command, **options):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def a_busy_core_makes_trials_invalid():
    with Folder() as folder, beside(sys.executable, "-c", BUSY):
        write(folder, "other_cpu 5%")
        # One slot of all cores, so that the burner is on one of them wherever it runs.
        cores = len(os.sched_getaffinity(0))
        with contextlib.ExitStack() as others:
            for _ in range(cores - 1):
                others.enter_context(beside(sys.executable, "-c", BUSY))
            folder.run("--devices", "cpu:1").expect(5, "other processes used", "(limit 5 %)", "every timed trial was disturbed")
            expect_disturbed(folder, "other processes used")
            folder.run("--devices", "cpu:1").expect(5)
            expect(len(judged(folder)) == 6, "the next run tries again what was disturbed")
            write(folder, "other_cpu 5%  repeat_disturbed 1")
            folder.run("--devices", "cpu:1").expect(5)
            expect(len(judged(folder)) == 7, "as often as the design says")
            write(folder, "other_cpu 100%")
            folder.run("--devices", "cpu:1").expect(0)
            expect(judged(folder)[-1][0] == "valid", f"a limit that allows it is kept to: {judged(folder)}")
            write(folder, "")
            folder.run("--devices", "cpu:1", "--fresh").expect(0, "shared their cores with other processes")


def what_a_trial_does_itself_disturbs_nothing():
    # It keeps its cores busy by itself, through children too that end before it does.
    program = "import os,time; e=time.time()+1.2\\nif os.fork()==0:\\n  while time.time()<e-0.5: pass\\n  os._exit(0)\\nwhile time.time()<e: pass\\nos.wait()"
    with Folder() as folder:
        write(folder, "", program)
        folder.run("--devices", "cpu:1").expect(0)
        readings = json.loads(folder.one("SELECT environment FROM trial"))["readings"]
        expect("other_cpu" in readings, f"it was looked at: {readings}")
        own, cores = folder.one("SELECT value FROM metric_value WHERE name = 'cpu_time'"), len(os.sched_getaffinity(0))
        expect(own > 0.1, f"it kept cores busy: {own} s")
        # What it took cannot have been taken by others; 0.1 s of each process may be counted late.
        left = 1 - (own - 0.2) / (cores * readings["seconds"])
        expect(readings["other_cpu"] <= left, f"others took at most {left} of the cores: {readings}")


def doctor(*extra):
    done = subprocess.run([harness.options.expc, "doctor", "--format", "json", *extra], capture_output=True, text=True)
    findings = json.loads(done.stdout)["findings"]
    spoilt = [finding for finding in findings if finding["weight"] == "spoils"]
    expect(done.returncode == (1 if spoilt else 0), f"the exit code says whether something spoils: {done.returncode}\n{done.stdout}")
    return spoilt


def the_doctor_names_disturbances_beforehand():
    with Folder() as folder, beside(sys.executable, "-c", "while True: pass"):
        named = {finding["subject"]: finding for finding in doctor("--results", str(folder.results))}
        expect("others" in named and named["others"]["mend"], f"somebody keeps a core busy: {named}")
        if not null_library().exists():
            return "the null cards are not built"
        os.environ["NULLGPU_THROTTLE"] = "0x40"
        try:
            slow = [finding for finding in doctor("--null-gpus", "1") if finding["subject"] == "GPU 0"]
        finally:
            del os.environ["NULLGPU_THROTTLE"]
        expect(slow and "is throttled" in slow[0]["what"], f"a card is slowed down: {slow}")
    return None


def null_library():
    return pathlib.Path(harness.options.expc).resolve().parents[1] / "lib" / "nullgpu"


def on_null_cards(folder, **variables):
    os.environ.update(variables, NULLGPU_MACHINE=str(folder.path / "machine"))
    try:
        return folder.run("--null-gpus", "1")
    finally:
        for name in [*variables, "NULLGPU_MACHINE"]:
            del os.environ[name]


ENERGY = """\
workload tool command ["sleep", "0.5"] {
  metric energy : Energy lower
}
study faults {
  workload tool
  measure energy
  design { timed { repeat 2 } }
}
"""


def a_command_has_the_energy_of_its_cards():
    if not null_library().exists():
        return "SKIPPED: the null cards are not built"
    with Folder() as folder:
        folder.study.write_text(ENERGY)
        on_null_cards(folder).expect(0)
        rows = folder.query("SELECT value, environment FROM trial JOIN metric_value ON trial = trial.id WHERE name = 'energy'")
        for joules, environment in rows:
            card, = json.loads(environment)["readings"]["gpus"]
            expect(joules == card["joules"] and 29 < joules < 300, f"half a second of an idle card is some 40 J: {joules}, {card}")
        expect(len(rows) == 2, f"both trials have it: {rows}")
        # The processors of this machine may have no counter, which is no zero.
        folder.run("--devices", "cpu:1").expect(0)
        for joules, environment in folder.query(
                "SELECT value, environment FROM trial JOIN metric_value ON trial = trial.id WHERE trial.id > 2 AND name = 'energy'"):
            expect(joules == json.loads(environment)["readings"].get("joules"), f"of the processors, or nothing: {joules}, {environment}")
        expect_no_orphans()
    return None


# Works on a card for six seconds, whose clock is lowered by its owner's limit of power half way. It is told once: who
# looks while a file is written anew finds it empty.
CLOCKS = """
import ctypes, os, time
card = ctypes.CDLL("{library}/libcudart.so.13")
held = ctypes.c_void_p()
card.cudaMalloc(ctypes.byref(held), 1 << 24)
begin = time.monotonic()
while time.monotonic() - begin < 6:
    card.cudaMemset(held, 0, 1 << 24)
    card.cudaDeviceSynchronize()
    time.sleep(0.01)
    if time.monotonic() - begin > 3 and not os.path.exists("{throttle}"):
        open("{throttle}", "w").write("0x4")
"""


def a_clock_that_falls_makes_trials_invalid():
    if not null_library().exists():
        return "SKIPPED: the null cards are not built"
    with Folder() as folder:
        program, throttle = folder.path / "works.py", folder.path / "throttle"
        program.write_text(CLOCKS.format(library=null_library(), throttle=throttle))
        write(folder, "clock_drop 10%  repeat_disturbed 1", f"exec(open('{program}').read())")
        on_null_cards(folder, NULLGPU_THROTTLE=f"@{throttle}").expect(5, "a clock fell by 39.4 % (limit 10 %)")
        expect_disturbed(folder, "a clock fell by", times=1)
        throttle.unlink()
        write(folder, "clock_drop 50%", f"exec(open('{program}').read())")
        on_null_cards(folder, NULLGPU_THROTTLE=f"@{throttle}").expect(0)
        expect(judged(folder)[-1][0] == "valid", "a limit that allows it is kept to")
    return None


# Gives its memory to the swap space and reads it back.
SWAPS = """
import mmap, time
held = mmap.mmap(-1, 32 << 20)
held.write(b"x" * (32 << 20))
held.madvise(21)
sum(held[at] for at in range(0, 32 << 20, 4096))
time.sleep(1.2)
"""


@contextlib.contextmanager
def swap_space(folder):
    """Whether this machine has swap space for a while."""
    file = folder.path / "swap"
    with file.open("wb") as out:
        out.write(bytes(128 << 20))
    file.chmod(0o600)
    made = all(subprocess.run([tool, str(file)], capture_output=True).returncode == 0 for tool in ("mkswap", "swapon"))
    try:
        yield made or len(pathlib.Path("/proc/swaps").read_text().splitlines()) > 1
    finally:
        if made:
            subprocess.run(["swapoff", str(file)], check=True)


def a_machine_that_swaps_makes_trials_invalid():
    with Folder() as folder, swap_space(folder) as there:
        if not there:
            return "SKIPPED: there is no swap space, and none can be made"
        program = folder.path / "swaps.py"
        program.write_text(SWAPS)
        write(folder, "swapped 16MiB  repeat_disturbed 2", f"exec(open('{program}').read())")
        folder.run("--devices", "cpu:1").expect(5, "swap")
        expect_disturbed(folder, "swap", times=2)
        write(folder, "swapped 1GiB", f"exec(open('{program}').read())")
        folder.run("--devices", "cpu:1").expect(0)
        expect(judged(folder)[-1][0] == "valid", "a limit that allows it is kept to")
    return None


def a_slowed_down_card_makes_trials_invalid():
    if not null_library().exists():
        return "SKIPPED: the null cards are not built"
    with Folder() as folder:
        write(folder, "", "pass")
        on_null_cards(folder, NULLGPU_THROTTLE="0x40").expect(5, "GPU 0 was throttled", "heat, by the hardware")
        expect_disturbed(folder, "was throttled")
        write(folder, "throttled 100%", "pass")
        on_null_cards(folder, NULLGPU_THROTTLE="0x40")
        expect(judged(folder)[-1][0] == "valid", "a limit that allows it is kept to")
        # What the card's owner has set is no disturbance.
        write(folder, "repeat_disturbed 1", "pass")
        on_null_cards(folder, NULLGPU_THROTTLE="0x4")
        expect(judged(folder)[-1][0] == "valid", "a limit of power disturbs nothing")


OPEN_CARD = """
import ctypes, sys, time
card = ctypes.CDLL("{library}/libcudart.so.13")
held = ctypes.c_void_p()
print(card.cudaSetDevice(0), card.cudaMalloc(ctypes.byref(held), 1 << 20), flush=True)
time.sleep(60)
"""


def a_process_of_others_on_a_card_makes_trials_invalid():
    if not null_library().exists():
        return "SKIPPED: the null cards are not built"
    with Folder() as folder:
        write(folder, "", "pass")
        own = {**os.environ, "NULLGPU_MACHINE": str(folder.path / "machine"), "NULLGPU_CARDS": "1",
               "LD_LIBRARY_PATH": str(null_library())}
        with beside(sys.executable, "-c", OPEN_CARD.format(library=null_library()), env=own) as other:
            expect(other.stdout.readline() == "0 0\n", "the other process has the card")
            on_null_cards(folder).expect(5, f"other processes are on GPU 0: {other.pid} (python3")
            expect_disturbed(folder, "other processes are on GPU 0")
            write(folder, "other_gpu 1", "pass")
            on_null_cards(folder)
            expect(judged(folder)[-1][0] == "valid", "a limit that allows it is kept to")
        write(folder, "other_gpu 0", "pass")
        on_null_cards(folder)
        expect([status for status, _ in judged(folder)][-1] == "valid", "and when it is gone nothing disturbs")


if __name__ == "__main__":
    harness.parse_options(heat_up=0)
    sys.exit(harness.main([a_busy_core_makes_trials_invalid, a_command_has_the_energy_of_its_cards,
                           a_clock_that_falls_makes_trials_invalid, a_machine_that_swaps_makes_trials_invalid, what_a_trial_does_itself_disturbs_nothing,
                           a_slowed_down_card_makes_trials_invalid, a_process_of_others_on_a_card_makes_trials_invalid, the_doctor_names_disturbances_beforehand]))
