"""The binary that a benchmark runs in a folder. Studies run beside each other, so devices are not locked."""
import os
import subprocess


class Binary:
    def __init__(self, expc):
        self.expc = expc

    def command(self, folder, *arguments):
        return subprocess.run([self.expc, *arguments], cwd=folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "EXPC_DEVICE_LOCKS": "none"})
