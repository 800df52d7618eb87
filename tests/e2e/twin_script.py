#!/usr/bin/env python3
"""experiments/twins/torch_image.py and torchtune_tune.py without torch: they take what the twin studies plan, refuse what makes no sense in
one line, and write every metric that torch.exp and torchtune.exp read. Trials of them need torchvision and torchtune: `make twins`.

usage: twin_script.py --expc PATH
"""
import argparse
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPERIMENTS = ROOT / "experiments"
DIGITS = json.dumps({"mnist": [str(EXPERIMENTS / "data/digits")]})

REFUSED = [
    (["--data", DIGITS], "one of the arguments --steps --epochs is required"),
    (["--data", DIGITS, "--steps", "3", "--epochs", "1"], "not allowed with"),
    (["--data", DIGITS, "--steps", "0"], "--steps is 0, it must be above 0"),
    (["--data", '{"synthetic":[100]}', "--steps", "3"], "not synthetic"),
    (["--data", "digits", "--steps", "3"], 'not of the form {"mnist":["FOLDER"]}'),
    (["--data", '{"folder":["/nowhere"]}', "--steps", "3"], "there is no folder /nowhere"),
    (["--data", DIGITS, "--steps", "3", "--precision", "fp8"], "invalid choice: 'fp8'"),
    (["--data", DIGITS, "--steps", "3", "--transfer-dtype", "uint8"], "invalid choice: 'uint8'"),
    (["--data", DIGITS, "--steps", "3", "--loader", "dali", "--strategy", "ddp"], "--loader dali is for timed trials of ddp_ds"),
    (["--data", DIGITS, "--steps", "3", "--global-batch", "10", "--gpus", "4"], "--global-batch 10 is no multiple of 4 ranks"),
    (["--data", DIGITS, "--steps", "3", "--pin-memory", "yes"], "yes is neither true nor false"),
    (["--data", DIGITS, "--steps", "3", "--profile", "true", "--profiler", "nsys", "--gpus", "2"], "--profiler nsys is for one device"),
]


TEXTS = json.dumps({"folder": [str(EXPERIMENTS / "data/texts")]})
REFUSED_TUNING = [
    (["--data", TEXTS], "one of the arguments --steps --epochs is required"),
    (["--data", TEXTS, "--steps", "3", "--precision", "fp16"], "invalid choice: 'fp16'"),
    (["--data", TEXTS, "--steps", "3", "--model", "llama3_2_1b"], "invalid choice: 'llama3_2_1b'"),
    (["--data", TEXTS, "--steps", "3", "--method", "qlora", "--gpus", "2"], "--method qlora is for one device"),
    (["--data", TEXTS, "--steps", "3", "--tokenizer", '{"file":["/nowhere"]}'], "there is no file /nowhere"),
    (["--data", TEXTS, "--steps", "3", "--batch", "0"], "--batch is 0, it must be above 0"),
    (["--data", '{"synthetic":[100]}', "--steps", "3"], "not synthetic"),
    (["--data", '{"file":["/nowhere"]}', "--steps", "3"], "there is no file /nowhere"),
    (["--data", DIGITS.replace("mnist", "folder"), "--steps", "3"], "instruct.jsonl"),
]

# What each script is: its mistakes, the interpreter, options that must arrive as parameters, the file that writes metrics.
SCRIPTS = {
    "twins/torch_image.py": (REFUSED, ".deps/bench/bin/python", "size batch gpus precision layout strategy loader workers width",
                             "training.py"),
    "twins/torchtune_tune.py": (REFUSED_TUNING, ".deps/bench-torchtune/bin/python",
                                "method template batch precision rank model accumulation", "tuning.py"),
}


