"""Programs that stay up and take turns, so that what else the machine does meets all that are compared."""

import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# glibc then keeps freed memory and asks for huge pages.
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "1000000000000", "MALLOC_TOP_PAD_": "268435456",
         "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


class Program:
    """One of the programs that are compared, waiting for the number of steps to do."""

    def __init__(self, command, environment, threads):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(HERE), **environment})
        self.wall, self.used = [], []

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{sys.argv[0]}: {' '.join(map(str, self.process.args))} ended with {self.process.wait()}")
        return json.loads(answer)

    def measure(self, steps):
        for wall, used in self.run(steps):
            self.wall.append(wall)
            self.used.append(used)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def serve(step, device="cpu"):
    """The other side: answers each line of standard input, a number of steps, with a JSON array of [seconds, seconds of
    processor time]; on null cards with what `null_counters.counted` says of them."""
    if device == "cuda":
        import null_counters
    for line in sys.stdin:
        count = int(line)
        answer = [clocked(step) for _ in range(count)] if device == "cpu" else null_counters.counted(step, count)
        print(json.dumps(answer), flush=True)


def clocked(step):
    start, used = time.perf_counter(), time.process_time()
    step()
    return [time.perf_counter() - start, time.process_time() - used]
