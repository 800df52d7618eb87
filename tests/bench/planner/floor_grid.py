#!/usr/bin/env python3
"""The floor of planners in Python: itertools.product, a dict, an id and a JSON line for each point. usage: floor_grid.py POINTS"""
import itertools
import sys

import grid


def main():
    points = int(sys.argv[1])
    meter = grid.Meter()
    names = ("model", "data", "optim", "seed", "rate")
    done = 0
    for levels in itertools.product(grid.MODELS, grid.SOURCES, grid.OPTIMIZERS, grid.SEEDS, grid.rates(points)):
        grid.write_line(sys.stdout, {**grid.DEFAULTS, **dict(zip(names, levels))})
        done += 1
    meter.report(done)


if __name__ == "__main__":
    main()
