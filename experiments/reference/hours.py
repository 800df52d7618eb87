#!/usr/bin/env python3
"""Node hours of the studies' presets, one trial after the other, from the times that the reference study printed. Nothing is measured.

Images: an epoch of table 2 (table 3 for page-locked memory), by pixels. Language models: a step of table 5, by the tokens of a set. Four numbers are ours:
a start takes 20 s, drawing or reading 8B weights a minute, reading 60,000 images of 300 px as tensors 35 s (printed), and DPO, QLoRA, QAT and full
tuning take 1.5, 2, 2.5 and 2 times a step of LoRA (printed is the order, and 1.5 for DPO).

usage: hours.py [--expc PATH] [--preset paper]… [STUDY...]     all studies with that preset without names
"""
import argparse
import csv
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
START, WEIGHTS, READ, ROWS, IMAGES, TEST = 20, 60, 35, 51760, 60000, 10000
METHOD = {"lora": 1, "dpo": 1.5, "qlora": 2, "qat": 2.5, "full": 2}


def table(name, *keys):
    return {tuple(row[key] for key in keys): row for row in csv.DictReader((HERE / name).open())}


PRECISION, PINNED = table("precision.csv", "gpus", "precision"), table("pin_memory.csv", "gpus", "pin_memory")
LORA, SETS = table("lora_pin_memory.csv", "gpus", "pin_memory"), table("datasets.csv", "template")
TEMPLATE = {"grammar": "grammar_error_correction"}


def tokens(template):
    return int(SETS[TEMPLATE.get(template, template),]["subset_tokens"])


def image(settings, point):
    """Seconds of a trial."""
    gpus = min(point["gpus"], 4)
    row = PINNED[str(gpus), "true"] if point.get("pin_memory") else PRECISION[str(gpus), {"bf16": "fp16", "tf32": "fp32"}.get(point["precision"], point["precision"])]
    epoch = float(row["total_time_s"]) / 20 * (point["size"] / 300) ** 2
    batch = point.get("global_batch") or point["batch"] * gpus
    epochs = settings["epochs"] if "epochs" in settings else (settings["steps"] + settings.get("warmup", 0)) * batch / IMAGES
    preload = READ * (point["size"] / 300) ** 2 * (1 + TEST / IMAGES) if point.get("preload") else 0
    return START + preload + epochs * epoch


def text(settings, point):
    gpus = min(point["gpus"], 4)
    step = float(LORA[str(gpus), str(bool(point.get("pin_memory"))).lower()]["iteration_time_s"])
    step *= METHOD[point["method"]] * tokens(point["template"]) / tokens("instruct")
    steps = settings["epochs"] * (point["row_limit"] or ROWS) / (2 * gpus) if "epochs" in settings else settings["steps"] + settings.get("warmup", 0)
    return START + WEIGHTS + steps * step


def plan(expc, study, presets):
    done = subprocess.run([expc, "plan", HERE.parent / f"{study}.exp", *(word for preset in presets for word in ("--preset", preset)), "--system", "proxima", "--format", "json"],
                          capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def takes(plan):
    """Mean seconds of a trial of each kind: what the studies' designs state (`takes`), and `expc plan` adds up."""
    seconds = image if "mobilenet" in plan["workloads"][0]["name"] else text
    points = [{"pin_memory": False, "template": "instruct", "row_limit": 0, **point["parameters"]} for point in plan["points"] if not point.get("unavailable")]
    return {kind["kind"]: sum(seconds(kind["settings"], point) for point in points) / len(points) for kind in plan["design"]["kinds"]}


def stated(plan):
    """Hours of all trials, as the design states how long each takes; nothing if it does not."""
    points = sum(not point.get("unavailable") for point in plan["points"])
    return sum(kind.get("takes_seconds", 0) * kind["repeat"] for kind in plan["design"]["kinds"]) * points / 3600


def hours(plan):
    points = sum(not point.get("unavailable") for point in plan["points"])
    return sum(kind["repeat"] * takes(plan)[kind["kind"]] for kind in plan["design"]["kinds"]) * points / 3600


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("studies", nargs="*")
    arguments.add_argument("--expc", default="expc")
    arguments.add_argument("--preset", action="append", default=[], help="one or several; paper without any")
    options = arguments.parse_args()
    total = 0
    for study in options.studies or sorted(file.stem for file in HERE.parent.glob("*.exp")):
        if found := plan(options.expc, study, options.preset or ["paper"]):
            total += (each := hours(found))
            means = ", ".join(f"{kind} takes {seconds:.0f}s" for kind, seconds in takes(found).items())
            print(f"{study:26} {len(found['points']):3} points {each:6.1f} h of {found['design'].get('budget_seconds', 0) / 3600:.0f} h: {means}")
    print(f"{'all':37} {total:6.1f} h")


if __name__ == "__main__":
    main()
