#!/usr/bin/env python3
"""`expc bundle`: what goes into one, what another machine makes of it, and what it refuses.

usage: bundle_test.py --expc PATH
"""
import io
import json
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import tarfile
import tempfile

from command import OPTIONS, Command, main

STUDY = """import "shared/job.exp" as shared

/// Whether nothing takes no time.
study nothing {
  workload shared.nothing
  factor level in 1..3
  measure wall
  criterion quick: forall *: wall <= 1min
  design { repeat 7 }
}
"""
JOB = """workload nothing command ["echo", "${level}"] {
  param level : int in 1..10 = 1
  metric wall : Time lower
}
"""


class Bundle(Command):
    timeout = 120

    def setUp(self):
        super().setUp()
        self.write("shared/job.exp", JOB)
        self.write("nothing.exp", STUDY)
        self.expc("run", "nothing.exp", "--devices", "cpu:1", "--heat-up", "0")
        self.expc("plan", "nothing.exp", "--lock", "--devices", "cpu:1")

    def bundle(self, *more, code=0):
        return self.expc("bundle", "nothing.exp", "--devices", "cpu:1", *more, code=code)

    def open(self, path, *more, code=0, folder=None):
        return self.expc("bundle", str(path), *more, code=code, folder=folder)

    def test_another_machine_verifies_reports_and_replicates(self):
        self.assertIn("21 trials", self.bundle("--author", "Ada").stdout)
        archive = self.folder / "nothing.bundle.tar.zst"
        self.assertIn("quick: pass", self.open(archive).stdout)
        self.open(archive, "--to", "out")
        out = self.folder / "out"
        names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
        self.assertLessEqual({"nothing.exp", "shared/job.exp", "nothing.exp.lock", "plan.json", "manifest.json", "CITATION.cff", "README.md",
                              "nothing.html", "results/journal/000001.jsonl"}, names)
        self.assertEqual(sum(name.startswith("results/outputs/") for name in names), 21)
        self.assertIn('name: "Ada"', (out / "CITATION.cff").read_text())
        judged = self.document("report", "plan.json", folder=out)
        self.assertEqual([c["verdict"] for c in judged["criteria"]], ["pass"])
        self.expc("run", "nothing.exp", "--results", "mine", "--devices", "cpu:1", "--heat-up", "0", folder=out)

    def test_without_names(self):
        # Lanes have sessions of their own, and their nodes a place in devices.
        self.expc("run", "nothing.exp", "--devices", "cpu:2", "--jobs", "2", "--heat-up", "0", "--fresh")
        self.bundle("--anonymous", "-D", "design.share=2")
        self.open("nothing.bundle.tar.zst", "--to", "out")
        self.assertFalse((self.folder / "out/results/outputs").exists(), "names may stand in what programs wrote")
        for path in (self.folder / "out").rglob("*"):
            if path.is_file():
                self.assertNotIn(str(self.folder), path.read_text(), path)
                if path.suffix != ".html":  # its scripts have short words of their own
                    self.assertIsNone(re.search(rf"\b{re.escape(socket.gethostname())}\b", path.read_text()), path)

    def test_a_name_that_is_left_fails_the_command(self):
        home = self.folder / "home/ada"
        home.mkdir(parents=True)
        (self.folder / "shared/job.exp").write_text(JOB.replace("${level}\"]", "${level}\", \"${place}\"]").replace("param", "param place : string = \"x\"\n  param", 1))
        (self.folder / "nothing.exp.lock").unlink()
        given = ["-D", f'place="{home}/x"', "--devices", "cpu:1"]
        self.expc("run", "nothing.exp", *given, "--heat-up", "0", code=None, HOME=str(home))
        done = self.expc("bundle", "nothing.exp", *given, "--anonymous", code=1, HOME=str(home))
        self.assertIn("no bundle was written", done.stderr)
        self.assertIn("plan.json", done.stderr)
        self.assertEqual(list(self.folder.glob("*.zst")), [])

    def test_names_beyond_ascii(self):
        (self.folder / "nothing.exp").rename(self.folder / "größe.exp")
        self.expc("bundle", "größe.exp", "--devices", "cpu:1")
        self.expc("bundle", "nothing.bundle.tar.zst", "--to", "out", LC_ALL="C")
        self.assertTrue((self.folder / "out/größe.exp").exists())

    def test_a_partner_has_what_the_trials_read(self):
        self.write("tool.sh", "#!/bin/sh\ncat lib/part.txt\n").chmod(0o755)
        self.write("lib/part.txt", "5")
        self.write("README.md", "mine")
        self.write("table.bin", "x" * (5 << 20))
        self.write("rows.txt", "7")
        self.write("in.exp", """workload w command ["./tool.sh", "${rows}"] {
  inputs "lib/*.txt", "README.md", "table.bin"
  param rows : path = "rows.txt"
  metric t : Time lower from regex("([0-9]+)", unit = 1ms)
}
study reads { workload w  measure t  criterion quick: forall *: t <= 1min  design { repeat 2 } }
""")
        self.expc("run", "in.exp", "--devices", "cpu:1", "--heat-up", "0", "-D", "design.seed=7")
        said = self.expc("bundle", "in.exp", "--devices", "cpu:1", "-D", "design.seed=7").stdout
        self.assertIn("2 trials of reads, its report and 3 inputs\n", said)
        for line in ("not included: table.bin has 5.00 MiB, more than fits into a bundle\n", "not included: README.md has the name of another file in the archive"):
            self.assertIn(line, said)
        self.assertIn("not included: table.bin has 5.00 MiB, more than fits into a bundle; put it", self.open("reads.bundle.tar.zst", "--to", "out").stdout)
        out = self.folder / "out"
        readme = (out / "README.md").read_text()
        self.assertRegex(readme, r"- `table.bin` has 5.00 MiB, more than fits into a bundle \(digest [0-9a-f]{32}\)")
        command, = re.findall(r"^    (expc run .*--results mine)", readme, re.M)
        command = [*shlex.split(command)[1:], "--devices", "cpu:1", "--heat-up", "0"]
        self.assertIn("'table.bin' matches no file in", self.expc(*command, folder=out, code=1).stderr)
        (out / "table.bin").write_bytes((self.folder / "table.bin").read_bytes())
        self.expc(*command, folder=out)
        self.assertIn("2 trials", self.expc("bundle", "in.exp", "--devices", "cpu:1", "-D", "design.seed=7", "--results", "mine", "--to", "again.tar.zst", folder=out).stdout)
        # An input that has changed since the run is left out.
        self.write("rows.txt", "8")
        self.assertIn("not included: rows.txt has changed since it was measured",
                      self.expc("bundle", "in.exp", "--devices", "cpu:1", "-D", "design.seed=7", "--to", "later.tar.zst").stdout)

    def test_what_a_killed_command_left_is_removed_by_the_next(self):
        self.bundle()
        place = self.folder / "place"
        place.mkdir()
        command = [OPTIONS.expc, "bundle", str(self.folder / "nothing.bundle.tar.zst"), "--to", "out"]
        for signal_ in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            for _ in range(20):
                process = subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                while process.poll() is None and not any(place.iterdir()):
                    pass
                process.send_signal(signal_)
                process.wait()
                if not (place / "out").exists():
                    break
                subprocess.run(["rm", "-rf", place / "out"], check=True)
            self.open(self.folder / "nothing.bundle.tar.zst", "--to", "out", folder=place)
            self.assertEqual([path.name for path in place.iterdir()], ["out"])
            subprocess.run(["rm", "-rf", place / "out"], check=True)

    def refuse(self, change, *parts):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.open("nothing.bundle.tar.zst", "--to", str(folder / "out"))
            change(folder / "out")
            bad = folder / "bad.bundle.tar.zst"
            with tarfile.open(folder / "bad.tar", "w") as tar:
                for path in sorted((folder / "out").rglob("*")):
                    if not path.is_dir() or path.is_symlink():
                        tar.add(path, str(path.relative_to(folder / "out")), recursive=False)
            subprocess.run(["zstd", "-q", str(folder / "bad.tar"), "-o", str(bad)], check=True)
            done = self.open(bad, "--to", str(folder / "new/refused"), code=1)
            self.assertEqual([p.name for p in folder.iterdir() if p.name not in ("out", "bad.tar", bad.name)], [], "nothing of it stays")
            for part in ("verification failed", *parts):
                self.assertIn(part, done.stderr)
            return done.stderr

    def test_what_was_changed_is_refused(self):
        self.bundle()
        self.refuse(lambda out: (out / "nothing.exp").write_text(STUDY + "\n"), "nothing.exp", "differs from the manifest")
        self.refuse(lambda out: (out / "more.txt").write_text("x"), "more.txt", "not in the manifest")
        self.refuse(lambda out: (out / "plan.json").unlink(), "plan.json", "missing")
        # Leases of other engines are not packed.
        self.refuse(lambda out: (out / "results/expc.sqlite").write_text("x"), "results/expc.sqlite")
        self.refuse(lambda out: (out / "results/expc.lease").write_text("{}"), "results/expc.lease")
        self.refuse(lambda out: (out / "link").symlink_to("/etc/passwd"), "link", "not a plain file")
        self.refuse(lambda out: (out / "manifest.json").write_text("[" * 5000), "")

        def verdict(out):
            manifest = json.loads((out / "manifest.json").read_text())
            manifest["verdicts"][0]["verdict"] = "fail"
            (out / "manifest.json").write_text(json.dumps(manifest))
        self.refuse(verdict, "verdicts")

    def test_an_archive_of_a_stranger_writes_nothing_outside(self):
        for name in ("../evil", "/tmp/expc-evil", "a/../../evil"):
            with tarfile.open(self.folder / "evil.tar", "w") as tar:
                (self.folder / "x").write_text("x")
                info = tar.gettarinfo(self.folder / "x", name)
                info.name = name
                with (self.folder / "x").open("rb") as content:
                    tar.addfile(info, content)
            subprocess.run(["zstd", "-qf", str(self.folder / "evil.tar"), "-o", str(self.folder / "evil.bundle.tar.zst")], check=True)
            done = self.open("evil.bundle.tar.zst", "--to", "deep/out", code=1)
            self.assertIn("not a plain file", done.stderr)
            self.assertFalse((self.folder / "evil").exists() or (self.folder / "deep/evil").exists() or pathlib.Path("/tmp/expc-evil").exists())
            subprocess.run(["rm", "-rf", str(self.folder / "deep")], check=True)

    def test_a_small_archive_does_not_become_a_large_folder(self):
        def pack(name, members):
            with tarfile.open(self.folder / "big.tar", "w") as tar:
                for member, size in members:
                    info = tarfile.TarInfo(member)
                    info.size = size
                    tar.addfile(info, io.BytesIO(b"0" * size))
            subprocess.run(["zstd", "-qf", str(self.folder / "big.tar"), "-o", str(self.folder / name)], check=True)
            return self.open(name, code=1).stderr
        self.assertIn("more than expc unpacks", pack("large.bundle.tar.zst", [("manifest.json", 64 << 20)]))
        self.assertIn("more files and folders than", pack("many.bundle.tar.zst", ((f"d/{i}", 0) for i in range(20000))))
        self.assertIn("more files and folders than", pack("deep.bundle.tar.zst", ((f"{i}/" + "d/" * 400 + "f", 0) for i in range(100))))
        long = pack("long.bundle.tar.zst", [("a" * 100000, 0)])
        self.assertIn("not a plain file", long)
        self.assertLess(len(long), 1000)
        self.assertIn("more files and folders than", pack("deeper.bundle.tar.zst", [("d/" * 2000 + "f", 0)]))

    def test_a_message_about_a_bundle_has_an_end(self):
        self.bundle()
        def name(out):
            manifest = json.loads((out / "manifest.json").read_text())
            manifest["files"]["x" * 100000] = "0"
            (out / "manifest.json").write_text(json.dumps(manifest))
        self.assertLess(len(self.refuse(name, "is missing")), 5000)

    def test_what_cannot_be_is_said(self):
        self.bundle()
        self.assertIn("exists", self.bundle(code=1).stderr)
        self.assertIn("no results in", self.bundle("--results", "none", "--to", "x.bundle.tar.zst", code=1).stderr)
        self.assertIn("--to needs a name that ends in .tar.zst, such as b.zst.tar.zst", self.bundle("--to", "b.zst", code=2).stderr)
        self.assertIn("none/b.tar.zst: No such file or directory", self.bundle("--to", "none/b.tar.zst", code=1).stderr)
        (self.folder / "cut.bundle.tar.zst").write_bytes((self.folder / "nothing.bundle.tar.zst").read_bytes()[:2000])
        self.assertIn("verification failed", self.open("cut.bundle.tar.zst", code=1).stderr)


if __name__ == "__main__":
    main()
