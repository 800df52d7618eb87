#!/usr/bin/env python3
"""`expc fmt` as a user types it, the project's own studies, and what formatting must not change: plans.

usage: command.py --expc PATH
"""
import argparse
import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPC = None
LOOSE = "let   a=1\n\n\nlet abc = 2\n"
TIDY = "let a = 1\n\nlet abc = 2\n"


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="expc-fmt-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def fmt(self, *arguments, code=0, text=None, **more):
        result = subprocess.run([EXPC, "fmt", *map(str, arguments)], capture_output=True, text=True, timeout=60,
                                cwd=self.folder, input=text or "", **more)
        self.assertEqual(result.returncode, code, f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result


class Files(Command):
    def test_a_file_is_rewritten_once(self):
        path = self.write("a.exp", LOOSE)
        self.assertEqual(self.fmt("a.exp").stdout, "formatted a.exp\n")
        self.assertEqual(path.read_text(), TIDY)
        before = path.stat()
        self.assertEqual(self.fmt("a.exp").stdout, "")
        self.assertEqual(path.stat().st_ino, before.st_ino, "an unchanged file is not touched")

    def test_mode_and_link_stay(self):
        path = self.write("real/a.exp", LOOSE)
        path.chmod(0o640)
        link = self.folder / "link.exp"
        link.symlink_to("real/a.exp")
        self.fmt("link.exp")
        self.assertTrue(link.is_symlink())
        self.assertEqual(path.read_text(), TIDY)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o640)
        self.assertEqual(os.listdir(path.parent), ["a.exp"], "no temporary file stays")

    def test_folders(self):
        for name in ("one.exp", "deep/er/two.exp", ".hidden/three.exp", "other.txt"):
            self.write(name, LOOSE)
        self.assertEqual(self.fmt(".").stdout, "formatted ./deep/er/two.exp\nformatted ./one.exp\n")
        for untouched in (".hidden/three.exp", "other.txt"):
            self.assertEqual((self.folder / untouched).read_text(), LOOSE)

    def test_syntax_errors_leave_a_file_alone_and_others_go_on(self):
        bad = self.write("a.exp", "let  a 1\n")
        good = self.write("b.exp", LOOSE)
        result = self.fmt(".", code=1)
        self.assertRegex(result.stderr, r"a\.exp:1:8: error\[E0101\]")
        self.assertEqual((bad.read_text(), good.read_text()), ("let  a 1\n", TIDY))

    def test_bytes_that_are_no_text(self):
        (self.folder / "a.exp").write_bytes(b"let a = \"\xff\"\n")
        self.assertIn("E0001", self.fmt("a.exp", code=1).stderr)

    def test_paths_that_are_not_there(self):
        good = self.write("b.exp", LOOSE)
        result = self.fmt("nowhere.exp", "b.exp", code=1)
        self.assertEqual(result.stderr, "expc: error: cannot read nowhere.exp: No such file or directory\n")
        self.assertEqual(good.read_text(), TIDY)
        (self.folder / "empty").mkdir()
        self.assertEqual(self.fmt("empty", code=1).stderr, "expc: error: no .exp file in the folder empty\n")

    def test_files_that_cannot_be_read_or_written(self):
        path = self.write("a.exp", LOOSE)
        cases = ((0o000, 0o755, "cannot read a.exp: Permission denied"), (0o444, 0o755, "cannot write a.exp: Permission denied"),
                 (0o666, 0o555, "cannot write a.exp: Permission denied"))
        for mode, folder_mode, message in cases:
            with self.subTest(message, mode=mode):
                path.chmod(mode)
                self.folder.chmod(folder_mode)
                try:
                    result = self.fmt("a.exp", code=1, **self.somebody())
                finally:
                    self.folder.chmod(0o755)
                self.assertEqual(result.stderr, f"expc: error: {message}\n")
                path.chmod(0o644)
                self.assertEqual(path.read_text(), LOOSE)
                self.assertEqual(os.listdir(self.folder), ["a.exp"])

    def somebody(self):
        """For root every file can be written: run as another user then."""
        if os.geteuid() != 0:
            return {}
        probe = subprocess.run([EXPC, "--version"], user=65534, capture_output=True) if os.access(EXPC, os.X_OK) else None
        if probe is None or probe.returncode != 0:
            self.skipTest("runs as root, and nobody cannot start expc here")
        return {"user": 65534, "group": 65534, "extra_groups": []}


