"""Null cards for tests of the `expc` command: an NVML that the tests make up stands where the null libraries would, and
`expc-worker-null` runs the trials."""
import os
import shutil

from command import OPTIONS, Command


class NullCards(Command):
    """A folder with the study `tiny.exp` in it, and what the command needs to find the cards."""

    STUDY = ""

    def setUp(self):
        super().setUp()
        self.write("tiny.exp", self.STUDY)
        libraries = self.folder / "nullgpu"
        libraries.mkdir()
        for name in ("libnvidia-ml.so.1", "libnullgpu_preload.so"):  # the null worker wants nothing of the second
            shutil.copy(OPTIONS.fake_nvml, libraries / name)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("EXPC_", "NULLGPU_", "CUDA_"))}
        self.environment = {**clean, "EXPC_DEVICE_LOCKS": "none", "EXPC_NULLGPU_FOLDER": str(libraries), "EXPC_FAKE_UUID": "GPU-6e756c6c-000"}
