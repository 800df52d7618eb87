#!/usr/bin/env python3
"""The wheel and the archive of this build: what is in them, and that they work where they were put, with nothing of the build.

usage: package_test.py BUILD_DIR [TEST...]     exits with 77 (skipped) where tools/setup --package has not brought what packs them
"""
import base64
import csv
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/structure"))
import notice  # noqa: E402

TOOLS = ROOT / ".deps/package/bin"
BUILD = pathlib.Path()
OUTSIDE = ("libc.", "libm.", "libpthread.", "libdl.", "librt.", "ld-linux", "libstdc++.", "libgcc_s.", "libtorch", "libc10", "libgomp.", "libcudart.", "libcupti.")

COMMANDS = r"""
workload count command ["sh", "-c", "echo bytes ${n}"] {
  param n : int in 1..9 = 1
  metric size : Bytes lower exact  from regex("bytes (\\d+)", unit = 1B)
}
study counts {
  workload count
  factor n in { 1, 2 }  baseline 1
  measure size
  compare more = ratio(size) over n
  criterion twice: forall *: more[n = 2] within 1.9x..2.1x
  design { repeat 3  seed 1 }
}
"""
IMAGES = """
import std.image
study images {
  workload image.mobilenet_v2(data = mnist("DIGITS"), size = 32px, width = 0.25, batch = 16, layout = nhwc)
  factor precision in { fp32, bf16 }  baseline fp32
  measure step_time
  criterion ends: forall *: step_time <= 1h  always
  design { timed { repeat 1  steps 2  warmup 1 }  seed 1 }
}
"""


def said(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, errors="replace").stdout


