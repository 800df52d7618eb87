#!/usr/bin/env python3
"""JUBE: reads the benchmark's XML and expands its parameter set, in process; no work package is made and nothing runs.

usage: jube_grid.py POINTS FOLDER      writes FOLDER/jube.xml
"""
import pathlib
import sys

sys.path.insert(0, "/usr/lib/python3/dist-packages")
import jube2.conf  # noqa: E402
import jube2.jubeio  # noqa: E402

import grid  # noqa: E402


def benchmark(points, folder):
    def parameter(name, values, kind="string"):
        return f'<parameter name="{name}" type="{kind}">{",".join(map(str, values))}</parameter>'

    lines = [parameter("model", grid.MODELS), parameter("data", grid.SOURCES), parameter("optim", grid.OPTIMIZERS),
             parameter("seed", grid.SEEDS, "int"), parameter("rate", grid.rates(points), "int")]
    lines += [parameter(name, [value]) for name, value in grid.DEFAULTS.items()]
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<jube><benchmark name="grid" outpath="{folder}/out">\n'
            f'<parameterset name="grid">\n' + "\n".join(lines) + '\n</parameterset>\n'
            '<step name="run"><use>grid</use><do>echo ${model} ${data} ${optim} ${seed} ${rate}</do></step>\n</benchmark></jube>\n')


def main():
    points, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    file = folder / "jube.xml"
    file.write_text(benchmark(points, folder))
    jube2.conf.HIDE_ANIMATIONS = True
    reader = getattr(jube2.jubeio, "Parser", None) or jube2.jubeio.XMLParser
    meter = grid.Meter()
    benchmarks = reader(str(file)).benchmarks_from_xml()[0]
    template = next(iter(benchmarks.values())).parametersets["grid"]
    done = 0
    for point in template.expand_templates():
        grid.write_line(sys.stdout, {parameter.name: parameter.value for parameter in point})
        done += 1
    assert done == points, done
    meter.report(done)


if __name__ == "__main__":
    main()
