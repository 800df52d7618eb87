"""Null cards for tests of the `expc` command: an NVML that the tests make up stands where the null libraries would, and
`expc-worker-null` runs the trials."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest


class NullCards(unittest.TestCase):
    """A folder with the study `tiny.exp` in it, and what the command needs to find the cards."""

    OPTIONS = None  # --expc, --null-worker, --fake-nvml
    STUDY = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="expc-null-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "tiny.exp").write_text(self.STUDY, encoding="utf-8")
        libraries = self.folder / "nullgpu"
        libraries.mkdir()
        for name in ("libnvidia-ml.so.1", "libnullgpu_preload.so"):  # the null worker wants nothing of the second
            shutil.copy(self.OPTIONS.fake_nvml, libraries / name)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("EXPC_", "NULLGPU_", "CUDA_"))}
        self.environment = {**clean, "EXPC_DEVICE_LOCKS": "none", "EXPC_NULLGPU_FOLDER": str(libraries), "EXPC_FAKE_UUID": "GPU-6e756c6c-000"}

    def command(self, *arguments):
        return [self.OPTIONS.expc, *map(str, arguments)]

    def expc(self, *arguments, code=0, **variables):
        result = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300, cwd=self.folder,
                                stdin=subprocess.DEVNULL, env={**self.environment, **variables})
        self.assertEqual(result.returncode, code, f"expc {arguments}\n{result.stdout}\n{result.stderr}")
        return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True)
    parser.add_argument("--null-worker", required=True)
    parser.add_argument("--fake-nvml", required=True)
    NullCards.OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
