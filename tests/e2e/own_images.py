#!/usr/bin/env python3
"""Scenario B as docs/data.md describes it: shapes are drawn and packed, the page's own study runs over both at 300 x 300; then with an
image damaged, which fails the trial by name or is skipped and counted in the report.

usage: own_images.py --expc PATH
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "data.md"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True)
    expc = str(pathlib.Path(parser.parse_args().expc).resolve())
    page = PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^    expc (.*)$", page, re.M)
    assert len(commands) == 3 and commands[2] == "run own_images.exp --preset quick", commands

    with tempfile.TemporaryDirectory(prefix="expc-own-") as name:
        folder = pathlib.Path(name)

        def call(*arguments, codes=(0,)):
            result = subprocess.run([expc, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)
            assert result.returncode in codes, (arguments, result.returncode, result.stdout[-2000:], result.stderr[-2000:])
            return result

        (folder / "own_images.exp").write_text(re.search(r"^```exp\n(.*?)^```$", page, re.M | re.S).group(1), encoding="utf-8")
        for command in commands[:2]:
            call(*command.replace("--count 1000", "--count 40").split())
        # The page's command, shorter.
        run = [*commands[2].split(), "-D", "design.timed.repeat=6", "-D", "design.timed.warmup=0", "--heat-up", "0", "--devices", "cpu:2"]
        # Which verdict it is, is about times, and so is the exit code.
        judged = json.loads(call(*run, "--format", "json", codes=(0, 3, 4)).stdout)
        print("verdicts:", {c["name"]: c["verdict"] for c in judged["criteria"]})
        assert judged["criteria"][0]["verdict"] in ("pass", "fail", "inconclusive"), judged
        assert [c["name"] for c in judged["criteria"]] == ["packing_pays"], judged

        victim = sorted((folder / "shapes" / "train").rglob("*.jpg"))[5]
        victim.write_bytes(victim.read_bytes()[:5000])
        # An epoch of the damaged folder, once; no claim is left then.
        one = [*run, "-D", 'data=folder("shapes")', "-D", "design.timed.steps=10", "-D", "design.timed.repeat=1"]
        failed = call(*one, "--results", "fail", codes=(1, 4, 5))
        said = failed.stdout + failed.stderr
        assert f"{victim.relative_to(folder)}: damaged JPEG" in said, said[-3000:]
        skipped = call(*one, "-D", "on_corrupt=skip", "--results", "skip", codes=(4,)).stdout
        table = skipped[skipped.index("images_skipped"):]
        assert re.search(r'folder\("shapes"\) .* 1 n=1', table), skipped


if __name__ == "__main__":
    main()
