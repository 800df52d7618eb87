#!/usr/bin/env python3
"""What `expc plan` estimates of a Llama model's memory against what the allocator of the CPU counts in three training steps.

    tests/memory/llama_memory.py EXPC PROGRAM             a subset in seconds, as ctest runs it; fails beyond 10 %
    tests/memory/llama_memory.py EXPC PROGRAM --all       every method, precision and shape
    tests/memory/llama_memory.py EXPC PROGRAM --all --markdown    the table of docs/measurements/llm_memory.md
    … --model llama3_2_1b --method lora,qlora --length 64         other sizes

EXPC is the compiler, PROGRAM is expc-llama-memory. The estimates are read from the plan of a study for a machine without memory, where
every point is expected infeasible and says why.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

TOLERANCE = 0.10
METHODS = ["full", "lora", "qlora", "dpo", "dpo_full", "qat_kept", "qat_recomputed"]
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
# What each is as parameters of llm.finetune.
MEANING = {
    "dpo": {"method": "dpo", "dpo_base": "lora"},
    "dpo_full": {"method": "dpo", "dpo_base": "full"},
    "qat_kept": {"method": "qat", "qat_weights": "kept"},
    "qat_recomputed": {"method": "qat", "qat_weights": "recomputed"},
}


def settings(options):
    """Every combination that is asked for, as parameters."""
    found = []
    for method in options.method:
        for precision in options.precision:
            for checkpointing in ("false", "true"):
                for packing in ("false", "true"):
                    if method.startswith("dpo") and packing == "true":
                        continue  # pairs are not packed
                    found.append({
                        **MEANING.get(method, {"method": method}), "model": options.model, "precision": precision,
                        "activation_checkpointing": checkpointing, "packing": packing, "batch": str(options.batch),
                        "max_length": str(options.length), "optimizer": options.optimizer, "gpus": str(options.gpus),
                        "sharding": options.sharding,
                    })
    return found


def study(wanted):
    """One study for each setting: their parameters are not the same."""
    text = "import std.llm\nsystem nothing { gpus = 1  gpu.memory = 1kB }\n"
    for number, setting in enumerate(wanted):
        arguments = ", ".join(f"{name} = {value}{'tok' if name == 'max_length' else ''}"
                              for name, value in setting.items() if name != "precision")
        text += (f"study s{number} {{\n  workload llm.finetune({arguments})\n  factor precision in {{ {setting['precision']} }}\n"
                 "  measure device_memory_peak\n  design full { timed { repeat 1  steps 1 } }\n}\n")
    return text


def estimates(expc, wanted):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "memory.exp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(study(wanted))
        plan = subprocess.run([expc, "plan", path, "--system", "nothing"], capture_output=True, text=True, check=False)
    found = re.findall(r"device_memory_peak\s+is\s+estimated\s+at\s+([0-9.e+]+)\s+([kMGT]?B)", plan.stdout)
    if plan.returncode or len(found) != len(wanted):
        sys.exit(f"{len(wanted)} estimates wanted, {len(found)} found\n{plan.stdout[:2000]}{plan.stderr[:2000]}")
    return [float(value) * UNITS[unit] for value, unit in found]


def measured(program, wanted):
    lines = "".join(" ".join(f"{name}={value}" for name, value in setting.items()) + "\n" for setting in wanted)
    run = subprocess.run([program], input=lines, capture_output=True, text=True, check=False)
    peaks = [float(line.split()[0]) for line in run.stdout.splitlines()]
    if run.returncode or len(peaks) != len(wanted):
        sys.exit(f"{program} measured {len(peaks)} of {len(wanted)} and ended with {run.returncode}:\n{run.stderr}")
    return peaks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("expc")
    parser.add_argument("program")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--method", type=lambda text: text.split(","), default=METHODS)
    parser.add_argument("--precision", type=lambda text: text.split(","), default=["fp32", "bf16", "fp64"])
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--optimizer", default="adamw")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--sharding", default="fsdp")
    options = parser.parse_args()

    wanted = settings(options)
    if not options.all:  # each method, precision, checkpointing and shape at least once, and some on two ranks
        wanted = [setting for number, setting in enumerate(wanted) if number % 7 == 1] + [
            {**setting, "gpus": "2"} for number, setting in enumerate(wanted) if number % 24 == 0]
    expected, peaks = estimates(options.expc, wanted), measured(options.program, wanted)
    if options.markdown:
        print("| method | precision | checkpointing | rows | measured | estimated | off |\n| --- | --- | --- | --- | --- | --- | --- |")
    beyond = 0
    for setting, estimate, peak in zip(wanted, expected, peaks):
        off = estimate / peak - 1
        beyond += abs(off) > TOLERANCE
        name = " ".join(setting[part] for part in ("method", "dpo_base", "qat_weights") if part in setting)
        if not options.markdown and setting["gpus"] != "1":
            name += f" on {setting['gpus']} ranks"
        cells = [name, setting["precision"], "on" if setting["activation_checkpointing"] == "true" else "off",
                 "packed" if setting["packing"] == "true" else "padded", f"{peak / 1e6:.1f} MB", f"{estimate / 1e6:.1f} MB",
                 f"{off * 100:+.1f} %" + (" !" if abs(off) > TOLERANCE else "")]
        print("| " + " | ".join(cells) + " |" if options.markdown else "  ".join(cells))
    if beyond:
        sys.exit(f"{beyond} of {len(wanted)} estimates are more than {TOLERANCE:.0%} off")


if __name__ == "__main__":
    main()
