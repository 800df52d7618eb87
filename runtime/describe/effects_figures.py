#!/usr/bin/env python3
"""Draws the times of effects_test.cpp, and prints what statsmodels makes of them (pip install statsmodels pandas)."""
import numpy
import pandas
import statsmodels.api
import statsmodels.formula.api

rng = numpy.random.default_rng(3)
rows = []
for block in range(8):
    drift = rng.normal(0, 0.1)
    for i, precision in enumerate(["fp64", "fp32", "bf16"]):
        for j, gpus in enumerate(["1", "2"]):
            log = drift + [0.5, 0, -0.3][i] + [0.2, -0.2][j] + 0.05 * i * j + rng.normal(0, 0.02)
            rows.append((block, precision, gpus, round(float(numpy.exp(log)), 6)))
data = pandas.DataFrame(rows, columns=["block", "precision", "gpus", "time"])
data["log"] = numpy.log(data.time)
model = statsmodels.formula.api.ols("log ~ C(block, Sum) + C(precision, Sum) * C(gpus, Sum)", data).fit()
squares = statsmodels.api.stats.anova_lm(model, typ=2)["sum_sq"]
print(data.time.tolist())
print((squares / squares.sum()).to_dict())
print(model.params.to_dict(), numpy.exp(model.params["Intercept"]))
