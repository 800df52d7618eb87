"""What the twins' scripts share: one trial's command line, and a start that loads torch only after the arguments were found good."""
import argparse
import importlib
import json
import os
import shutil
import sys

# What glibc must be told before a process starts, so that large activations are not given back to the system and faulted in again.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "1000000000000", "MALLOC_TOP_PAD_": "268435456",
               "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def source(*kinds):
    """The type of an option that takes the JSON which expc writes for a level with data: (kind, path), of one of `kinds`. That of
    kind `file` is a file, others are folders."""
    forms = " or ".join(f'{{"{kind}":["{"FILE" if kind == "file" else "FOLDER"}"]}}' for kind in kinds)

    def read(text):
        try:
            (kind, (path,)), = json.loads(text).items()
        except (ValueError, AttributeError, TypeError):
            raise argparse.ArgumentTypeError(f"{text} is not of the form {forms}")
        if kind not in kinds:
            raise argparse.ArgumentTypeError(f"the twin reads {' and '.join(f'{one}(…)' for one in kinds)}, not {kind}(…)")
        what, there = ("file", os.path.isfile) if kind == "file" else ("folder", os.path.isdir)
        if not there(path):
            raise argparse.ArgumentTypeError(f"there is no {what} {path}")
        return kind, path

    read.forms = forms
    return read


def switch(text):
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text} is neither true nor false")
    return text == "true"


def parser(description, data):
    """A parser with the options of every twin; `data` is a source()."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--out", required=True, help="the JSON file to write")
    result.add_argument("--data", required=True, type=data, help=data.forms)
    result.add_argument("--seed", type=int, default=0)
    length = result.add_mutually_exclusive_group(required=True)
    length.add_argument("--steps", type=int, help="timed trial: steps on the clock")
    length.add_argument("--epochs", type=int, help="quality trial: passes over the data")
    result.add_argument("--warmup", type=int, default=0, help="steps before the clock starts")
    result.add_argument("--profile", type=switch, default=False, help="whether torch's profiler watches the steps on the clock")
    result.add_argument("--profiler", choices=["torch", "nsys"], default="torch", help="whose profile: nsys has cudaEventDestroy, and is for one device")
    result.add_argument("--allocator", choices=["stock", "keep"], default="stock", help="keep: glibc keeps freed memory")
    return result


def sensible(parser, options, *names):
    """Counts that are given must be above 0, and nsys is asked for of what it can tell apart."""
    if options.profiler == "nsys" and options.gpus > 1:
        parser.error("--profiler nsys is for one device: it counts all processes together")
    for name in names:
        if (value := getattr(options, name)) is not None and value < 1:
            parser.error(f"--{name} is {value}, it must be above 0")


def start(options, process_start, module):
    """Runs the trial with `run(options)` of a module that loads torch: seconds. Starts the process anew where glibc is to keep memory."""
    if options.allocator == "keep" and "MALLOC_MMAP_MAX_" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP_MEMORY})
    options.process_start = process_start
    if options.profile and options.profiler == "nsys" and "EXPC_TWIN_WATCHED" not in os.environ:
        import watching

        if not shutil.which("nsys"):
            raise SystemExit("profiler nsys: there is no program nsys on PATH; it comes with NVIDIA's Nsight Systems")
        os.environ["EXPC_TWIN_WATCHED"] = "1"
        sys.exit(watching.under_nsys([sys.executable, *sys.argv], options.out))
    try:
        importlib.import_module(module).run(options)
    except Exception as error:  # torch's own class, which is not loaded here; of a rank it is in the text
        if "OutOfMemoryError" in f"{type(error).__name__} {error}" and "EXPC_OUT_OF_MEMORY" in os.environ:
            with open(os.environ["EXPC_OUT_OF_MEMORY"], "w", encoding="utf-8") as file:
                file.write(str(error).strip().splitlines()[-1])
        raise
