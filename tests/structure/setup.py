#!/usr/bin/env python3
"""tools/setup chooses what it installs by NVIDIA's driver, and says in its first line why it does not.

It is asked what it would install (--dry-run), in a folder where nothing is installed, with an nvidia-smi that answers as is wanted.
It also runs with an apt-get and a pip that do nothing but meet.
usage: setup.py [NULL_NVIDIA_SMI]      with the null GPU's nvidia-smi, the set-up of a machine with GPUs is acted out over it
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ("nvidia-cudnn-cu13", "nvidia-nccl-cu13", "nvidia-cublas", "nvidia-cufile", "nvidia-cusparselt-cu13", "nvidia-nvshmem-cu13")
NULL_SMI = None


class SetUp(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copytree(ROOT / "tools", self.folder / "tools")

    def would(self, *options, smi=None, path=None):
        """The lines of `tools/setup --dry-run`; smi: what nvidia-smi prints and ends with."""
        if path is None:
            path = self.folder / "bin"
            path.mkdir()
            # Only what the script needs: whether this machine has an nvidia-smi must not matter.
            for tool in ("bash", "cat", "cut", "dirname", "dpkg-query", "env", "head", "id", "sed", "timeout"):
                if found := shutil.which(tool):
                    (path / tool).symlink_to(found)
            if smi is not None:
                text, code = smi
                (path / "nvidia-smi").write_text(f"#!/bin/sh\necho '{text}'\nexit {code}\n")
                (path / "nvidia-smi").chmod(0o755)
        done = subprocess.run(["bash", self.folder / "tools/setup", "--dry-run", *options], capture_output=True, text=True,
                              env={"PATH": str(path), "EXPC_SYSTEM_READY": "1", "HOME": os.environ.get("HOME", "/")})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.splitlines()

    def assertBrings(self, lines, wanted):
        text = "\n".join(line for line in lines if "would install into" in line)
        self.assertIn("torch==", text)
        for library in LIBRARIES:
            (self.assertIn if wanted else self.assertNotIn)(library + "==", text)

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "this machine has a driver, which is found without nvidia-smi as well")
    def test_no_driver(self):
        lines = self.would()
        self.assertBrings(lines, False)
        self.assertNotIn("nvidia-smi", "\n".join(lines))

    def test_headers_alone(self):
        lines = self.would("--cuda", smi=("No devices were found", 6))
        self.assertTrue(any(".deps/cuda" in line and "nvidia-nccl-cu13==" in line for line in lines), lines)
        self.assertFalse(any("nvidia-cudnn" in line for line in lines), lines)

    def test_driver(self):
        self.assertBrings(self.would(smi=("580.65.06", 0)), True)

    def test_driver_with_tests_fetches_no_headers_twice(self):
        lines = self.would("--tests", smi=("610.1", 0))
        self.assertBrings(lines, True)
        self.assertFalse(any(".deps/cuda" in line for line in lines), lines)

    def test_old_driver_is_said_first(self):
        lines = self.would(smi=("535.129.03", 0))
        self.assertRegex(lines[0], r"driver 535\.129\.03 is too old for CUDA 13, which wants 580 or newer.*update the driver")
        self.assertBrings(lines, False)

    def test_old_driver_is_overruled(self):
        self.assertBrings(self.would("--gpu", smi=("535.129.03", 0)), True)

    def test_broken_driver_is_said_first(self):
        lines = self.would(smi=("Failed to initialize NVML: Driver/library version mismatch", 18))
        self.assertRegex(lines[0], "nvidia-smi names no driver: 'Failed to initialize NVML: Driver/library version mismatch'")
        self.assertBrings(lines, False)

    def test_null_cards_act_a_machine_with_gpus(self):
        if not NULL_SMI:
            self.skipTest("built without the null GPU")
        self.assertBrings(self.would(path=f"{os.path.dirname(NULL_SMI)}:{os.environ['PATH']}"), True)


# Each waits for the other one: a set-up that does one after the other ends with a failure.
MET = "i=0; until grep -q {other} log; do sleep 0.02; i=$((i + 1)); test $i -lt 1500 || exit 1; done"
PACKAGES = f"""#!/bin/sh
case "$*" in *update*|*"ca-certificates python3-venv") exit 0;; esac
echo packages >>log
{MET.format(other="torch")}
"""
WHEELS = f"""#!/bin/sh
case "$*" in *torch==*) ;; *) exit 0;; esac
echo torch >>log
{MET.format(other="packages")}
"""


@unittest.skipUnless(re.search("^ID=debian$", pathlib.Path("/etc/os-release").read_text(), re.M), "packages are not installed by themselves here")
class Beside(unittest.TestCase):
    """LibTorch is fetched while the distribution's packages are installed."""

    def ended(self, packages=PACKAGES, wheels=WHEELS):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copytree(ROOT / "tools", folder / "tools")
        (folder / "tools/cuda_wheels").write_text("")
        for path, text in {"bin/apt-get": packages, "bin/dpkg-query": "#!/bin/sh\n", "bin/sudo": '#!/bin/sh\nexec "$@"\n', ".deps/python/bin/pip": wheels}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
            (folder / path).chmod(0o755)
        return subprocess.run(["bash", folder / "tools/setup"], capture_output=True, text=True, timeout=200,
                              env={"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(folder)})

    def test_both_are_under_way_at_once(self):
        done = self.ended()
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_one_that_fails_fails_the_set_up(self):
        fails = lambda script: script + "exit 1\n"  # noqa: E731
        done = self.ended(wheels=fails(WHEELS))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("pip could not install", done.stderr)
        done = self.ended(packages=fails(PACKAGES))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("apt-get install failed", done.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        NULL_SMI = sys.argv.pop(1)
    unittest.main()
