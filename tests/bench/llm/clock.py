"""Answers each line of standard input, a number of steps, with a JSON array of [seconds, seconds of processor time]."""

import json
import sys
import time


def serve(step):
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start, used = time.perf_counter(), time.process_time()
            step()
            seconds.append([time.perf_counter() - start, time.process_time() - used])
        print(json.dumps(seconds), flush=True)