def elves(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            yield path


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="expc-package-")))
        said(ROOT / "tools/package", BUILD, "--to", cls.folder / "dist")
        cls.wheel, = (cls.folder / "dist").glob("expc-*.whl")
        archive, = (cls.folder / "dist").glob("expc-*.tar.zst")
        said("tar", "--extract", "--file", archive, "--directory", cls.folder)
        unpacked, = (cls.folder).glob("expc-*-linux-x86_64")
        # Moved after it was unpacked, and to a name that shells take apart.
        (cls.folder / "another place").mkdir()
        cls.tree = unpacked.rename(cls.folder / "another place" / "expc")
        cls.venv = cls.folder / "venv"
        venv.create(cls.venv, with_pip=True, symlinks=True)
        said(cls.venv / "bin/pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", cls.wheel)
        cls.site, = cls.venv.glob("lib/python3*/site-packages")

    def expc(self, program, *words, code=0, study=COMMANDS, **variables):
        """Runs a study in an empty folder and an environment that knows nothing of the build."""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "s.exp").write_text(study)
            done = subprocess.run([program, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL,
                                  env={"PATH": "/usr/bin:/bin", "HOME": folder, "EXPC_DEVICE_LOCKS": "none", **variables})
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr

    def run_study(self, program, *words, **rest):
        return self.expc(program, "run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", "--quiet", *words, **rest)

    def glibc(self):
        """What each file asks for, as 34 of 2.34."""
        return {path.name: max(map(int, re.findall(r"Name: GLIBC_2\.(\d+)", said("readelf", "--version-info", "--wide", path))), default=0) for path in elves(self.tree)}

    def test_versions_of_symbols_are_those_of_the_tag(self):
        tag, glibc = int(re.search(r"-manylinux_2_(\d+)_x86_64\.whl$", self.wheel.name)[1]), self.glibc()
        for name in ("expc", "expc-worker-command"):
            self.assertLessEqual(glibc[name], tag, glibc)
        # Where this was built on Debian 12, RHEL 8 can run programs with it, and RHEL 9 all of it.
        if os.confstr("CS_GNU_LIBC_VERSION") == "glibc 2.36":
            self.assertEqual(tag, 28, glibc)
            self.assertLessEqual(max(glibc.values()), 34, glibc)

    def test_auditwheel_agrees(self):
        if not (TOOLS / "auditwheel").exists():
            self.skipTest("no auditwheel here: tools/setup --package")
        shown = said(TOOLS / "auditwheel", "show", self.wheel)
        # It speaks of all files, the tag of expc and what runs programs; the files lie in folders of which it knows nothing, so that it calls
        # the whole linux_x86_64. Of symbols it says what we do: those of the C++ runtime, which may ask for more, are in the tag alone.
        least = max(int(re.search(r"-manylinux_2_(\d+)_x86_64\.whl$", self.wheel.name)[1]), *self.glibc().values())
        self.assertIn(f'This constrains the platform tag to "manylinux_2_{least}_x86_64"', " ".join(shown.split()))

    def test_an_error_is_said_and_not_thrown_out_of_the_program(self):
        for program in (self.venv / "bin/expc", self.tree / "bin/expc"):
            self.assertIn("--jobs", self.expc(program, "run", "s.exp", "--jobs", "many", code=2))

    def test_libraries_are_found_from_where_a_file_lies(self):
        bundled = {path.name for path in (self.tree / "lib").glob("*.so*")} | {path.name for path in (self.tree / "lib/nullgpu").glob("*.so*")}
        for path in elves(self.tree):
            dynamic = said("readelf", "--dynamic", "--wide", path)
            for place in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
                self.assertTrue(all(one.startswith("$ORIGIN") for one in place.split(":")), (path.name, place))
            for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
                self.assertTrue(name in bundled or name.startswith(OUTSIDE), (path.name, name))

    def test_no_path_of_the_build_machine(self):
        places = {os.fsencode(place) for name in (ROOT, BUILD, ROOT / ".deps", ROOT / ".deps/python", pathlib.Path.home())
                  for place in (str(name), os.path.realpath(name)) if len(pathlib.Path(place).parts) > 2}
        for top in (self.tree, self.site / "expc", self.venv / "share"):
            for path in top.rglob("*"):
                if path.is_file():
                    data = path.read_bytes()
                    self.assertFalse([place for place in places if place in data], path)

    def test_licences_of_what_is_bundled(self):
        listed = (self.tree / "licenses/README").read_text()
        known = (ROOT / "NOTICE").read_text()
        self.assertEqual(notice.lacking({path.name.partition(".so")[0] for path in (self.tree / "lib").glob("*.so*")}, known), [])
        for path in (self.tree / "lib").glob("*.so*"):
            line = re.search(rf"^{re.escape(path.name)}: (\S+) \S+, (\S+)$", listed, re.M)
            self.assertTrue(line, f"{path.name} is not in licenses/README")
            self.assertIn("icense", (self.tree / "licenses" / line[2]).read_text(errors="replace"))
        told = (next(self.site.glob("expc-*.dist-info")) / "METADATA").read_text()
        named = re.findall(r"^License-File: (.+)$", told, re.M)
        self.assertEqual(set(named), {path.name for path in (self.tree / "licenses").iterdir()})

    def test_the_record_of_the_wheel(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            record, = (name for name in wheel.namelist() if name.endswith(".dist-info/RECORD"))
            rows = list(csv.reader(wheel.read(record).decode().splitlines()))
            self.assertEqual({row[0] for row in rows}, set(wheel.namelist()))
            for name, digest, _ in rows:
                if digest:
                    found = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
                    self.assertEqual(digest, "sha256=" + found, name)

    def test_a_study_of_commands(self):
        link = self.folder / "link-to-expc"
        link.symlink_to(self.venv / "bin/expc")  # as pipx and uv lay it
        target = self.folder / "target"
        said(self.venv / "bin/pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", "--target", target, self.wheel)
        for program in (self.venv / "bin/expc", link, target / "bin/expc", self.tree / "bin/expc"):
            with self.subTest(program=program):
                self.assertIn("PASS  twice", self.run_study(program))

    def test_studies_completions_and_documentation_come_with_it(self):
        for share, program in ((self.venv / "share", self.venv / "bin/expc"), (self.tree / "share", self.tree / "bin/expc")):
            self.expc(program, "check", share / "expc/experiments/precision.exp")
            self.assertTrue((share / "expc/experiments/data/digits").is_dir())
            self.assertIn("complete-words", (share / "bash-completion/completions/expc").read_text())
            self.assertIn("expc run", (share / "man/man1/expc-run.1").read_text().replace("\\-", "-"))
            self.assertIn("ten-minutes", (share / "doc/expc/index.html").read_text())
            place = re.search("^Documentation: (.+)$", self.expc(program, "--help"), re.M)[1]
            self.assertTrue(os.path.samefile(place, share / "doc/expc/index.html"), place)
            self.assertEqual(len(list((share / "expc").glob("expc-*.vsix"))), 1)

    def test_without_torch_it_says_how_to_get_one(self):
        if not (self.tree / "bin/expc-worker").exists():
            self.skipTest("built without the worker")
        study = IMAGES.replace("DIGITS", str(self.tree / "share/expc/experiments/data/digits"))
        text = self.run_study(self.tree / "bin/expc", code=1, study=study)
        self.assertIn("libtorch_cpu.so", text)
        self.assertRegex(text, r"pip install 'torch==\d+\.\d+\.\*'` next to it")
        # One of another minor version, beside it and named; a study of commands needs none.
        other = self.tree.parent / "torch"
        (other / "lib").mkdir(parents=True)
        self.addCleanup(shutil.rmtree, other)
        (other / "lib/libtorch_cpu.so").write_bytes(b"")
        (other / "version.py").write_text("__all__ = ['__version__']\n__version__ = '2.1.2+cu118'\n")
        refused = r"was built for torch [\d.]+, and .*torch is 2\.1\.2; install that .*or name the folder of one with --torch PATH"
        self.assertRegex(self.run_study(self.tree / "bin/expc", code=1, study=study), refused)
        self.assertRegex(self.run_study(self.venv / "bin/expc", "--torch", other, code=1, study=study), refused)
        self.assertRegex(self.run_study(self.venv / "bin/expc", code=1, study=study, EXPC_TORCH=str(self.folder)), "has no lib/libtorch_cpu.so")
        self.assertIn("PASS  twice", self.run_study(self.tree / "bin/expc"))

    def test_with_torch(self):
        torch = list(ROOT.glob(".deps/python/lib/python3*/site-packages/torch"))
        if not torch or not (self.tree / "bin/expc-worker").exists():
            self.skipTest("no torch here")
        study = IMAGES.replace("DIGITS", str(self.tree / "share/expc/experiments/data/digits"))
        self.assertIn("PASS (n=1)  ends", self.run_study(self.venv / "bin/expc", "--torch", torch[0], study=study))
        # As the wheels lie beside each other; torch's own look for CUDA's libraries beside torch.
        for name in ("torch", "nvidia"):
            (self.site / name).symlink_to(torch[0].parent / name)
            self.addCleanup((self.site / name).unlink)
        self.assertIn("PASS (n=1)  ends", self.run_study(self.venv / "bin/expc", study=study))
        if (self.tree / "bin/expc-worker-cuda").exists():
            text = self.expc(self.venv / "bin/expc", "rehearse", "s.exp", "--null-gpus", "1x8GiB", "--quiet", study=study)
            self.assertIn("2 points", text)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    if not (TOOLS / "patchelf").exists() and not shutil.which("patchelf"):
        print("SKIPPED: there is no patchelf: tools/setup --package installs it")
        sys.exit(77)
    unittest.main()
