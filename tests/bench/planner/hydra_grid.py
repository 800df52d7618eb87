#!/usr/bin/env python3
"""Hydra: its sweeper expands the overrides of all points, then each point's configuration is composed, as a multirun does before its
first job. Composing takes long, so it stops after SECONDS and says how many points it composed.

usage: hydra_grid.py POINTS SECONDS
"""
import pathlib
import sys
import time

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

import grid


def main():
    points, limit = int(sys.argv[1]), float(sys.argv[2])
    rates = grid.rates(points)
    overrides = ["model=" + ",".join(grid.MODELS), "data=" + ",".join(grid.SOURCES), "optim=" + ",".join(grid.OPTIMIZERS),
                 f"seed=range(0,{len(grid.SEEDS)})", f"rate=range({rates.start},{rates.stop})"]
    if len(rates) == 1:
        overrides[-1] = "rate=1"
    meter = grid.Meter()
    parsed = OverridesParser.create().parse_overrides(overrides)
    jobs = BasicSweeper.split_arguments(parsed, max_batch_size=None)[0]
    expanded = time.perf_counter() - meter.begin
    assert len(jobs) == points, len(jobs)
    step = max(1, points // 1000)  # a sample from the whole grid
    done, begin = 0, time.perf_counter()
    with initialize_config_dir(config_dir=str(pathlib.Path(__file__).parent.resolve() / "conf"), version_base=None):
        for job in jobs[::step]:
            grid.write_line(sys.stdout, OmegaConf.to_container(compose("config", overrides=list(job)), resolve=True))
            done += 1
            if time.perf_counter() - begin > limit:
                break
    composed = time.perf_counter() - begin
    meter.report(points, expand_seconds=expanded, composed=done, compose_seconds=composed)


if __name__ == "__main__":
    main()
