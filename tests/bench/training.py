"""Times training steps of MobileNetV2 (width 1, 10 classes, SGD with momentum, no loading) in ours and in PyTorch's Python:
as it is, and with an allocator that keeps freed memory and uses huge pages. The programs stay up and take turns, so
that what else the machine does meets all of them. Beside a lower precision runs our fp32. Prints a table and one JSON
line; ratios are how many times as long as ours the others take, of the shortest steps, of the medians and of processor
time (which counts OpenMP's waiting: of use with --threads 1, on a machine that others use).

usage: training.py [--bench-step build/release/bin/expc-training-bench] [--sizes 100,224] [--precisions fp32,bf16]
"""

import argparse
import json
import pathlib
import statistics

import turns

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = ("fused", "fused_fp32", "plain", "python", "python_tuned")


def compare(arguments, size, precision):
    options = ["--size", size, "--precision", precision, "--threads", arguments.threads, "--batch", arguments.batch,
               "--layout", arguments.layout]
    options = [str(option) for option in options]
    python = [str(arguments.python), str(HERE / "training" / "step.py"), *options]
    commands = {"fused": ([arguments.bench_step, *options, "--kernels", "fused"], {}),
                "fused_fp32": ([arguments.bench_step, *options, "--kernels", "fused", "--precision", "fp32"], {}),
                "plain": ([arguments.bench_step, *options, "--kernels", "plain"], {}),
                "python": (python, {}),
                "python_tuned": (python, turns.TUNED)}
    names = [name for name in arguments.only if name != "fused_fp32" or precision != "fp32"]
    programs = {name: turns.Program(*commands[name], arguments.threads) for name in names}
    for program in programs.values():
        program.run(arguments.warmup)
    for _ in range(arguments.rounds):
        for program in programs.values():
            program.measure(arguments.steps)
    result = {"size": size, "precision": precision}
    for name, program in programs.items():
        program.end()
        result[name] = {"min_ms": round(1e3 * min(program.wall), 1),
                        "median_ms": round(1e3 * statistics.median(program.wall), 1),
                        "processor_ms": round(1e3 * min(program.used), 1),
                        "images_per_s": round(arguments.batch / min(program.wall), 1)}
    for peer in names[1:]:
        for figure in ("min", "median", "processor"):
            result[peer][f"{figure}_ratio"] = round(result[peer][f"{figure}_ms"] / result[names[0]][f"{figure}_ms"], 2)
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench-step", default=str(ROOT / "build/release/bin/expc-training-bench"))
    parser.add_argument("--python", type=pathlib.Path, default=ROOT / ".deps/bench/bin/python",
                        help="an interpreter with torch and torchvision (tools/setup --bench)")
    parser.add_argument("--sizes", default="100,224")
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--layout", default="nhwc")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3, help="in a row, in each round")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--only", default=",".join(PROGRAMS), help="what to run; the others are compared with the first")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(PROGRAMS):
        parser.error(f"--only takes some of {', '.join(PROGRAMS)}; there is no {', '.join(sorted(unknown))}")
    rows = []
    print(f"{'size':>5} {'precision':>9} {'program':>13} {'min ms':>8} {'median':>8} {'images/s':>9} {'ratio':>6} {'median':>7}"
          f" {'processor':>10}")
    for size in [int(size) for size in arguments.sizes.split(",")]:
        for precision in arguments.precisions.split(","):
            row = compare(arguments, size, precision)
            rows.append(row)
            for name, figures in row.items():
                if not isinstance(figures, dict):
                    continue
                print(f"{size:>5} {precision:>9} {name:>13} {figures['min_ms']:>8} {figures['median_ms']:>8} "
                      f"{figures['images_per_s']:>9} {figures.get('min_ratio', ''):>6} {figures.get('median_ratio', ''):>7}"
                      f" {figures.get('processor_ratio', ''):>10}", flush=True)
    print(json.dumps({"bench": "training", "batch": arguments.batch, "threads": arguments.threads,
                      "layout": arguments.layout, "rows": rows}))


if __name__ == "__main__":
    main()
