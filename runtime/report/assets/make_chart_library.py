"""Writes the chart library (Vega, Vega-Lite, Vega-Embed) as one JavaScript file that needs no network.

usage: make_chart_library.py OUTPUT
vl-convert-python carries the sources. Without it the output is empty and the page says that its charts are missing.
"""
import pathlib
import sys


def main():
    try:
        import vl_convert
    except ImportError:
        print("report: no vl_convert in this Python; pages will have tables and no charts (run tools/setup)", file=sys.stderr)
        text = ""
    else:
        text = vl_convert.javascript_bundle()
    pathlib.Path(sys.argv[1]).write_text(text, encoding="utf-8")


main()
