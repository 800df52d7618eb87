#!/usr/bin/env python3
"""The extension for VS Code as tools/vsix packs it: the file, its snippets, and its client, which Node runs with vscode.js in VS Code's place.

usage: vscode_test.py --expc PATH
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree
import zipfile

from studies import JOBS, STUDY

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTIONS = None


def filled(body):
    """What stands in the editor after a snippet was taken and nothing typed."""
    text, values = "\n".join(body), {}
    for name, value in re.findall(r"(?<!\\)\$\{(\d+):([^}]*)\}", text):
        values.setdefault(name, value)
    text = re.sub(r"(?<!\\)\$\{(\d+)(?::[^}]*)?\}", lambda place: values[place[1]], text)
    return text.replace("\\$", "$").replace("\\}", "}") + "\n"


class Extension(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="expc-vscode-")))
        subprocess.run([ROOT / "tools/vsix", "--to", cls.folder], check=True, capture_output=True)
        cls.packed, = cls.folder.glob("expc-*.vsix")
        with zipfile.ZipFile(cls.packed) as archive:
            archive.extractall(cls.folder / "vsix")
        cls.extension = cls.folder / "vsix/extension"
        cls.package = json.loads((cls.extension / "package.json").read_text())

    def test_the_file(self):
        identity = xml.etree.ElementTree.parse(self.folder / "vsix/extension.vsixmanifest").find(".//{*}Identity").attrib
        said = subprocess.run([OPTIONS.expc, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertIn(identity["Version"], said)
        self.assertEqual([identity[name] for name in ("Id", "Publisher", "Version")], [self.package[name] for name in ("name", "publisher", "version")])
        contributed = self.package["contributes"]
        named = [one["path"] for kind in ("grammars", "snippets") for one in contributed[kind]] + [one["configuration"] for one in contributed["languages"]]
        for name in named + [self.package["main"]]:
            self.assertTrue((self.extension / name).is_file(), name)
        for path in self.extension.glob("*.json"):
            json.loads(path.read_text())
        ends = {element.get("Extension") for element in xml.etree.ElementTree.parse(self.folder / "vsix/[Content_Types].xml").getroot()}
        self.assertEqual({path.suffix for path in (self.folder / "vsix").rglob("*") if path.is_file()} - ends, {".xml"})
        again = self.folder / "again"
        subprocess.run([ROOT / "tools/vsix", "--to", again], check=True, capture_output=True)
        self.assertEqual((again / self.packed.name).read_bytes(), self.packed.read_bytes())

    def test_snippets_are_studies(self):
        for name, snippet in json.loads((self.extension / "snippets.json").read_text()).items():
            with self.subTest(snippet=name):
                study = self.folder / "snippet.exp"
                study.write_text(filled(snippet["body"]))
                (self.folder / "job").write_text("#!/bin/sh\n")
                (self.folder / "job").chmod(0o755)
                done = subprocess.run([OPTIONS.expc, "check", study], capture_output=True, text=True, cwd=self.folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(subprocess.run([OPTIONS.expc, "fmt", "--check", study], capture_output=True).returncode, 0, study.read_text())

    @unittest.skipUnless(shutil.which("node"), "Node is missing: tools/setup --tests")
    def test_the_client(self):
        studies = self.folder / "a study's folder, ä"
        studies.mkdir()
        (studies / "jobs.exp").write_text(JOBS, encoding="utf-8")
        (studies / "study.exp").write_text(STUDY, encoding="utf-8")
        done = subprocess.run(["node", pathlib.Path(__file__).parent / "vscode.js", self.extension, OPTIONS.expc.resolve(), studies], capture_output=True, text=True,
                              timeout=240, stdin=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)})
        self.assertIn("all steps passed", done.stdout, done.stdout + done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True, type=pathlib.Path)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[__file__, *rest])
