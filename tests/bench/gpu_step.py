"""Counts what a training step costs the host of a GPU, on null cards: ours beside PyTorch's Python (MobileNetV2, batch 32, 224 px, NHWC) and
beside torchtune and transformers with peft (Llama 3 8B in bf16, two rows or pairs of 512 tokens). Nothing is computed, so no speed is seen
but the host's own: the floor of a step that is bound by launches. All programs of a row take turns; host time is processor time of the
threads that launch, of all rounds the median and the least (wall time has the null cards' own thread in it). Ratios are how many times as
much as ours the others take. Needs `make cuda` and `tools/setup --bench`.

usage: gpu_step.py [--worker build/release/bin/expc-worker-cuda] [--null-gpu build/release/lib/nullgpu] [--rows mobilenet_v2,lora,...]
"""

import argparse
import functools
import json
import pathlib
import statistics
import sys
import tempfile

import turns

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "null_gpu"), str(ROOT / "tests" / "conformance")]
import null_gpu  # noqa: E402
import ranks  # noqa: E402

ROWS = ("mobilenet_v2", "lora", "qlora", "dpo", "qat")
SIZES = {"width": 4096, "layers": 32, "heads": 32, "kv_heads": 8, "mlp_width": 14336, "vocabulary": 128256, "length": 512}
# More memory than any card has, so that what does not fit is counted too; contents are not kept.
CARD = {"cards": 1, "memory": "1000GiB", "drop": 1}
COLUMNS = (("host ms", "host_ms"), ("/ ours", "host_ratio"), ("least ms", "host_min_ms"), ("/ ours", "host_min_ratio"),
           ("launches", "launches"), ("waits", "synchronisations"), ("to card", "to_device"), ("from card", "from_device"),
           ("GiB", "allocated_gib"), ("/ ours", "allocated_ratio"), ("reserved", "reserved_gib"))


class Worker:
    """Our side: each turn is a rehearsed trial, whose start and first steps are not counted."""

    def __init__(self, server, said, precision, workload, parameters):
        self.server, self.said = server, said
        self.spec = null_gpu.on_cards(ranks.specification())
        self.spec |= {"workload": workload, "parameters": {"gpus": 1, "precision": precision, **parameters}, "rehearsal": True}
        self.warmup = 1

    def run(self, steps):
        self.spec["settings"] = {"steps": steps, "warmup": self.warmup}
        event = self.server.run(self.spec, timeout=600)[0]
        if event.get("event") != "result":
            sys.exit(f"gpu_step.py: {self.spec['workload']} {self.spec['parameters']}: {event.get('reason', event)}\n{self.said()[-2000:]}")
        return {"steps": event["rehearsed"]["steps"], **event["rehearsed"]["ranks"][0]}

    def end(self):
        pass


def peer(interpreter, script, environment, options):
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    return turns.Program([str(interpreter), str(HERE / script), "--device", "cuda", "--threads", "1", *words], environment, 1)


def image_programs(arguments, environment, ours, precision):
    parameters = {"data": {"synthetic": [512]}, "size": 224, "batch": 32, "layout": "nhwc", "pin_memory": True}
    for kernels in ("fused", "plain"):
        yield f"ours, {kernels}", ours("image.mobilenet_v2", {**parameters, "kernels": kernels})
    for mode in ("eager", "graphed", "compiled"):
        options = {"size": 224, "batch": 32, "precision": precision, "mode": mode}
        yield f"python, {mode}", peer(arguments.python, "training/step.py", environment, options)


def language_programs(arguments, environment, ours, method):
    parameters = {"method": method, "model": "llama3_8b", "data": {"file": [str(arguments.texts)]}, "max_length": SIZES["length"], "batch": 2}
    if method != "qat":
        parameters["targets"] = "qkvo_mlp"
    yield "ours", ours("llm.finetune", parameters)
    options = {"method": method, "precision": "bf16", "batch": 4 if method == "dpo" else 2, **SIZES}
    yield "torchtune", peer(arguments.torchtune_python, "llm/torchtune_step.py", environment, options)
    if method != "qat":
        yield "transformers", peer(arguments.python, "llm/transformers_step.py", environment, options)


