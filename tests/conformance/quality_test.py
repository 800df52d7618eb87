#!/usr/bin/env python3
"""The quick preset's quality trials must learn: at least 90 % of the test digits in every configuration.

usage: quality_test.py EXPC_WORKER
"""
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import ranks  # noqa: E402

# As the preset `quick` of experiments/precision.exp sets them.
SETTINGS = {"epochs": 7}
PARAMETERS = {"size": 32, "width": 0.5, "batch": 32, "layout": "nhwc", "optimizer": "sgd", "learning_rate": 0.02,
              "schedule": "cosine"}


def main():
    failed = False
    # The rest of the grid lies between these: fp64 trains as fp32 does, and one rank makes twice as many updates as two.
    for precision in ("fp32", "bf16"):
        for count in (2,) if precision == "bf16" else (1, 2):
            spec = ranks.specification("quality", count, SETTINGS, precision=precision, metrics=["accuracy", "loss", "epoch_loss"], **PARAMETERS)
            event = ranks.result(sys.argv[1], spec, timeout=500)
            accuracy, losses, means = event["metrics"]["accuracy"], event["series"]["loss"], event["series"]["epoch_loss"]
            steps = len(losses) // SETTINGS["epochs"]
            assert len(means) == SETTINGS["epochs"] and abs(means[1] - statistics.fmean(losses[steps:2 * steps])) < 1e-9, means
            print(f"{precision}, {count} ranks: {accuracy:.1%}", flush=True)
            failed |= accuracy < 0.9
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
