"""Times a command as a whole, with all its processes."""

import os
import subprocess
import tempfile
import time


def timed(command, allowed=(0,), **options):
    """Wall seconds, processor seconds, and the most memory of one of its processes in MiB.

    Nothing runs beside it, since whoever looks takes time from it. Another exit code than those allowed ends this program."""
    words = list(map(str, command))
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        begin = time.perf_counter()
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=errors, **options)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in allowed:
            errors.seek(0)
            raise SystemExit(f"{' '.join(words)} ended with {process.returncode}:\n{errors.read()[-2000:]}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
