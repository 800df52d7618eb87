"""Writes the texts of a Parquet file as lines of JSON, an object a row.

usage: parquet_texts.py FILE LINES MOST   of the first MOST rows, 0: of all; cells without a value, or of another type, are left out
Exit code 3 where this Python has no pyarrow, 1 with a line on standard error where the file cannot be read.
"""
import json
import os
import sys


def text(cell, row):
    try:
        return cell.as_py()
    except UnicodeDecodeError:
        sys.exit(f"row {row}: not UTF-8")


def main():
    try:
        import pyarrow
        from pyarrow import parquet, types
    except ImportError:
        sys.exit(3)
    most, row = int(sys.argv[3]), 0
    try:
        with open(sys.argv[2], "w", encoding="utf-8") as lines:
            for batch in parquet.ParquetFile(sys.argv[1]).iter_batches():
                columns = [(field.name, batch.column(i)) for i, field in enumerate(batch.schema)
                           if types.is_string(field.type) or types.is_large_string(field.type)]
                for at in range(batch.num_rows):
                    if most and row == most:
                        return
                    row += 1
                    cells = ((name, column[at]) for name, column in columns)
                    lines.write(json.dumps({name: text(cell, row) for name, cell in cells if cell.is_valid}) + "\n")
    except (pyarrow.ArrowException, OSError) as problem:
        sys.exit(os.strerror(problem.errno) if getattr(problem, "errno", None) else str(problem).splitlines()[0])


main()
