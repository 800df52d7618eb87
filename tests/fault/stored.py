"""What a results folder holds now, as `expc store export` writes it: beside a live run, and as a kill left it."""
import contextlib
import json
import pathlib
import sqlite3
import subprocess
import tempfile
import zlib


def rows(expc, results, sql, values=()):
    """The rows of a query; None where nothing was ever measured."""
    with tempfile.TemporaryDirectory(prefix="expc-stored-") as folder:
        file = f"{folder}/stored.sqlite"
        done = subprocess.run([expc, "store", "export", file, "--results", str(results)], capture_output=True, text=True, timeout=120)
        if done.returncode != 0 and "no results in" in done.stderr:
            return None
        assert done.returncode == 0, done.stderr
        with contextlib.closing(sqlite3.connect(file)) as database:
            return database.execute(sql, values).fetchall()


def append(results, entry):
    """Adds a line to the newest journal, as the engine would. One whose engine was killed before its first line is none yet."""
    journal = max(path for path in pathlib.Path(results, "journal").glob("*.jsonl") if path.stat().st_size > 0)
    text = json.dumps(entry, separators=(",", ":"), sort_keys=True)[:-1]
    with journal.open("a") as out:
        out.write(f'{text},"sum":"{zlib.crc32(text.encode()):08x}"}}\n')