class Questions(Command):
    def test_check_names_what_would_change(self):
        path = self.write("a.exp", LOOSE)
        self.write("b.exp", TIDY)
        result = self.fmt("--check", ".", code=1)
        self.assertEqual(result.stdout, "./a.exp\n")
        self.assertIn("1 of 2 files would change", result.stderr)
        self.assertEqual(path.read_text(), LOOSE)
        self.assertEqual(self.fmt("--check", "b.exp").stdout, "")

    def test_diff_can_be_applied(self):
        path = self.write("a.exp", LOOSE)
        diff = self.fmt("--diff", "a.exp").stdout
        self.assertEqual(path.read_text(), LOOSE)
        self.assertEqual(self.fmt("--diff", "--check", "a.exp", code=1).stdout, diff)
        self.assertTrue(diff.startswith("--- a.exp\n+++ a.exp\n@@ -1,4 +1,3 @@\n"), diff)
        if shutil.which("patch"):
            subprocess.run(["patch", "-s", "-p0"], input=diff, text=True, check=True, cwd=self.folder)
            self.assertEqual(path.read_text(), TIDY)

    def test_standard_input(self):
        self.assertEqual(self.fmt("-", text=LOOSE).stdout, TIDY)
        self.assertEqual(self.fmt("-", text=TIDY).stdout, TIDY)
        self.assertEqual(self.fmt("-", "--check", text=LOOSE, code=1).stdout, "<stdin>\n")
        self.assertIn("+let a = 1\n", self.fmt("-", "--diff", text=LOOSE).stdout)
        result = self.fmt("-", text="let a", code=1)
        self.assertEqual(result.stdout, "")
        self.assertIn("<stdin>:1:", result.stderr)

    def test_wrong_usage(self):
        self.fmt(code=2)
        self.fmt("-", "a.exp", code=2)
        self.fmt("--indent", "4", "a.exp", code=2)


class Project(Command):
    def test_the_projects_studies_are_formatted(self):
        result = self.fmt("--check", *(ROOT / name for name in ("experiments", "stdlib", "cli/starters")))
        self.assertEqual(result.stdout, "")

    def plans(self, tree):
        """The digest of every plan that the files below `tree` give."""
        digests = {}
        for path in sorted(tree.rglob("*.exp")):
            result = subprocess.run([EXPC, "plan", path.name, "--devices", "cpu:2", "--format", "jsonl"], capture_output=True,
                                    text=True, timeout=120, cwd=path.parent)
            if result.returncode == 0:
                digests[str(path.relative_to(tree))] = [
                    json.loads(line)["digest"] for line in result.stdout.splitlines() if '"digest"' in line]
        return digests

    def test_formatting_keeps_every_digest(self):
        copy = self.folder / "tree"
        for name in ("experiments", "tests/golden"):
            shutil.copytree(ROOT / name, copy / name, ignore=lambda folder, names: [
                n for n in names if not (pathlib.Path(folder) / n).is_dir() and not n.endswith(".exp")])
        before = self.plans(copy)
        # Lines that a formatter would change everywhere, so that the test says something also of tidy files.
        for path in copy.rglob("*.exp"):
            try:
                path.write_text(path.read_text().replace(" in {", "   in{").replace("\n", "\n\n\n"))
            except UnicodeDecodeError:
                pass
        subprocess.run([EXPC, "fmt", copy], capture_output=True)
        self.assertEqual(self.plans(copy), before)
        self.assertGreaterEqual(sum(map(len, before.values())), 5, before)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True, type=os.path.abspath)
    options, rest = parser.parse_known_args()
    EXPC = options.expc
    unittest.main(argv=[__file__, *rest])
