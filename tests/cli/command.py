"""The `expc` command as its tests type it: the paths that a test is started with, a folder to be in, and the exit code that must come of it."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

OPTIONS = argparse.Namespace()  # what `main` was given: expc, null_worker, fake_nvml, clients
os.environ["EXPC_DEVICE_LOCKS"] = "none"  # tests beside each other may have the same cores


def new_folder(add_cleanup):
    """A temporary folder. What removes it is handed to `add_cleanup`, which is that of a test, a class or a module."""
    folder = tempfile.TemporaryDirectory(prefix="expc-cli-")
    add_cleanup(folder.cleanup)
    return pathlib.Path(folder.name)


def expc(*arguments, folder, code=0, timeout=300, environment=None):
    """Runs `expc` in the folder, with nothing to read, and returns how it ended and the text that it wrote. A test fails unless it ends in
    time with `code`: one exit code, a tuple of those that may be, or None for any."""
    done = subprocess.run([OPTIONS.expc, *map(str, arguments)], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=timeout)
    if code is not None and done.returncode not in (code if isinstance(code, tuple) else (code,)):
        raise AssertionError(f"expc {arguments} ended with {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}")
    return done


class Command(unittest.TestCase):
    """Each test has a folder of its own, or one with the others of a class whose `setUpClass` makes `folder`."""

    folder = None
    timeout = 300  # seconds
    environment = os.environ

    def setUp(self):
        self.folder = self.folder or new_folder(self.addCleanup)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def expc(self, *arguments, code=0, folder=None, timeout=None, **variables):
        """`expc` as above, in the folder of the test unless another is named, with these variables more in its environment."""
        return expc(*arguments, folder=folder or self.folder, code=code, timeout=timeout or self.timeout,
                    environment={**self.environment, **variables})

    def document(self, *arguments, **more):
        """What `expc` wrote as JSON."""
        return json.loads(self.expc(*arguments, "--format", "json", **more).stdout)


def main(*paths):
    """Runs the tests of the file that was started, which needs --expc and these options; --clients is a Python that may be missing. The other
    words of the command line are for unittest."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    for path in ("--expc", *paths):
        parser.add_argument(path, required=True, type=os.path.abspath)
    parser.add_argument("--clients", default="")
    _, rest = parser.parse_known_args(namespace=OPTIONS)
    unittest.main(argv=[sys.argv[0], *rest])
