"""The ranks of one trial: model, strategy, and the loops on the clock."""
import contextlib
import inspect
import itertools
import json
import pathlib
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing
import torchvision
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DataParallel, DistributedDataParallel

import images
import watching

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


def run(options):
    """Runs the trial, in processes of its own where there are several."""
    on_gpus = torch.cuda.is_available()
    if on_gpus and torch.cuda.device_count() < options.gpus:
        raise SystemExit(f"{options.gpus} GPUs are asked for, {torch.cuda.device_count()} are visible")
    if options.strategy == "dp" and not on_gpus:
        raise SystemExit("strategy dp needs CUDA: torch.nn.DataParallel leaves a model on the CPU as it is")
    if options.precision in ("tf32", "fp16") and not on_gpus:
        raise SystemExit(f"precision {options.precision} needs a GPU")
    options.weight_dtype = torch.float64 if options.precision == "fp64" else torch.float32
    cast = options.transfer_dtype == "compute"
    options.host_dtype = AUTOCAST.get(options.precision, options.weight_dtype) if cast else options.weight_dtype
    if options.loader == "dali" and options.host_dtype not in (torch.float16, torch.float32):
        raise SystemExit(f"DALI's pipeline gives fp16 and fp32, not {options.host_dtype}")
    options.world = 1 if options.strategy == "dp" else options.gpus
    if options.world == 1:
        run_rank(0, options)
    else:
        torch.multiprocessing.spawn(run_rank, (options,), options.world)


def run_rank(rank, options):
    device = torch.device("cuda", rank) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
        torch.backends.cudnn.benchmark = True
    meeting = pathlib.Path(options.out).resolve().parent / "rendezvous"
    # Newer than the reference study's torch, which has no such argument.
    bound = {"device_id": device} if device.type == "cuda" and "device_id" in inspect.signature(dist.init_process_group).parameters else {}
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", f"file://{meeting}", rank=rank, world_size=options.world, **bound)
    try:
        trial = Trial(options, rank, device)
        measured = trial.timed() if options.steps else trial.quality()
        if rank == 0:
            pathlib.Path(options.out).write_text(json.dumps(measured))
    finally:
        dist.destroy_process_group()


def replicated(model, options, device):
    if options.strategy == "dp":
        return DataParallel(model, list(range(options.gpus)))
    return DistributedDataParallel(model, [device] if device.type == "cuda" else None)


