"""Makes a training script a trial of a study: parameters from expc, measured steps and metrics to it.

    import expc
    t = expc.trial(lr=0.1, batch=32)          # values for runs without expc
    for batch in t.steps(loader):             # warms up, measures, stops when the trial has its steps
        loss = train(batch, t.parameters.lr)
        t.metric(loss=loss)                   # `metric loss : float lower series from trial`

Without expc a trial has the values above, `steps` is the loader itself, and `metric` does nothing. With expc the
worker passes a request in EXPC_TRIAL_REQUEST, and the trial writes a file of JSON lines when the process ends. No call
waits for a GPU: its times are taken with CUDA events and its tensors are kept there, and both are read at the end.

All ranks take the same number of steps, and each reports. A process whose RANK is not 0 writes its last values into a
file of its own, expc-trial.RANK.jsonl, from which the worker makes metrics over ranks.
"""
import atexit
import difflib
import json
import math
import os
import sys
import time
import warnings

__all__ = ["Trial", "trial"]

_now = time.perf_counter_ns
_MOST_TENSORS, _MOST_EVENTS = 4096, 32768  # that are kept one by one; reading two events takes as long as recording one
_the_trial = None


def trial(**defaults):
    """The trial of this process. `defaults`: parameters for runs without expc, and for those that the study lacks."""
    global _the_trial
    if _the_trial is None:
        _the_trial = Trial(json.loads(os.environ.get("EXPC_TRIAL_REQUEST", "null")))
        atexit.register(_the_trial.close)
    for name, value in defaults.items():
        _the_trial.parameters.setdefault(name, value)
    return _the_trial


