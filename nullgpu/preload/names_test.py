#!/usr/bin/env python3
"""Programs for CUDA 12 and for CUDA 13 find the null libraries by their sonames and symbol versions, as torch's libraries do.

usage: names_test.py NULL_GPU_FOLDER
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

# A library as NVIDIA's: it has a soname, and its symbol has a version of that name.
THEIRS = "int cudaGetDeviceCount(int* count) { *count = 40; return 0; }\n"
# A library as torch's, with a fixed search path that leads to NVIDIA's.
ASKS = "int cudaGetDeviceCount(int*);\nint cards(void) { int count = 0; return cudaGetDeviceCount(&count) ? 99 : count; }\n"
LOADS = "import ctypes, sys\nprint(*(ctypes.CDLL(library).cards() for library in sys.argv[1:]))"


class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compile(self, name, source, *options):
        (self.folder / "source.c").write_text(source)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", name, "source.c", *options], cwd=self.folder, check=True)
        return self.folder / name

    def asks(self, soname):
        """A library that asks for the cards of `soname`."""
        (self.folder / "script").write_text(f"{soname} {{ global: cuda*; local: *; }};\n")
        self.compile(soname, THEIRS, f"-Wl,-soname,{soname},--version-script=script")
        return self.compile(f"asks_{soname}", ASKS, soname, "-Wl,--disable-new-dtags,-rpath,$ORIGIN")

    def cards(self, *libraries, **variables):
        return subprocess.run([sys.executable, "-c", LOADS, *libraries], env={**os.environ, "NULLGPU_CARDS": "3", **variables},
                              check=True, capture_output=True, text=True).stdout.split()

    def test_libraries_for_both_find_ours_alone_and_together(self):
        older, newer = self.asks("libcudart.so.12"), self.asks("libcudart.so.13")
        preload = {"LD_PRELOAD": f"{FOLDER}/libnullgpu_preload.so", "LD_LIBRARY_PATH": FOLDER}
        self.assertEqual(self.cards(older), ["40"])
        self.assertEqual(self.cards(older, **preload), ["3"])
        self.assertEqual(self.cards(newer, **preload), ["3"])
        self.assertEqual(self.cards(older, newer, **preload), ["3", "3"])
        for soname in ("libcudart.so.12", "libcudart.so.13"):
            (self.folder / soname).unlink()
        self.assertEqual(self.cards(older, newer, LD_LIBRARY_PATH=FOLDER), ["3", "3"])

    def test_every_name_is_preloaded(self):
        said = subprocess.run(["readelf", "-dW", f"{FOLDER}/libnullgpu_preload.so"], check=True, capture_output=True, text=True).stdout
        for name in ("cudart.so.12", "cublas.so.12", "cublasLt.so.12", "cupti.so.12", "nvrtc.so.12", "cufft.so.11", "cusolver.so.11", "cudart.so.13",
                     "cublas.so.13", "cublasLt.so.13", "cupti.so.13", "nvrtc.so.13", "cufft.so.12", "cusolver.so.12", "cusparse.so.12"):
            self.assertIn(f"[lib{name}]", said)


if __name__ == "__main__":
    FOLDER = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
