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
import pathlib
import re
import subprocess
import sys

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
]


TEXTS = json.dumps({"folder": [str(EXPERIMENTS / "data/texts")]})
REFUSED_TUNING = [
    (["--data", TEXTS], "one of the arguments --steps --epochs is required"),
    (["--data", TEXTS, "--steps", "3", "--precision", "fp16"], "invalid choice: 'fp16'"),
    (["--data", TEXTS, "--steps", "3", "--model", "llama3_2_1b"], "invalid choice: 'llama3_2_1b'"),
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


def planned(expc, parsers, study):
    """Every point of Python's side with the settings of every kind of trial; how many that were."""
    result = subprocess.run([expc, "plan", str(study), "--preset", "quick", "--system", "proxima", "--format", "json"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    plan = json.loads(result.stdout)
    settings = {"timed": {"steps": "3", "warmup": "1"}, "quality": {"epochs": "1"}}
    count = 0
    for point in plan["points"]:
        workload = plan["workloads"][point.get("workload", 0)]
        if "command" not in workload:
            continue
        parameters = {name: text(value) for name, value in point["parameters"].items()}
        for kind in plan["design"]["kinds"]:
            values = {**parameters, "trial_folder": "/tmp", "seed": "18446744073709551615", **settings[kind["kind"]]}
            program, path, *arguments = filled(workload["command"]["arguments"], values)
            _, interpreter, names, writer = SCRIPTS[path]
            assert program.endswith(interpreter), (program, path)
            options = parsers[path](arguments)
            for name in names.split():
                if name in parameters and not (name == "batch" and getattr(options, "global_batch", 0)):
                    assert text(getattr(options, name)) == text(type(getattr(options, name))(parameters[name])), (name, parameters)
            assert (options.steps, options.epochs) == ((3, None) if kind["kind"] == "timed" else (None, 1))
            count += 1
        read = {metric["where"].lstrip("/") for metric in workload["command"]["metrics"]}
        written = set(re.findall(r'"(\w+)"', (EXPERIMENTS / "twins" / writer).read_text()))
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
