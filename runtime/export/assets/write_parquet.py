"""Makes a Parquet file of a table of `expc export`.

usage: write_parquet.py OUTPUT < TABLE   a line of JSON with the table's columns and what the file says of itself, then CSV
Exit code 3 where this Python has no pyarrow, 1 with a line on standard error where the file cannot be made.
"""
import json
import os
import sys


def end(problem=None):
    """Ends without the interpreter's own end: a thread of pyarrow's that has read ahead may still want the interpreter, and aborts then."""
    if problem:
        print(problem, file=sys.stderr, flush=True)
    os._exit(1 if problem else 0)


def main():
    try:
        import pyarrow
        from pyarrow import csv, parquet
    except ImportError:
        sys.exit(3)
    about = json.loads(sys.stdin.buffer.readline())
    types = {"text": pyarrow.utf8(), "integer": pyarrow.int64(), "real": pyarrow.float64(), "truth": pyarrow.bool_(),
             "time": pyarrow.timestamp("us", "UTC")}
    columns = about.pop("columns")
    schema = pyarrow.schema([pyarrow.field(column["name"], types[column["type"]], metadata={"what": column["what"]})
                             for column in columns], about)
    # An empty field is no value, an empty text is "".
    convert = csv.ConvertOptions(column_types=schema, null_values=[""], true_values=["true"], false_values=["false"],
                                 strings_can_be_null=True, quoted_strings_can_be_null=False)
    try:
        rows = csv.open_csv(sys.stdin.buffer, csv.ReadOptions(block_size=1 << 24), csv.ParseOptions(newlines_in_values=True), convert)
        with parquet.ParquetWriter(sys.argv[1], schema, compression="zstd") as file:
            for batch in rows:
                file.write_batch(pyarrow.RecordBatch.from_arrays(batch.columns, schema=schema))
    except (pyarrow.ArrowException, OSError) as problem:
        end(os.strerror(problem.errno) if getattr(problem, "errno", None) else str(problem).splitlines()[0])
    end()


main()