class Trial:
    def __init__(self, options, rank, device):
        self.options, self.rank, self.device = options, rank, device
        self.data = images.dataset(options, train=True)
        self.format = torch.channels_last if options.layout == "nhwc" else torch.contiguous_format
        torch.manual_seed(options.seed)  # weights: equal on all ranks
        model = torchvision.models.mobilenet_v2(num_classes=len(self.data.classes), width_mult=options.width)
        self.model = model.to(device, options.weight_dtype, memory_format=self.format)
        torch.manual_seed(options.seed + rank)  # dropout: not
        self.parallel = replicated(self.model, options, device).train()
        self.optimizer = torch.optim.SGD(self.model.parameters(), options.learning_rate, options.momentum,
                                         weight_decay=options.weight_decay)
        scaled = options.precision == "fp16"  # torch.amp has scalers since 2.3
        self.scaler = torch.amp.GradScaler(device.type, enabled=scaled) if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler(enabled=scaled)
        self.waited, self.losses, self.taken = 0.0, [], 0
        self.each, self.pause = 0, 0.0  # batches of an epoch, and the longest wait for the first one of an epoch behind another
        dist.all_reduce(torch.zeros(1, device=device))  # communicators set their paths up at the first use

    def autocast(self):
        dtype = AUTOCAST.get(self.options.precision)
        return torch.autocast(self.device.type, dtype) if dtype else contextlib.nullcontext()

    def to_device(self, batch):
        inputs, labels = batch
        beside = self.options.host_waits not in ("copies", "both")
        inputs = inputs.to(self.device, memory_format=self.format, non_blocking=beside)
        labels = labels.to(self.device, non_blocking=beside)
        if self.options.strategy == "ddp":  # the whole batch came here; this rank trains on its slice
            mine = slice(self.rank * self.options.batch, (self.rank + 1) * self.options.batch)
            inputs, labels = inputs[mine], labels[mine]
        return inputs.to(self.options.weight_dtype), labels

    def step(self, batches):
        """False when the batches are at an end. The loss stays on the device, unless host_waits says that the host reads it."""
        begin = time.perf_counter()
        batch = next(batches, None)
        waited = time.perf_counter() - begin
        self.waited += waited
        if self.taken and self.each and self.taken % self.each == 0:
            self.pause = max(self.pause, waited)
        self.taken += 1
        if batch is None:
            return False
        inputs, labels = self.to_device(batch)
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast():
            loss = cross_entropy(self.parallel(inputs), labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.losses.append(loss.detach())
        if self.options.host_waits in ("loss", "both"):
            loss.item()
        return True

    def meet(self):
        """A barrier on an idle device: where the clock starts and ends."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        dist.barrier()
        return time.perf_counter()

    def over_ranks(self, values, reduction):
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor, reduction)
        return tensor.tolist()

    def timed(self):
        options = self.options
        if options.loader == "dali":
            import dali_images
            batches = dali_images.endless(options, self.data, self.rank, self.device)
            self.each = len(self.data) // options.gpus // options.batch
        else:
            loader = images.Batches(options, self.data, self.rank)
            batches, self.each = loader.endless(), len(loader)
        self.meet()
        startup = time.monotonic() - options.process_start
        first = self.marked_steps(batches, options.warmup)
        begin, self.waited = self.meet(), 0.0
        watch = watching.Watch(options.profiler) if options.profile else None
        steps = self.marked_steps(batches, options.steps)
        waited = self.waited
        wall = self.meet() - begin
        if watch:
            return self.watched(watch.ended())
        own = [startup, (first or steps)()[0], wall, statistics.median(steps()), waited, resident_peak(), self.pause]
        startup, first_step, wall, step, waited, resident, pause = self.over_ranks(own, dist.ReduceOp.MAX)
        trained = options.batch * options.gpus * options.steps
        measured = {"step_time": step, "images_per_s": trained / wall, "train_time": wall, "epoch_time": len(self.data) * wall / trained,
                    "startup_time": startup, "first_step_time": first_step, "load_wait_time": waited,
                    "load_wait_share": min(1.0, waited / wall), "host_memory_peak": resident, "epoch_pause_time": pause}
        if self.device.type == "cuda":
            held = [torch.cuda.max_memory_reserved(self.device), torch.cuda.max_memory_allocated(self.device)]
            measured["device_memory_peak"], measured["device_memory_allocated_peak"] = self.over_ranks(held, dist.ReduceOp.MAX)
        return measured

    def watched(self, own):
        most = dict(zip(own, self.over_ranks(list(own.values()), dist.ReduceOp.MAX)))
        total = dict(zip(own, self.over_ranks(list(own.values()), dist.ReduceOp.SUM)))
        return {name: (total if watching.is_sum(name) else most)[name] for name in own}

    def marked_steps(self, batches, count):
        """Takes steps and gives a function for their seconds, to be called when the device is idle; nothing for no steps."""
        marks = [self.mark()]
        for _ in range(count):
            self.step(batches)
            marks.append(self.mark())
        between = (lambda a, b: a.elapsed_time(b) / 1e3) if self.device.type == "cuda" else (lambda a, b: b - a)
        return (lambda: list(itertools.starmap(between, itertools.pairwise(marks)))) if count else None

    def mark(self):
        if self.device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def quality(self):
        batches = images.Batches(self.options, self.data, self.rank)
        test = images.dataset(self.options, train=False)
        curve, losses, epochs, trained, evaluated, pause = [], [], [], 0.0, 0.0, 0.0
        for epoch in range(self.options.epochs):
            begin, self.losses = self.meet(), []
            of_epoch = batches.epoch(epoch)
            while self.step(of_epoch):
                pass
            end = self.meet()
            share, first = self.accuracy(test)
            curve.append(share)
            pause = max(pause, first)
            trained, evaluated = trained + end - begin, evaluated + self.meet() - end
            means = self.over_ranks(torch.stack(self.losses).double().tolist(), dist.ReduceOp.SUM)
            losses += [loss / self.options.world for loss in means]
            epochs.append(statistics.fmean(losses[-len(means):]))
        trained, evaluated, pause = self.over_ranks([trained, evaluated, pause], dist.ReduceOp.MAX)
        return {"accuracy": curve[-1], "accuracy_curve": curve, "loss": losses, "epoch_loss": epochs, "final_loss": epochs[-1],
                "evaluation_pause_time": pause, "quality_train_time": trained, "evaluation_time": evaluated, "total_time": trained + evaluated}

    @torch.no_grad()
    def accuracy(self, test):
        """The share of the test images that are classified correctly, and the seconds until the first batch was there."""
        begin, first = time.perf_counter(), None
        for buffer in self.model.buffers():
            dist.broadcast(buffer, 0)  # rank 0's running statistics, as a checkpoint would have them
        self.model.eval()
        correct = 0
        for inputs, labels in images.test_batches(self.options, test, self.rank):
            first = time.perf_counter() - begin if first is None else first
            inputs = inputs.to(self.device, self.options.weight_dtype, memory_format=self.format)
            with self.autocast():
                correct += (self.model(inputs).argmax(1) == labels.to(self.device)).sum().item()
        self.model.train()
        return self.over_ranks([correct], dist.ReduceOp.SUM)[0] / len(test), first or 0.0


def resident_peak():
    """Bytes; of this process, without the loader's worker processes."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
