"""Fine-tuning by torchtune's own recipes: what std.llm's workload is compared with.

One trial: fills in the recipe's configuration, lets it train, and writes what its logger saw as JSON under the names of std.llm. On a GPU
if CUDA has one, else on the CPU. --steps makes it a timed trial, --epochs one of quality.
"""
import time

PROCESS_START = time.monotonic()  # one clock for all processes of a machine

import argparse
import json
import os
import sys

from torch_image import KEEP_MEMORY, switch

# width, layers, heads, heads of keys and values, width of the MLP, tokens: as in runtime/worker/llama/config.cpp. Those of Llama 3.2 tie
# their head to the embedding, which torchtune builds with another function.
MODELS = {"tiny": (256, 4, 8, 4, 1024, 8192), "llama3_8b": (4096, 32, 32, 8, 14336, 128256)}
FILES = {"instruct": "instruct.jsonl", "grammar": "grammar.csv", "summarize": "summarize.json"}


def rows(text):
    """The path of folder(…) or file(…), from the JSON that expc writes for a level with data."""
    try:
        (kind, (path,)), = json.loads(text).items()
    except (ValueError, AttributeError, TypeError):
        raise argparse.ArgumentTypeError(f"""{text} is not of the form {{"folder":["FOLDER"]}} or {{"file":["FILE"]}}""")
    if kind not in ("folder", "file"):
        raise argparse.ArgumentTypeError(f"the twin reads folder(…) and file(…), not {kind}(…)")
    if not (os.path.isdir(path) if kind == "folder" else os.path.isfile(path)):
        raise argparse.ArgumentTypeError(f"there is no {kind} {path}")
    return path


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="the JSON file to write")
    parser.add_argument("--data", required=True, type=rows, help='{"folder":["FOLDER"]} or {"file":["FILE"]}')
    parser.add_argument("--template", choices=sorted(FILES), default="instruct")
    parser.add_argument("--row-limit", type=int, default=0, help="rows that are used; 0 takes all")
    parser.add_argument("--seed", type=int, default=0)
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--steps", type=int, help="timed trial: steps on the clock")
    length.add_argument("--epochs", type=int, help="quality trial: passes over the rows")
    parser.add_argument("--warmup", type=int, default=0, help="steps before the clock starts")
    parser.add_argument("--method", choices=["full", "lora", "qlora", "qat", "dpo"], default="lora")
    parser.add_argument("--model", choices=sorted(MODELS), default="llama3_8b")
    parser.add_argument("--max-length", type=int, default=512)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="bf16", help="the recipes refuse others")
    parser.add_argument("--batch", type=int, default=2, help="rows, of dpo pairs, of one pass")
    parser.add_argument("--accumulation", type=int, default=1)
    parser.add_argument("--activation-checkpointing", type=switch, default=False)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--warmup-steps", type=int, default=100, help="in which the learning rate rises")
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--beta", type=float, default=0.1)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=16.0)
    parser.add_argument("--group-size", type=int, default=256)
    parser.add_argument("--allocator", choices=["stock", "keep"], default="stock", help="keep: glibc keeps freed memory")
    options = parser.parse_args(arguments)
    for name in ("batch", "accumulation", "steps", "epochs", "rank"):
        if (value := getattr(options, name)) is not None and value < 1:
            parser.error(f"--{name} is {value}, it must be above 0")
    if os.path.isdir(options.data):
        options.data = os.path.join(options.data, FILES[options.template])
        if not os.path.isfile(options.data):
            parser.error(f"--data: there is no {options.data}")
    return options


def main():
    options = parse(sys.argv[1:])
    if options.allocator == "keep" and "MALLOC_MMAP_MAX_" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP_MEMORY})
    options.process_start = PROCESS_START
    import tuning  # with torchtune: seconds, so after the arguments were found good
    tuning.run(options)


if __name__ == "__main__":
    main()
