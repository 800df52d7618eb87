#!/usr/bin/env python3
"""Terminal, page, the tallies at its top, JSON and exit code say the same thing, over every way to a verdict.

The studies run a program whose times follow from its arguments, so that each claim ends in a way known beforehand: passes, fails,
undecided, infeasible, not run, not asked, untrusted, provisional, and open on null cards.

usage: agreement.py --expc PATH --null-worker PATH
"""
import argparse
import base64
import collections
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zlib

OPTIONS = None
WORDS = ("PASS", "FAIL", "BROKEN", "INCONCLUSIVE", "INFEASIBLE", "NOT RUN", "NOT ASKED")

PROGRAM = """import os, pathlib, random, sys
side, seed, what, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4])
if what == "fails" and side == 2:
    sys.exit("it cannot")
if what == "memory" and side == 2:
    pathlib.Path(os.environ["EXPC_OUT_OF_MEMORY"]).write_text("no room")
    sys.exit(1)
time = (3 - side) * random.Random(1000 * seed + side).gauss(1, 0.02)
if what == "unlike-itself":  # whoever comes second in a block is slower
    seen = folder / f"{seed}.{side}"
    time *= 1.15 if seen.exists() else 1
    seen.write_text("")
print(time)
"""

STUDY = """workload job command ["python3", "job.py", "${{side}}", "${{seed}}", "{what}", "{folder}"] {{
  param side : int in 0..2 = 0
  metric t : Time lower from regex("(.+)", unit = 1s)
}}
study s {{
  workload job
  factor side in 0..2 baseline 0
  compare gain = speedup(t) over side
  {control}
  criterion holds:  forall where side == 1: gain >= 1.2x with confidence 95%
  criterion lost:   forall where side == 1: gain >= 2.5x with confidence 95%
  criterion open:   forall where side == 1: gain >= 1.5x with confidence 95%
  criterion third:  forall where side == 2: gain >= 2x with confidence 95%
  criterion memory: forall where side == 2: infeasible
  design {{ repeat 7  seed 5 }}
  preset two {{ only side in {{ 0, 1 }}  keep criterion holds, third }}
}}
"""

NULL_STUDY = """import std.null
study s {
  workload null.idle
  factor step in { 20ms, 10ms } baseline 20ms
  compare gain = speedup(step_time) over step
  criterion holds: forall *: gain >= 1.2x with confidence 95%
  criterion lost:  forall *: gain >= 9x with confidence 95%
  design { repeat 7 steps 1 seed 3 }
}
"""


BADGE = re.compile(r'<span class="badge [a-z]+"><span aria-hidden="true">.</span> ([A-Za-z0-9= ]+)</span>')


class Page:
    """What the page says: of each criterion its word, marks and reason, and the tallies."""

    def __init__(self, text):
        self.claims = {}
        for name, header, rest in re.findall(r'<article class="claim [a-z]+" id="claim-(\w+)"><header>(.*?)<h3>.*?</h3></header>(.*?)</article>',
                                             text, re.S):
            badges = BADGE.findall(header)
            why = re.search(r'<dt>result</dt><dd class="result">(.*?)</dd>', rest, re.S)
            self.claims[name] = (badges[0], set(badges[1:]), plain(why.group(1)) if why else "")
        self.index = {name: (found[0], set(found[1:])) for name, inner in re.findall(r'<a href="#claim-(\w+)">(.*?)</a>', text)
                      if (found := BADGE.findall(inner))}
        self.tallies = {word: int(count) for count, word in re.findall(r'<span class="tally [a-z]+"><b>(\d+)</b> ([a-z0-9=() ]+)</span>', text)}
        following = re.search(r'<div class="next">.*?<li>(?:[^<]*<br><code>)?(.*?)(?:</code>)?</li>', text, re.S)
        self.next = following and plain(following.group(1))
        packed = re.search(r'<script type="text/plain" id="data" data-packed="deflate">(.*?)</script>', text, re.S).group(1)
        self.data = json.loads(zlib.decompress(base64.b64decode(packed)))
        self.null_cards = '<div class="null-cards" role="alert">' in text


