"""Trials of the real `expc-worker-cuda` on null cards: which variables make them, and which slots are theirs."""
import contextlib
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "conformance"))
import ranks  # noqa: E402
from server import Server  # noqa: E402

CARDS = 4


def environment(folder, **configuration):
    """The variables under which a program finds null cards; `configuration` by the names of nullgpu/core/configuration.h."""
    folder = pathlib.Path(folder).resolve()
    variables = {"LD_PRELOAD": str(folder / "libnullgpu_preload.so"), "LD_LIBRARY_PATH": str(folder), "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
                 "EXPC_NVML_LIBRARY": str(folder / "libnvidia-ml.so.1"), "NULLGPU_CARDS": str(CARDS)}
    return variables | {f"NULLGPU_{name.upper()}": str(value) for name, value in configuration.items()}


def uuid(card):
    return f"GPU-6e756c6c-0000-0000-0000-{card + 1:012x}"


def on_cards(spec, count=None):
    """The same trial on cards. `count`: with one process that drives as many."""
    number = count or spec["world_size"]
    slots = [{"device": "cuda", "index": card, "uuid": uuid(card), "name": "Null GPU", "null": True, "threads": 1}
             for card in range(number)]
    return dict(spec, slots=slots, world_size=1 if count else spec["world_size"])


@contextlib.contextmanager
def server(worker, folder, **configuration):
    """A worker that forks ranks over null cards. Gives it and a function that reads what the ranks have said since the last call."""
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        forking = Server(worker, log, environment(folder, **configuration))

        def said():
            log.seek(said.at)
            text = log.read()
            said.at = log.tell()
            return text
        said.at = 0
        try:
            yield forking, said
        finally:
            forking.close()
