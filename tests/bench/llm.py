"""Times fine-tuning steps of a small Llama 3 (width 256, 4 layers, vocabulary 8192, 2 x 256 tokens, all of them learnt
from, no loading) in ours, in torchtune and in transformers with peft; the Python programs as they are and with an
allocator that keeps freed memory and uses huge pages. All programs of a method stay up and take turns, so that what else
the machine does meets all of them. Ratios are how many times as long as ours the others take, of the shortest steps, of
the medians and of processor time (which counts OpenMP's waiting: of use with --threads 1, on a machine that others
use). QLoRA stands beside our LoRA too. `start` is from starting a program to the end of its first step.

usage: llm.py [--bench-step build/release/bin/expc-llm-bench] [--methods lora,dpo,qlora,qat,full] [--precisions fp32,bf16]
"""

import argparse
import json
import pathlib
import statistics
import time

import turns

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
METHODS = ("lora", "dpo", "qlora", "qat", "full")


def commands(arguments, method, precision):
    """What is compared: (name, command line, environment), ours first."""
    options = ["--method", method, "--precision", precision, "--threads", str(arguments.threads)]
    torchtune = [str(arguments.torchtune_python), str(HERE / "llm" / "torchtune_step.py"), *options]
    transformers = [str(arguments.python), str(HERE / "llm" / "transformers_step.py"), *options]
    programs = [("ours", [arguments.bench_step, *options], {})]
    if method == "qlora":
        programs.append(("ours_lora", [arguments.bench_step, *options, "--method", "lora"], {}))
    programs += [("torchtune", torchtune, {}), ("torchtune_tuned", torchtune, turns.TUNED)]
    if method not in ("qlora", "qat"):
        programs += [("transformers", transformers, {}), ("transformers_tuned", transformers, turns.TUNED)]
    return programs


def compare(arguments, method, precision):
    programs = {name: turns.Program(command, environment, arguments.threads)
                for name, command, environment in commands(arguments, method, precision)}
    for program in programs.values():
        program.run(arguments.warmup)
    for _ in range(arguments.rounds):
        for program in programs.values():
            program.measure(arguments.steps)
    result = {}
    for name, program in programs.items():
        program.end()
        result[name] = {"min_ms": round(1e3 * min(program.wall), 1),
                        "median_ms": round(1e3 * statistics.median(program.wall), 1),
                        "processor_ms": round(1e3 * min(program.used), 1), "tokens_per_s": round(512 / min(program.wall))}
        for figure in ("min", "median", "processor"):
            result[name][f"{figure}_ratio"] = round(result[name][f"{figure}_ms"] / result["ours"][f"{figure}_ms"], 2)
    return result


def compare_starts(arguments):
    """Seconds from start to the end of the first LoRA step, the shortest of three."""
    seconds = {}
    for _ in range(3):
        for name, command, environment in commands(arguments, "lora", "fp32"):
            if name.endswith("tuned"):
                continue
            begin = time.monotonic()
            program = turns.Program(command, environment, arguments.threads)
            program.run(1)
            seconds[name] = min(seconds.get(name, float("inf")), time.monotonic() - begin)
            program.end()
    return {name: {"start_s": round(value, 3), "ratio": round(value / seconds["ours"], 1)}
            for name, value in seconds.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench-step", default=str(ROOT / "build/release/bin/expc-llm-bench"))
    parser.add_argument("--python", type=pathlib.Path, default=ROOT / ".deps/bench/bin/python",
                        help="an interpreter with transformers and peft (tools/setup --bench)")
    parser.add_argument("--torchtune-python", type=pathlib.Path, default=ROOT / ".deps/bench-torchtune/bin/python",
                        help="one with torchtune")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3, help="in a row, in each round")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--no-start", action="store_true", help="leave out how long programs take to start")
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    if unknown := set(methods) - set(METHODS):
        parser.error(f"--methods takes some of {', '.join(METHODS)}; there is no {', '.join(sorted(unknown))}")
    rows = []
    print(f"{'method':>6} {'precision':>9} {'program':>18} {'min ms':>8} {'median':>8} {'tokens/s':>9} {'ratio':>6}"
          f" {'median':>7} {'processor':>10}")
    for method in methods:
        for precision in arguments.precisions.split(","):
            programs = compare(arguments, method, precision)
            rows.append({"method": method, "precision": precision, "programs": programs})
            for name, figures in programs.items():
                print(f"{method:>6} {precision:>9} {name:>18} {figures['min_ms']:>8} {figures['median_ms']:>8} "
                      f"{figures['tokens_per_s']:>9} {figures['min_ratio']:>6} {figures['median_ratio']:>7}"
                      f" {figures['processor_ratio']:>10}", flush=True)
    starts = {} if arguments.no_start else compare_starts(arguments)
    for name, figures in starts.items():
        print(f" start {'':>9} {name:>18} {1e3 * figures['start_s']:>8.0f} {'':>8} {'':>9} {figures['ratio']:>6}")
    print(json.dumps({"bench": "llm", "threads": arguments.threads, "rows": rows, "start": starts}))


if __name__ == "__main__":
    main()
