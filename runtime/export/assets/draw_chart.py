"""Draws one chart of a report as a picture.

usage: draw_chart.py FORMAT OUTPUT < SPECIFICATION
Exit code 3 where this Python has no vl_convert, 1 with a line on standard error where the picture cannot be made.
"""
import json
import pathlib
import sys


def main():
    try:
        import vl_convert
    except ImportError:
        sys.exit(3)
    kind, output = sys.argv[1:]
    specification = json.load(sys.stdin)
    draw = {
        "svg": lambda: vl_convert.vegalite_to_svg(specification).encode("utf-8"),
        "png": lambda: vl_convert.vegalite_to_png(specification, scale=2),
        "pdf": lambda: vl_convert.vegalite_to_pdf(specification),
    }[kind]
    try:
        pathlib.Path(output).write_bytes(draw())
    except (ValueError, OSError) as problem:
        sys.exit(str(problem).splitlines()[0] if str(problem) else "no picture was made")


main()
