"""Fine-tuning by torchtune's own recipes: what std.llm's workload is compared with.

One trial: fills in the recipe's configuration, lets it train, and writes what its logger saw as JSON under the names of std.llm. On a GPU
if CUDA has one, else on the CPU. --steps makes it a timed trial, with --profile one of a profile, --epochs one of quality.
"""
import time

PROCESS_START = time.monotonic()  # one clock for all processes of a machine

import os
import sys

import arguments

# width, layers, heads, heads of keys and values, width of the MLP, tokens: as in runtime/data/model/llama.cpp. Those of Llama 3.2 tie
# their head to the embedding, which torchtune builds with another function.
MODELS = {"tiny": (256, 4, 8, 4, 1024, 8192), "llama3_8b": (4096, 32, 32, 8, 14336, 128256)}
FILES = {"instruct": "instruct.jsonl", "grammar": "grammar.csv", "summarize": "summarize.json"}


def vocabulary(text):
    return None if text == "none" else arguments.source("file")(text)[1]


def parse(words):
    parser = arguments.parser(__doc__, arguments.source("folder", "file"))
    parser.add_argument("--template", choices=sorted(FILES), default="instruct")
    parser.add_argument("--row-limit", type=int, default=0, help="rows that are used; 0 takes all")
    parser.add_argument("--method", choices=["full", "lora", "qlora", "qat", "dpo"], default="lora")
    parser.add_argument("--model", choices=sorted(MODELS), default="llama3_8b")
    parser.add_argument("--max-length", type=int, default=512)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="bf16", help="the recipes refuse others")
    parser.add_argument("--gpus", type=int, default=1, help="ranks")
    parser.add_argument("--pin-memory", type=arguments.switch, default=False)
    parser.add_argument("--tokenizer", type=vocabulary, default=None, help='none or {"file":["FILE"]}')
    parser.add_argument("--batch", type=int, default=2, help="rows, of dpo pairs, of one pass")
    parser.add_argument("--accumulation", type=int, default=1)
    parser.add_argument("--activation-checkpointing", type=arguments.switch, default=False)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--warmup-steps", type=int, default=100, help="in which the learning rate rises")
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--beta", type=float, default=0.1)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=16.0)
    parser.add_argument("--group-size", type=int, default=256)
    options = parser.parse_args(words)
    arguments.sensible(parser, options, "batch", "accumulation", "steps", "epochs", "rank", "gpus")
    if options.method == "qlora" and options.gpus > 1:
        parser.error("--method qlora is for one device, as torchtune's recipe is")
    kind, options.data = options.data
    if kind == "folder":
        options.data = os.path.join(options.data, FILES[options.template])
        if not os.path.isfile(options.data):
            parser.error(f"--data: there is no {options.data}")
    return options


if __name__ == "__main__":
    arguments.start(parse(sys.argv[1:]), PROCESS_START, "tuning")
