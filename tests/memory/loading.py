#!/usr/bin/env python3
"""What a rank's host holds at most while a trial of llm.finetune loads its model and makes a step, on null cards: one rank of four
with a part of the weights (fsdp), beside one that needs all of them (ddp). Prints a row for each program.

    tests/memory/loading.py NULL_GPU_FOLDER EXPC_WORKER_CUDA [EXPC_WORKER_CUDA...]
    … --model llama3_2_1b --method lora --precision bf16 --ranks 2      another trial
    … --folder models/mine                                              weights that are read, not drawn
    … --rehearsal                                                       neither

Copies to cards arrive without their content, so that what is measured is the host's own. A program of another build may stand beside
this one's.
"""
import argparse
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "null_gpu"))
import null_gpu  # noqa: E402
import ranks  # noqa: E402
from server import Server  # noqa: E402


def trial(options, sharding):
    model = {"folder": [str(pathlib.Path(options.folder).resolve())]} if options.folder else options.model
    values = {"model": model, "data": {"synthetic": [64]}, "template": "grammar", "max_length": 64, "batch": 1, "gpus": options.ranks,
              "method": options.method, "precision": options.precision, "sharding": sharding}
    spec = null_gpu.on_cards(ranks.specification("timed", options.ranks, {"steps": 1, "warmup": 1},
                                                   [] if options.rehearsal else ["host_memory_peak"]))
    return dict(spec, workload="llm.finetune", parameters=values, **({"rehearsal": True} if options.rehearsal else {}))


def measured(worker, folder, spec):
    """Bytes of the rank with most, and seconds of the whole trial."""
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        variables = null_gpu.environment(folder, drop="64KiB", memory="256GiB") | {"OMP_NUM_THREADS": "1"}
        server = Server(worker, log, variables)
        begin = time.monotonic()
        try:
            last = server.run(spec, timeout=1700)[0]
        finally:
            server.close()
        if last.get("event") != "result":
            log.seek(0)
            sys.exit(f"{worker}: {last}\n{log.read()[-2000:]}")
    rehearsed = last.get("rehearsed")
    peak = max(rank["host_memory"] for rank in rehearsed["ranks"]) if rehearsed else last["metrics"]["host_memory_peak"]
    return peak, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("null_gpus")
    parser.add_argument("workers", nargs="+")
    parser.add_argument("--model", default="llama3_8b")
    parser.add_argument("--folder", default="")
    parser.add_argument("--method", default="full")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--sharding", type=lambda text: text.split(","), default=["fsdp", "ddp"])
    parser.add_argument("--rehearsal", action="store_true")
    options = parser.parse_args()
    print("| program | weights | host memory of a rank | whole trial |\n| --- | --- | --- | --- |")
    for number, worker in enumerate(options.workers):
        for sharding in options.sharding:
            peak, seconds = measured(worker, options.null_gpus, trial(options, sharding))
            print(f"| {number + 1} | {sharding} | {peak / 1e9:.2f} GB | {seconds:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