def plain(text):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", text)).split())


def terminal(text):
    """Of each criterion its word, marks and reason; a reason may be wrapped."""
    claims = {}
    words = "|".join(sorted(WORDS, key=len, reverse=True))
    for word, marks, name, rest in re.findall(rf"^({words})((?: \([\w=]+\))*) +(\w+): (.*?)(?=^\S|\Z)", text, re.S | re.M):
        claims[name] = (word, set(re.findall(r"\(([\w=]+)\)", marks)), " ".join(rest.split()))
    return claims


def exit_code(criteria, tried):
    """As docs/command-line.md says."""
    if not tried:
        return 5
    asked = [one for one in criteria if one["verdict"] != "not asked"]
    final = [one for one in asked if not one["provisional"] and not one["untrusted"]]
    if any(one["verdict"] == "broken" for one in final):
        return 6
    if any(one["verdict"] in ("fail", "infeasible") for one in final):
        return 3
    return 4 if len(final) < len(asked) or any(one["verdict"] in ("inconclusive", "not run") for one in final) else 0


class Agreement(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="expc-agreement-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "job.py").write_text(PROGRAM, encoding="utf-8")
        (self.folder / "seen").mkdir()

    def write(self, what="well", control=""):
        text = STUDY.format(what=what, control=control, folder=self.folder / "seen")
        (self.folder / "s.exp").write_text(text, encoding="utf-8")

    def expc(self, *arguments):
        done = subprocess.run([OPTIONS.expc, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertIn(done.returncode, (0, 1, 3, 4, 5, 6), done.stderr)
        return done

    def run_study(self, *more, devices=("--devices", "cpu:1")):
        return self.expc("run", "s.exp", *devices, "--heat-up", "0", *more)

    def agreed(self, ran, *more, devices=("--devices", "cpu:1")):
        """What all of them say: {name: (verdict, marks)} and the exit code."""
        text = self.expc("report", "s.exp", *devices, *more)
        data = json.loads(self.expc("report", "s.exp", *devices, *more, "--format", "json").stdout)
        page = Page((self.folder / re.search(r"^Page +(.+\.html)$", text.stdout, re.M)[1]).read_text(encoding="utf-8"))
        self.assertEqual(page.data["criteria"], data["criteria"])
        shown = terminal(text.stdout)
        everything = self.expc("report", "s.exp", *devices, *more, "--all").stdout
        whole = terminal(everything)
        said = {}
        tallies = collections.Counter()
        for one in data["criteria"]:
            marks, open_marks = set(one["marks"]), {mark for mark in ("provisional", "untrusted") if one[mark]}
            self.assertEqual(open_marks, {mark for mark in marks if not mark.startswith("n=")})
            word, why = one["verdict"].upper(), " ".join(one["why"].split())
            self.assertEqual(page.claims[one["name"]], (word, marks, why))
            self.assertEqual(shown[one["name"]][:2], (word, marks))
            self.assertIn(why, shown[one["name"]][2])
            tallies[" ".join([word.lower(), *(f"({mark})" for mark in one["marks"])])] += 1
            self.assertEqual(page.index[one["name"]], (word, marks))
            self.assertEqual(whole[one["name"]][:2], (word, marks))
            self.assertIn(" ".join(one["how_sure"].split()), whole[one["name"]][2])
            # A verdict is a line of its own, with cells only where it does not pass.
            if word == "PASS" and not marks:
                self.assertEqual(shown[one["name"]][2], why)
            self.assertIn(one["tested"], whole[one["name"]][2])
            said[one["name"]] = (one["verdict"], marks)
        self.assertEqual(page.tallies, dict(tallies))
        counted = re.search(r"^\d+ (?:pass|fail|broken|in|not).*$", everything, re.M).group(0)
        self.assertEqual({word: int(count) for count, word in re.findall(r"(\d+) ([a-z0-9=() ]+)", counted)}, dict(tallies))
        following = re.search(r"^Next +.*?(?=^[A-Z])", text.stdout, re.M | re.S)
        command = following and re.search(r"^ +(expc .*)$", following.group(0), re.M)
        said_next = following and (command.group(1) if command else " ".join(following.group(0).split()[1:]))
        self.assertEqual(page.next and (page.next.split("; ")[0] if command else page.next), said_next)
        self.assertTrue(text.stdout.find(data["answer"].split()[0]) < text.stdout.find("\nTrials"))
        tried = any(kind[how] for point in data["points"] for kind in point["trials"]
                    for how in ("valid", "failed", "timeouts", "infeasible", "invalid"))
        self.assertEqual({text.returncode, data["exit_code"], exit_code(data["criteria"], tried)}, {text.returncode})
        if ran is not None:
            self.assertEqual(ran.returncode, text.returncode)
            self.assertEqual(terminal(ran.stdout), shown)
        self.assertEqual(page.null_cards, data["null_cards"])
        self.assertEqual("SIMULATED GPUS" in text.stdout, data["null_cards"])
        return said, text.returncode

    def test_passes_fails_and_undecided(self):
        self.write()
        said, code = self.agreed(self.run_study())
        self.assertEqual(said, {"holds": ("pass", set()), "lost": ("fail", set()), "open": ("inconclusive", set()),
                                "third": ("pass", set()), "memory": ("fail", set())})
        self.assertEqual(code, 3)

    def test_what_is_not_asked(self):
        self.write()
        said, code = self.agreed(self.run_study("--preset", "two"), "--preset", "two")
        self.assertEqual((said, code), ({"holds": ("pass", set()), "third": ("not asked", set())}, 0))

    def test_infeasible(self):
        self.write("memory")
        said, code = self.agreed(self.run_study())
        self.assertEqual((said["third"], said["memory"], code), (("infeasible", set()), ("pass", set()), 3))

    def test_what_fails_and_what_was_not_run(self):
        self.write("fails")
        said, code = self.agreed(self.run_study())
        self.assertEqual((said["holds"], said["third"], code), (("pass", set()), ("broken", set()), 6))
        self.assertEqual(self.agreed(None, "--preset", "two")[1], 0)
        (self.folder / "results").rename(self.folder / "before")
        said, code = self.agreed(self.run_study("--where", "side < 2"))
        self.assertEqual((said["holds"], said["third"][0], code), (("pass", set()), "not run", 3))

    def test_untrusted(self):
        self.write("unlike-itself", "control again = [side = 1]")
        said, code = self.agreed(self.run_study("--preset", "two"), "--preset", "two")
        self.assertEqual((said["holds"][1], code), ({"untrusted"}, 4))

    def test_provisional(self):
        self.write()
        self.run_study("-D", "design.timed.repeat=10")
        said, code = self.agreed(None, "-D", "design.timed.repeat=30")
        self.assertEqual({name: said[name] for name in ("holds", "lost", "third")},
                         {"holds": ("pass", {"provisional"}), "lost": ("fail", {"provisional"}), "third": ("pass", {"provisional"})})
        # A claim that memory runs out is refuted by one trial, whatever comes.
        self.assertEqual((said["memory"], code), (("fail", set()), 3))
        self.assertEqual(self.agreed(None, "-D", "design.timed.repeat=30", "--preset", "two")[1], 4)

    def test_null_cards(self):
        (self.folder / "s.exp").write_text(NULL_STUDY, encoding="utf-8")
        cards = ("--null-gpus", "2")
        ran = self.run_study("--worker", OPTIONS.null_worker, devices=cards)
        said, code = self.agreed(ran, devices=cards)
        self.assertEqual((said, code), ({"holds": ("inconclusive", set()), "lost": ("inconclusive", set())}, 4))

    def test_where_nothing_ran_there_is_no_verdict(self):
        self.write()
        text = self.expc("report", "s.exp", "--devices", "cpu:1", "--results", "none")
        self.assertEqual((text.returncode, text.stdout), (1, ""))
        self.assertIn("no results in 'none'", text.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expc", required=True)
    parser.add_argument("--null-worker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