class _Parameters(dict):
    """Parameters by key and by attribute."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            known = ", ".join(sorted(self)) or "none"
            near = difflib.get_close_matches(name, self, 1)
            way = f"did you mean '{near[0]}'?" if near else f"give a value for runs without it: expc.trial({name}=…)"
            raise AttributeError(f"the trial has no parameter '{name}' (it has {known}); {way}") from None


class Trial:
    """One trial. `kind` is "timed", "quality" or "profile", and None without expc; `seed` that of the block, 0 without expc."""

    def __init__(self, request=None):
        request = request or {}
        settings = request.get("settings", {})
        self.parameters = _Parameters(request.get("parameters", {}))
        self.kind = request.get("kind")
        self.seed = request.get("seed", 0)
        self._count, self._passes = settings.get("steps"), settings.get("epochs")
        self._warmup = settings.get("warmup", 0)
        self._taken = 0  # steps that have begun
        self._wanted = None  # by step(), which cannot make its loop go on
        self._by_epoch = self._done = False
        self._first = []  # when the first two steps began
        self._clock = None
        self._rows = []  # dictionaries of metrics, in the order of their calls; of a rank other than 0 only the last values
        self._tensors = []  # those of `_rows` that are on a GPU
        self._rank = int(os.environ.get("RANK") or 0)
        self._report = request.get("report")
        if self._report and self._rank:
            self._rows.append({})
            self._report = "{0}.{2}{1}".format(*os.path.splitext(self._report), self._rank)

    # Steps

    def steps(self, loader):
        """Iterates over the batches of `loader`. Within expc it begins the loader anew until the trial has its steps,
        or its epochs, and later calls give nothing. Inside of `epochs` each call is one pass."""
        return loader if self.kind is None else self._batches(loader)

    def epochs(self, count=1):
        """Numbers of epochs, for programs that do something between passes: `count` without expc; within it as many as
        the trial asks for, or as its steps take."""
        return range(count) if self.kind is None else self._epochs(count)

    def step(self):
        """Marks the end of a step, for loops that a framework owns. True once the trial has its steps: end the loop. The
        first step is always a warm-up, since nothing marks its beginning. A loop that ends earlier has no times."""
        if self.kind is None:
            return False
        if not self._done:
            self._taken += 1
            warmup = max(self._warmup, 1)
            self._wanted = self._count and warmup + self._count
            self._mark(self._taken >= warmup)
            self._done = self._count is not None and self._taken >= warmup + self._count
            if self._done:
                self._stop()
        return self._done

    def _epochs(self, count):
        wanted = self._passes or (count if self._count is None else None)
        self._by_epoch, number = True, 0
        while not self._done and (wanted is None or number < wanted):
            before = self._taken
            yield number
            number += 1
            if wanted is None and self._taken == before:
                raise RuntimeError("an epoch without a step: iterate over t.steps(loader) inside of t.epochs()")
        self._stop()
        self._done = True

    def _batches(self, loader):
        most = None if self._count is None else self._warmup + self._count
        passes = 1 if self._by_epoch else self._passes or (1 if most is None else None)
        batches, before = iter(loader), self._taken
        if self._clock is not None:
            self._clock.resume()  # what the program did between two passes is no step
        began = self._mark(self._taken >= self._warmup)
        while self._taken != most and not self._done:
            try:
                batch = next(batches)
            except StopIteration:
                passes = passes and passes - 1
                if passes == 0 and self._taken > 0:
                    break
                if self._taken == before:
                    raise RuntimeError(f"the loader has no more batches after {before}, and the trial asks for {most} steps, {self._warmup} "
                                       "of them to warm up: give t.steps() something that can be iterated again" if before else
                                       "the loader that t.steps() got has no batch") from None
                batches, before = iter(loader), self._taken
                continue
            if self._taken < 2:
                self._first.append(began)
            self._taken += 1
            clock = self._clock
            if clock is not None:
                clock.waited += _now() - began
            yield batch
            began = self._mark(self._taken >= self._warmup) if clock is None else clock.mark()
        if self._taken == most or not self._by_epoch:
            self._done = True
            self._stop()

    def _mark(self, warm):
        """Notes a border between steps. `warm`: whether the next one is measured. Returns the time."""
        if self._clock is not None:
            return self._clock.mark()
        now = _now()
        if warm:
            self._clock = _Clock(self.kind == "profile", self._count)
        return now

    def _stop(self):
        if self._clock is not None:
            self._clock.stop()

    # Metrics

    def metric(self, **values):
        """Reports values: numbers, tensors of one element, or None where there is no value. Each name may be reported many
        times: a series has all values, any other metric the last one. A tensor on a GPU is copied there and read when
        the process ends."""
        if not self._report:
            return
        for name, value in values.items():
            if value is None or isinstance(value, (bool, int, float)):
                continue
            try:
                if hasattr(value, "detach"):
                    value = value.detach()
                kept = getattr(value, "is_cuda", False)
                values[name] = value.reshape(()).clone() if kept else float(value)
            except (TypeError, ValueError, RuntimeError) as error:
                raise TypeError(f"t.metric({name}=…) takes a number, a tensor of one element or None, and got "
                                f"{value!r:.80}") from error
            if kept and not self._rank:
                self._tensors.append((values, name))
        if self._rank:
            self._rows[0].update(values)
            return
        self._rows.append(values)
        if len(self._tensors) >= _MOST_TENSORS:
            self._gather()

    def _gather(self):
        """Joins tensors that wait to be read, by device, so that each does not keep a block of memory."""
        import torch
        by_device = {}
        for row, name in self._tensors:
            by_device.setdefault(row[name].device, []).append((row, name))
        for rows in by_device.values():
            block = torch.stack([row[name].double() for row, name in rows])
            for index, (row, name) in enumerate(rows):
                row[name] = (block, index)
        self._tensors = []

    def close(self):
        """Writes the report. It happens by itself when the interpreter ends; call it before os._exit."""
        if not self._report:
            return
        self._stop()
        own = self._clock.metrics() if self._clock is not None else {}
        if self._wanted and not self._done:
            own = {}
            print(f"expc: the loop ended after {self._taken} steps, and the trial asks for {self._wanted}, {self._wanted - self._count} of them "
                  "to warm up: raise the program's own limit of steps or epochs", file=sys.stderr)
        if len(self._first) > 1:
            own["first_step_time"] = (self._first[1] - self._first[0]) * 1e-9
        if self._tensors:
            self._gather()
        blocks, path, self._report = {}, self._report, None
        if self._rank:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(_plain(own | self._rows[0]), file)
            return
        last = {}
        with open(path, "w", encoding="utf-8") as file:
            for row in self._rows:
                for name, value in row.items():
                    if isinstance(value, tuple):
                        block, index = value
                        if id(block) not in blocks:
                            blocks[id(block)] = block.tolist()
                        row[name] = blocks[id(block)][index]
                last.update(row)
                file.write(json.dumps(row) + "\n")
            # What the program reports under one of these names is its own. The last line lists all names.
            file.write(json.dumps({**{name: value for name, value in own.items() if name not in last},
                                   "expc": sorted(last.keys() | own.keys()), **({"expc_last": _plain(own | last)} if "RANK" in os.environ else {})}) + "\n")


def _plain(values):
    """Without what JSON cannot say: tensors become numbers, and those that are not finite None."""
    values = {name: value if value is None or isinstance(value, list) else float(value) for name, value in values.items()}
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in values.items()}


class _Clock:
    """The times of steps behind the warm-up. On a GPU they are those at which it reaches the border between two steps."""

    def __init__(self, profiled, most):
        torch = sys.modules.get("torch")
        self._cuda = torch.cuda if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized() else None
        self._marks, self._times, self._resumed = [], [], set()
        self.waited = 0  # ns for batches
        self._profile = _Profile(torch) if profiled and torch is not None else None
        if self._cuda:
            self._begin_events(torch, min(most or 500, 5000) + 1)
            self._cuda.reset_peak_memory_stats()
        self.mark()

    def _begin_events(self, torch, count):
        """Makes events before the first step, and asks torch's binding where its Python layers would cost more than a
        record: 4 us to find the current stream, by torch 2.11."""
        self._device, self._key, self._events = self._cuda.current_device(), None, []
        self._key_of = getattr(torch._C, "_cuda_getCurrentStream", lambda device: self._cuda.current_stream(device))
        event, stream = getattr(torch._C, "_CudaEventBase", self._cuda.Event), self._cuda.current_stream()
        self._free = [event(enable_timing=True) for _ in range(count)]
        self._new = lambda: event(enable_timing=True)
        for one in self._free:
            one.record(stream)  # the driver makes it now

    def mark(self):
        """Notes a border. Returns the host's time."""
        now = _now()
        self._marks.append(now)
        if self._cuda is None:
            return now
        key = self._key_of(self._device)
        if key != self._key:
            self._key, self._stream = key, self._cuda.current_stream(self._device)
        event = self._free.pop() if self._free else self._new()
        event.record(self._stream)
        self._events.append(event)
        if len(self._events) > _MOST_EVENTS and self._events[_MOST_EVENTS // 2].query():
            self._read(_MOST_EVENTS // 2)
        return now

    def resume(self):
        """Makes the next border the beginning of a step that follows no other."""
        self._resumed.add(len(self._marks))

    def stop(self):
        if self._profile:
            self._profile.stop()

    def _read(self, count):
        """Turns the first `count` pairs of events into times."""
        for one, other in zip(self._events[:count], self._events[1:]):
            self._times.append(one.elapsed_time(other) * 1e-3)
        self._free += self._events[:count]
        del self._events[:count]

    def metrics(self):
        """The metrics that need no call of the program, in base units. A device's memory has no value on the CPU."""
        if self._cuda:
            self._events[-1].synchronize()
            self._read(len(self._events) - 1)
            times = self._times
            allocated, reserved = self._cuda.max_memory_allocated(), self._cuda.max_memory_reserved()
        else:
            times = [(end - begin) * 1e-9 for begin, end in zip(self._marks, self._marks[1:])]
            allocated = reserved = None
        times = [time for index, time in enumerate(times, 1) if index not in self._resumed]
        if not times:
            return {}
        if self._profile:
            return self._profile.metrics(sum(times), self.waited * 1e-9)
        total, ordered, middle = sum(times), sorted(times), len(times) // 2
        waited = self.waited * 1e-9
        return {"step_time": (ordered[middle] + ordered[~middle]) / 2, "step_times": times, "train_time": total,
                "steps_per_s": len(times) / total if total else None, "load_wait_time": waited,
                "load_wait_share": min(waited / total, 1) if total else None, "device_memory_peak": reserved,
                "device_memory_allocated_peak": allocated}


# Metrics of std.profiler that are sums of durations over events of a trace: category, and beginning of the name.
_SUMS = {
    "optimizer_time": ("user_annotation", "Optimizer.step"), "backward_time": ("cpu_op", "autograd::engine::evaluate_function"),
    "api_time": ("cuda_runtime", ""), "launch_time": ("cuda_runtime", "cudaLaunchKernel"),
    "stream_synchronize_time": ("cuda_runtime", "cudaStreamSynchronize"),
    "event_synchronize_time": ("cuda_runtime", "cudaEventSynchronize"), "event_destroy_time": ("cuda_runtime", "cudaEventDestroy"),
    "memcpy_async_time": ("cuda_runtime", "cudaMemcpyAsync"), "memcpy_htod_time": ("gpu_memcpy", "Memcpy HtoD"),
    "memcpy_dtoh_time": ("gpu_memcpy", "Memcpy DtoH"), "memcpy_dtod_time": ("gpu_memcpy", "Memcpy DtoD"),
    "nccl_time": ("kernel", "nccl"), "nccl_all_reduce_time": ("kernel", "ncclDevKernel_AllReduce"),
    "nccl_all_gather_time": ("kernel", "ncclDevKernel_AllGather"),
    "nccl_reduce_scatter_time": ("kernel", "ncclDevKernel_ReduceScatter"),
    "nccl_broadcast_time": ("kernel", "ncclDevKernel_Broadcast")}
_BYTES = {"bytes_htod": "Memcpy HtoD", "bytes_dtoh": "Memcpy DtoH", "bytes_dtod": "Memcpy DtoD"}


class _Profile:
    """torch.profiler around the measured steps. Its metrics have the names of std.profiler; those that a trace does not tell,
    or the device does not have, are None."""

    def __init__(self, torch):
        kinds = torch.profiler.ProfilerActivity
        self.gpu = torch.cuda.is_available() and torch.cuda.is_initialized()
        self._profiler = torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA] if self.gpu else [kinds.CPU])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of several cycles, and here is one
            self._profiler.start()
        self._runs = True

    def stop(self):
        if self._runs:
            self._runs = False
            self._profiler.stop()

    def _events(self):
        import tempfile
        kept = os.environ.get("EXPC_TRACE")
        with tempfile.TemporaryDirectory() as folder:
            path = f"{kept}.rank{os.environ.get('RANK') or 0}.json" if kept else folder + "/trace.json"
            self._profiler.export_chrome_trace(path)
            with open(path, encoding="utf-8") as file:
                return [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]

    def metrics(self, profiled, loaded):
        events = self._events()

        def among(category, start):
            return [event for event in events if event.get("cat") == category and event["name"].startswith(start)]

        def seconds(found):
            return sum(event["dur"] for event in found) * 1e-6

        on_gpu = ("cuda_runtime", "gpu_memcpy", "kernel")
        values = {name: None if where[0] in on_gpu and not self.gpu else seconds(among(*where)) for name, where in _SUMS.items()}
        values |= {"profiled_time": profiled, "load_time": loaded, "forward_time": None, "copy_time": None,
                   "all_reduce_time": values["nccl_all_reduce_time"] if self.gpu else seconds(among("cpu_op", "gloo:all_reduce"))}
        names = (*_BYTES, "launch_count", "copies_htod", "kernel_time", "gpu_busy_share")
        if not self.gpu:
            return values | dict.fromkeys(names)
        for name, start in _BYTES.items():
            values[name] = sum(event.get("args", {}).get("bytes", 0) for event in among("gpu_memcpy", start))
        return values | {"launch_count": len(among("cuda_runtime", "cudaLaunchKernel")), "copies_htod": len(among("gpu_memcpy", "Memcpy HtoD")),
                         "kernel_time": seconds(among("kernel", "")) - values["nccl_time"],
                         "gpu_busy_share": min(_busy(events) / profiled, 1) if profiled else None}


def _busy(events):
    """Seconds in which a device ran something: the union of its events."""
    busy, until = 0, float("-inf")
    for event in sorted((event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")),
                        key=lambda event: event["ts"]):
        end = event["ts"] + event["dur"]
        busy += max(end - max(event["ts"], until), 0)
        until = max(until, end)
    return busy * 1e-6