def script(path):
    name = pathlib.Path(path).stem
    spec = importlib.util.spec_from_file_location(name, EXPERIMENTS / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refused(parse, mistakes):
    for arguments, message in mistakes:
        told = io.StringIO()
        try:
            with contextlib.redirect_stderr(told):
                parse(["--out", "out.json", *arguments])
        except SystemExit as end:
            assert end.code == 2, (arguments, end.code)
        else:
            raise AssertionError(f"{arguments} is taken")
        assert message in told.getvalue(), (arguments, told.getvalue())


def text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return json.dumps({name: [str(EXPERIMENTS / part) for part in parts] for name, parts in value.items()})
    return value if isinstance(value, str) else repr(value)


def filled(template, values):
    """The arguments with their values; one without a value takes the option before it with it, as docs/layers/commands.md says."""
    arguments = []
    for argument in template:
        name = re.fullmatch(r"\$\{(\w+)\}(.*)", argument)
        if name and name[1] not in values:
            arguments.pop()
        else:
            arguments.append(values[name[1]] + name[2] if name else argument)
    return arguments


def watched():
    """What a trace gives, of one as torch's profiler writes it: two copies of 8 bytes to the device, a kernel, a collective."""
    module = vars(script("twins/watching.py"))
    call = lambda name, dur: {"cat": "cuda_runtime", "name": name, "dur": dur}  # noqa: E731
    copied = {"cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "dur": 5, "args": {"bytes": 8}}
    found = module["totals"]([call("cudaLaunchKernelExC", 3), call("cudaLaunchKernel", 1), call("cudaMemcpyAsync", 7), copied, copied,
                              {"cat": "kernel", "name": "sgemm", "dur": 40}, {"cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum", "dur": 9},
                              {"cat": "cpu_op", "name": "aten::mm", "dur": 99}, {"ph": "M"}])
    near = {name: round(value * 1e6) if name.endswith("time") else value for name, value in found.items() if value}
    assert near == {"api_time": 11, "launch_time": 4, "launch_count": 2, "memcpy_async_time": 7, "memcpy_htod_time": 10, "bytes_htod": 16,
                    "copies_htod": 2, "kernel_time": 40, "nccl_time": 9, "nccl_all_reduce_time": 9}, near
    assert module["is_sum"]("bytes_htod") and not module["is_sum"]("nccl_time")
    return set(found) | {"profiled_time"} | watched_by_nsys(module)


NSYS = """#!/bin/sh
# Does as nsys does, as far as a twin sees it: runs the command, and prints reports as CSV.
if [ $1 = profile ]; then
  shift
  while case $1 in --*) true;; *) false;; esac; do shift; done
  exec "$@"
fi
echo "Processing [nsys.sqlite] with [cuda_api_sum.py]... "
echo "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"
echo "60.0,3000,2,1500.0,1500.0,1000,2000,0.0,cudaLaunchKernel"
echo "20.0,1000,1,1000.0,1000.0,1000,1000,0.0,cudaLaunchKernelExC_v11060"
echo "20.0,5000,4,1250.0,1250.0,1000,2000,0.0,cudaEventDestroy"
echo "20.0,9000,4,1250.0,1250.0,1000,2000,0.0,cuLaunchKernel"
echo
echo "Processing [nsys.sqlite] with [cuda_gpu_kern_sum.py]... "
echo "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"
echo '90.0,40000,3,1.0,1.0,1,1,0.0,"void kernel<float, 4>(float *, int)"'
echo "10.0,6000,1,1.0,1.0,1,1,0.0,ncclDevKernel_AllReduce_Sum_f32_RING_LL"
echo
echo "SKIPPED: nsys.sqlite does not contain GPU memory data."
echo "Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation"
echo "100.0,7000,2,1.0,1.0,1,1,0.0,[CUDA memcpy Host-to-Device]"
"""


def watched_by_nsys(module):
    """What nsys counts is added to what the trial wrote; a trial that fails stays one."""
    with tempfile.TemporaryDirectory() as folder:
        program, out = pathlib.Path(folder) / "nsys", pathlib.Path(folder) / "out.json"
        program.write_text(NSYS)
        program.chmod(0o755)
        path, os.environ["PATH"] = os.environ["PATH"], f"{folder}:{os.environ['PATH']}"
        try:
            assert module["under_nsys"](["sh", "-c", f"echo '{{\"profiled_time\": 2}}' > {out}"], str(out)) == 0
            assert module["under_nsys"](["false"], str(out)) == 1
        finally:
            os.environ["PATH"] = path
        found = json.loads(out.read_text())
    near = {name: round(value * 1e9) if name.endswith("time") else value for name, value in found.items() if value}
    assert near == {"profiled_time": 2e9, "api_time": 9000, "launch_time": 4000, "launch_count": 3, "event_destroy_time": 5000, "kernel_time": 40000,
                    "nccl_time": 6000, "nccl_all_reduce_time": 6000, "memcpy_htod_time": 7000, "copies_htod": 2}, near
    return set(found)


def planned(expc, parsers, study):
    """Every point of Python's side with the settings of every kind of trial; how many that were."""
    preset = "quick" if "preset quick" in study.read_text() else "paper"
    result = subprocess.run([expc, "plan", str(study), "--preset", preset, "--system", "proxima", "--format", "json"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    plan = json.loads(result.stdout)
    settings = {"timed": {"steps": "3", "warmup": "1"}, "profile": {"steps": "3", "warmup": "1"}, "quality": {"epochs": "1"}}
    count = 0
    for point in plan["points"]:
        workload = plan["workloads"][point.get("workload", 0)]
        if "command" not in workload:
            continue
        parameters = {name: text(value) for name, value in point["parameters"].items()}
        if preset == "paper":  # what is not here to be read
            parameters.update(data=TEXTS, tokenizer="none")
        for kind in plan["design"]["kinds"]:
            values = {**parameters, "trial_folder": "/tmp", "seed": "18446744073709551615", **settings[kind["kind"]]}
            program, path, *arguments = filled(workload["command"]["arguments"], values)
            _, interpreter, names, writer = SCRIPTS[path]
            assert program.endswith(interpreter), (program, path)
            options = parsers[path](arguments)
            for name in names.split():
                if name in parameters and not (name == "batch" and getattr(options, "global_batch", 0)):
                    assert text(getattr(options, name)) == text(type(getattr(options, name))(parameters[name])), (name, parameters)
            assert (options.steps, options.epochs) == ((None, 1) if kind["kind"] == "quality" else (3, None))
            assert options.profile == (kind["kind"] == "profile"), study
            count += 1
        read = {metric["where"].lstrip("/") for metric in workload["command"]["metrics"]}
        written = set(re.findall(r'"(\w+)"', (EXPERIMENTS / "twins" / writer).read_text())) | watched()
        assert read and read <= written, read - written
    assert count, study
    return count


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--expc", required=True)
    expc = str(pathlib.Path(arguments.parse_args().expc).resolve())
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(EXPERIMENTS / "twins"))
    parsers = {path: script(path).parse for path in SCRIPTS}
    assert "torch" not in sys.modules
    for path, parse in parsers.items():
        refused(parse, SCRIPTS[path][0])
    studies = sorted(EXPERIMENTS.glob("twin_*.exp"))
    assert len(studies) >= 5, studies
    count = sum(planned(expc, parsers, study) for study in studies)
    print(f"{len(REFUSED) + len(REFUSED_TUNING)} mistakes are refused, {count} trials of {len(studies)} studies are taken")


if __name__ == "__main__":
    main()