def figures(turns_taken):
    """Of one step. Counts are those of the last round, when nothing is new any more."""
    last = turns_taken[-1]
    count = last["steps"]
    host = [1e3 * turn["host_seconds"] / turn["steps"] for turn in turns_taken]
    result = {"host_ms": round(statistics.median(host), 2), "host_min_ms": round(min(host), 2)}
    result |= {name: round(last[name] / count, 1) for name in ("launches", "synchronisations")}
    for name in ("to_device", "from_device", "within_devices"):
        result[name] = [round(last[name][kind] / count, 1) for kind in ("calls", "bytes")]
    for name in ("allocated", "reserved"):
        result[f"{name}_gib"] = round(last[f"device_memory_{name}"] / 2**30, 2)
    return result


def compare(made, arguments, steps):
    programs = dict(made)
    for program in programs.values():
        program.run(arguments.warmup)
    taken = {name: [] for name in programs}
    for _ in range(arguments.rounds):
        for name, program in programs.items():
            taken[name].append(program.run(steps))
    for program in programs.values():
        program.end()
    result = {name: figures(each) for name, each in taken.items()}
    first = next(iter(result.values()))
    for row in result.values():
        for ratio, figure in (("host_ratio", "host_ms"), ("host_min_ratio", "host_min_ms"), ("allocated_ratio", "allocated_gib")):
            row[ratio] = round(row[figure] / first[figure], 2)
    return result


def cell(value):
    return f"{value[0]:g}x{value[1]:.3g} B" if isinstance(value, list) else str(value)


def write_texts(path):
    """Rows of more bytes than a row has tokens, each byte a token, so that all rows are as long as those of the others."""
    with path.open("w") as file:
        for number in range(16):
            json.dump({"instruction": f"Say {number}.", "input": "", "output": f"{number} " * SIZES["length"]}, file)
            file.write("\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker", default=str(ROOT / "build/release/bin/expc-worker-cuda"))
    parser.add_argument("--null-gpu", default=str(ROOT / "build/release/lib/nullgpu"))
    parser.add_argument("--python", type=pathlib.Path, default=ROOT / ".deps/bench/bin/python",
                        help="an interpreter with torchvision, transformers, peft and bitsandbytes (tools/setup --bench)")
    parser.add_argument("--torchtune-python", type=pathlib.Path, default=ROOT / ".deps/bench-torchtune/bin/python")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--image-steps", type=int, default=50, help="in a row, in each round")
    parser.add_argument("--steps", type=int, default=8, help="the same of Llama")
    parser.add_argument("--warmup", type=int, default=5)
    arguments = parser.parse_args()
    wanted = arguments.rows.split(",")
    if unknown := set(wanted) - set(ROWS):
        parser.error(f"--rows takes some of {', '.join(ROWS)}; there is no {', '.join(sorted(unknown))}")
    environment = null_gpu.environment(arguments.null_gpu, **CARD) | {"PYTHONWARNINGS": "ignore"}
    rows = []
    with tempfile.TemporaryDirectory() as folder, null_gpu.server(arguments.worker, arguments.null_gpu, **CARD) as (server, said):
        arguments.texts = pathlib.Path(folder) / "rows.jsonl"
        write_texts(arguments.texts)
        print(f"{'':>13} {'':>5} {'program':>16}", *(f"{title:>15}" for title, _ in COLUMNS))
        for name in wanted:
            for precision in ("fp32", "bf16") if name == "mobilenet_v2" else ("bf16",):
                ours = functools.partial(Worker, server, said, precision)
                if name == "mobilenet_v2":
                    result = compare(image_programs(arguments, environment, ours, precision), arguments, arguments.image_steps)
                else:
                    result = compare(language_programs(arguments, environment, ours, name), arguments, arguments.steps)
                rows.append({"row": name, "precision": precision, "programs": result})
                for program, figure in result.items():
                    print(f"{name:>13} {precision:>5} {program:>16}", *(f"{cell(figure[key]):>15}" for _, key in COLUMNS), flush=True)
    print(json.dumps({"bench": "gpu_step", "rows": rows}))


if __name__ == "__main__":
    main()
