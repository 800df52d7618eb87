#!/usr/bin/env python3
"""The commands that help to write studies: explain, check --fix, SARIF, --version. Measures nothing.

usage: tools_test.py --expc PATH
"""
import json
import os
import pathlib
import re
import stat
import subprocess
import unittest

from command import Command, main

ROOT = pathlib.Path(__file__).resolve().parents[2]

STUDY = """import std.image
import "shared/limits.exp"

study sizes {
  workload image.mobilenet_v2(data = mnist("data/digits"))
  factor precision in { fp64, fp32 } baseline fp64
  measure step_time
  compare gain = speedup(step_time) over precision
  criterion c: forall *: gain >= limits.least always
  design { timed { repeat 10  steps 30 } }
  preset both { only precision in { fp64, fp32 } }
}
"""


class Tools(Command):
    timeout = 120


class Explain(Tools):
    def test_by_code_in_any_case_and_by_name(self):
        page = self.expc("explain", "E0203").stdout
        self.assertTrue(page.startswith("E0203 unknown-unit\n\n"))
        for part in ("Wrong", "Right", "How to fix it", "    let window = 3sec            // E0203"):
            self.assertIn(part, page)
        self.assertEqual(page, self.expc("explain", "e0203").stdout)
        self.assertEqual(page, self.expc("explain", "unknown-unit").stdout)
        self.assertLessEqual(max(map(len, page.splitlines())), 100)

    def test_list_has_a_line_for_each_kind(self):
        kinds = re.findall(r'^EXPC_DIAGNOSTIC_KIND\(\w+, "([EW]\d{4})", "([a-z0-9-]+)"\)',
                           (ROOT / "compiler/diag/kinds.def").read_text(), re.M)
        lines = self.expc("explain", "--list").stdout.splitlines()
        self.assertEqual([tuple(line.split()[:2]) for line in lines], kinds)
        self.assertTrue(all(len(line.split()) > 4 for line in lines))
        self.assertEqual("\n".join(lines) + "\n", self.expc("explain").stdout)

    def test_unknown_code_suggests(self):
        self.assertIn("did you mean 'unknown-unit'?", self.expc("explain", "unkown-unit", code=2).stderr)
        self.assertIn("'expc explain' without a code", self.expc("explain", "quite another thing", code=2).stderr)

    def test_colour_only_where_asked(self):
        self.assertNotIn("\x1b", self.expc("explain", "E0203").stdout)
        self.assertIn("\x1b[1;31m// E0203\x1b[0m", self.expc("--color", "always", "explain", "E0203").stdout)
        self.assertIn("\x1b[1;35mW0402\x1b[0m", self.expc("--color", "always", "explain").stdout)

    def test_diagnostics_end_with_how_to_learn_more(self):
        self.write("two.exp", "let a = 3sec\nlet b = 4sec\nlet c = 1s + 1B\n")
        lines = self.expc("check", "two.exp", code=1).stderr.splitlines()
        self.assertEqual(lines[-1], "run 'expc explain E0203' for more (also E0207)")
        self.assertEqual(sum("expc explain" in line for line in lines), 1)
        self.assertNotIn("expc explain", self.expc("check", "two.exp", "--format", "json", code=1).stderr)
        self.write("fine.exp", "let a = 3s\n")
        self.assertEqual(self.expc("check", "fine.exp").stderr, "fine.exp: no mistakes found\n")


class Version(Tools):
    def test_says_the_build_torch_and_cuda_and_help_says_every_exit_code(self):
        said = self.expc("--version").stdout
        self.assertRegex(said, r"\Aexpc \d+\.\d+\.\d+\nbuild: \w+, \w+ [\d.]+\ntorch: (none|[\d.]+)\nCUDA: (none|[\d.]+)\n\Z")
        self.assertIn("6 a point always fails", self.expc("--help").stdout)


class Fix(Tools):
    def setUp(self):
        super().setUp()
        # The first round mends what cannot be parsed; only then is the study looked at.
        self.study = self.write("sizes.exp", STUDY.replace("only precision in", "precision =").replace("std.image\n", "std.image;\n"))
        self.limits = self.write("shared/limits.exp", "# shared\nlet least = 1.2x\n")

    def test_writes_study_and_import_and_says_what(self):
        result = self.expc("check", "sizes.exp", "--fix")
        self.assertEqual(self.study.read_text(), STUDY)
        self.assertEqual(self.limits.read_text(), "// shared\nlet least = 1.2x\n")
        self.assertEqual(result.stderr.splitlines(), [
            "sizes.exp:1:17: removed `;` (E0102 unexpected-character)",
            "shared/limits.exp:1:1: replaced `#` by `//` (E0102 unexpected-character)",
            "sizes.exp:11:17: replaced `precision = { fp64, fp32 }` by `only precision in { fp64, fp32 }` (E0326 assigns-factor)",
            "3 changes in 2 files"])
        self.assertEqual(self.expc("check", "sizes.exp", "--fix").stderr, "nothing to fix\n")

    def test_reports_what_is_left(self):
        self.study.write_text(self.study.read_text().replace("steps 30", "steps 30sec"))
        result = self.expc("check", "sizes.exp", "--fix", code=1)
        self.assertIn("3 changes in 2 files", result.stderr)
        self.assertIn("error[E0203]", result.stderr)
        self.assertNotIn("E0102]", result.stderr)
        self.assertIn("only precision in", self.study.read_text())

    def test_a_guess_is_shown_and_not_carried_out(self):
        self.limits.write_text("let least = 1.2x\n")
        self.study.write_text(STUDY.replace("baseline fp64", "baseline fp63"))
        result = self.expc("check", "sizes.exp", "--fix", code=1)
        self.assertIn("note: did you mean 'fp64'?", result.stderr)
        self.assertIn("nothing to fix", result.stderr)
        self.assertIn("baseline fp63", self.study.read_text())
        self.assertEqual(self.expc("check", "sizes.exp", "--fix", "--diff", code=1).stdout, "")
        document = self.document("check", "sizes.exp", code=1)
        fix, = document["diagnostics"][0]["fixes"]
        self.assertEqual((fix["applicability"], fix["replacement"]), ("guess", "fp64"))

    def test_what_is_no_file_is_left_alone(self):
        self.study.write_text(STUDY)
        self.limits.write_text("let least = 1.2x\n")
        # A file of that name must not be taken for the argument.
        override = self.write("-D", "batch=2;")
        result = self.expc("check", "sizes.exp", "-D", "batch=2;", "--fix", code=2)
        self.assertIn("E0102", result.stderr)
        self.assertIn("nothing to fix", result.stderr)
        self.assertEqual(override.read_text(), "batch=2;")
        self.assertEqual(self.expc("check", "sizes.exp", "-D", "batch=2;", "--fix", "--diff", code=2).stdout, "")

    def test_diff_shows_and_writes_nothing(self):
        before = self.study.read_text(), self.limits.read_text()
        diff = self.expc("check", "sizes.exp", "--fix", "--diff").stdout
        self.assertEqual((self.study.read_text(), self.limits.read_text()), before)
        subprocess.run(["git", "apply", "-p0"], input=diff, text=True, cwd=self.folder, check=True)
        self.assertEqual(self.study.read_text(), STUDY)
        self.assertEqual(self.limits.read_text(), "// shared\nlet least = 1.2x\n")

    def test_diff_needs_fix_and_text(self):
        self.expc("check", "sizes.exp", "--diff", code=2)
        self.expc("check", "sizes.exp", "--fix", "--diff", "--format", "json", code=2)

    def test_keeps_mode_and_link_and_leaves_no_other_file(self):
        self.study.chmod(0o640)
        link = self.folder / "link.exp"
        link.symlink_to("sizes.exp")
        self.expc("check", "link.exp", "--fix")
        self.assertTrue(link.is_symlink())
        self.assertEqual(self.study.read_text(), STUDY)
        self.assertEqual(stat.S_IMODE(self.study.stat().st_mode), 0o640)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["link.exp", "shared", "sizes.exp"])

    @unittest.skipIf(os.geteuid() == 0, "root may write everything")
    def test_a_file_that_may_not_be_written_changes_none(self):
        self.limits.chmod(0o444)
        before = self.study.read_text()
        self.assertIn("limits.exp", self.expc("check", "sizes.exp", "--fix", code=1).stderr)
        self.assertEqual(self.study.read_text(), before)

    def test_clean_study_is_untouched(self):
        self.study.write_text(STUDY)
        self.limits.write_text("let least = 1.2x\n")
        stamp = self.study.stat().st_mtime_ns
        self.expc("check", "sizes.exp", "--fix")
        self.assertEqual(self.study.stat().st_mtime_ns, stamp)

    def test_missing_file(self):
        result = self.expc("check", "nowhere.exp", "--fix", code=1)
        self.assertIn("nowhere.exp", result.stderr)
        self.assertNotIn("nothing to fix", result.stderr)

    def test_rest_as_json(self):
        document = self.document("check", "sizes.exp", "--fix")
        self.assertEqual(document["diagnostics"], [])


class Sarif(Tools):
    def log(self, path, code):
        return json.loads(self.expc("check", path, "--format", "sarif", code=code).stdout)

    def test_essentials_of_the_schema(self):
        self.write("shared/limits.exp", "let least = 1.2x\n")
        self.write("my study.exp", STUDY.replace("(step_time)", "(step_tme)").replace("steps 30", "steps 30sec"))
        log = self.log("my study.exp", 1)
        self.assertEqual(log["version"], "2.1.0")
        self.assertIn("sarif-2.1.0", log["$schema"])
        run, = log["runs"]
        self.assertEqual(run["columnKind"], "unicodeCodePoints")
        driver = run["tool"]["driver"]
        self.assertEqual(driver["name"], "expc")
        self.assertEqual([rule["id"] for rule in driver["rules"]], ["E0201", "E0203"])
        for rule in driver["rules"]:
            self.assertTrue(rule["help"]["text"].startswith(rule["id"]))
            self.assertTrue(rule["help"]["markdown"].startswith("# " + rule["id"]))
            self.assertTrue(rule["shortDescription"]["text"].endswith("."))
            self.assertEqual(rule["defaultConfiguration"]["level"], "error")
        self.assertEqual([result["ruleId"] for result in run["results"]], ["E0201", "E0203"])
        for result in run["results"]:
            self.assertEqual(driver["rules"][result["ruleIndex"]]["id"], result["ruleId"])
            self.assertEqual(result["level"], "error")
            self.assertTrue(result["message"]["text"])
            place, = result["locations"]
            self.assertEqual(place["physicalLocation"]["artifactLocation"]["uri"], "my%20study.exp")
            region = place["physicalLocation"]["region"]
            self.assertGreaterEqual((region["endLine"], region["endColumn"]), (region["startLine"], region["startColumn"]))

    def test_fixes_mend(self):
        text = "let a = 1;\nlet größe = 2\n"
        path = self.write("a.exp", text.replace("größe", "groesse") + 'let b = "ä" == "ä" && 1 > 0\n')
        before = path.read_text()
        result = self.log("a.exp", 1)["runs"][0]["results"]
        lines = before.splitlines(keepends=True)
        for entry in reversed(result):
            fix, = entry["fixes"]
            change, = fix["artifactChanges"]
            self.assertEqual(change["artifactLocation"]["uri"], "a.exp")
            for replacement in change["replacements"]:
                region = replacement["deletedRegion"]
                line = lines[region["startLine"] - 1]
                self.assertEqual(region["startLine"], region["endLine"])
                lines[region["startLine"] - 1] = (line[:region["startColumn"] - 1] + replacement["insertedContent"]["text"] +
                                                  line[region["endColumn"] - 1:])
        path.write_text("".join(lines))
        self.assertEqual(path.read_text().splitlines()[0], "let a = 1")
        self.expc("check", path)

    def test_related_places_and_nothing_to_say(self):
        self.write("twice.exp", "let a = 1\nlet a = 2\n")
        result, = self.log("twice.exp", 1)["runs"][0]["results"]
        related, = result["relatedLocations"]
        self.assertEqual(related["physicalLocation"]["region"]["startLine"], 1)
        self.assertTrue(related["message"]["text"])
        self.write("fine.exp", "let a = 1\n")
        self.assertEqual(self.log("fine.exp", 0)["runs"][0]["results"], [])

    def test_what_has_no_place(self):
        self.write("only.exp", "import std.image\n")
        result, = self.log("only.exp", 1)["runs"][0]["results"]
        self.assertEqual(result["ruleId"], "E0301")
        self.assertNotIn("locations", result)


LIBRARY = """// Jobs of the group.
// Everyone may use them.

/// How it is tuned.
ordered enum method { none, lora }

/// A job of ours. It has
/// a long comment.
workload train {
  version 3
  /// The data; `none` of it by default.
  param data : path
  param method : method = none
  param rank : int in 1..256 by *2 = 8  when method == lora
  /// Wall time.
  metric wall : Time lower
  metric images_s : Images / Time higher timed
  metric memory : Bytes lower timed exact
  metric accuracy : Share in 0%..100% higher quality
  require small: method == none or rank <= 64   // a remark
    because "it is slow"
}
/// A program. It is read by what it prints.
workload other command ["run.sh", "${rank}"] timeout 2h {
  param rank : int in 1..8 = 1
  metric wall : Time lower
  metric step : Time lower from regex("([0-9.]+) ms",
    unit = 1ms)
  metric curve : Share higher quality series
  metric memory : Bytes lower exact
  metric share = step / wall lower
  /// Of the weights.
  estimate memory = 1GiB * rank
  estimate memory = 1GiB when rank > 2
}
/// A machine.
system box { gpus = 4  gpu.memory = 94GB }
/// Theirs.
reference table2 from "table2.csv" { rank  wall = column(t) * 1s }
/// The least gain.
let least = 1.2x
/// A study of jobs.
study jobs {
  workload train(data = "x")
  factor method in { none, lora }
  measure wall
  design { timed { repeat 10  steps 1 } }
}
"""


class Doc(Tools):
    def test_lists_the_modules(self):
        lines = self.expc("doc").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines],
                         sorted(f"std.{path.stem}" for path in (ROOT / "stdlib").glob("*.exp")))
        self.assertTrue(all(len(line.split()) > 3 for line in lines))

    def test_module_by_both_names_and_one_workload(self):
        page = self.expc("doc", "std.image").stdout
        self.assertEqual(page, self.expc("doc", "image").stdout)
        self.assertIn("workload image.mobilenet_v2", page)
        self.assertIn("    size : Pixels in 16px..1024px = 224px\n        Height and width of the input.\n", page)
        self.assertRegex(page, r"\n  precision \{ fp64, fp32, [a-z0-9, ]+ \}\n      \w")
        one = self.expc("doc", "image", "mobilenet_v2").stdout
        self.assertIn("mnist(path)", one)

    def test_file(self):
        self.write("jobs.exp", LIBRARY)
        page = self.expc("doc", "jobs.exp").stdout
        for part in ("jobs.exp\n\nJobs of the group. Everyone may use them.\n",
                     "workload jobs.train  version 3\n\n  A job of ours. It has a long comment.\n",
                     "    data : path\n        The data; `none` of it by default.\n",
                     "    rank : int in 1..256 by *2 = 8  when method == lora\n",
                     "    wall : Time lower timed\n        Wall time.\n",
                     "    images_s : Images / Time higher timed\n", "    memory : Bytes lower timed exact\n",
                     "    accuracy : Share in 0%..100% higher quality\n",
                     "    require small: method == none or rank <= 64\n        because it is slow\n",
                     "  ordered method { none, lora }\n      How it is tuned.\n",
                     "  least = 1.2x\n      The least gain.\n",
                     "workload jobs.other  version 1\n", "  runs \"run.sh\" \"${rank}\"\n",
                     '    step : Time lower timed  from regex("([0-9.]+) ms", unit = 1ms)\n',
                     "    curve : Share higher quality series\n", "    share lower = step / wall\n",
                     "    memory = 1GiB * rank\n        Of the weights.\n    memory = 1GiB  when rank > 2\n",
                     "system jobs.box\n\n  A machine.\n\n    gpus       = 4\n    gpu.memory = 94GB\n",
                     '  table2 from "table2.csv"\n      Theirs.\n',
                     "study jobs\n\n  A study of jobs.\n", "    method in { none, lora }\n"):
            self.assertIn(part, page)
        one = self.expc("doc", "jobs.exp", "train").stdout
        self.assertIn("jobs.train", one)
        self.assertNotIn("least", one)

    def test_markdown(self):
        self.write("jobs.exp", LIBRARY)
        page = self.expc("doc", "jobs.exp", "--format", "markdown").stdout
        for part in ("# jobs.exp\n\nJobs of the group.\nEveryone may use them.\n", "## workload jobs.train\n",
                     "| parameter | type | range | default | active when | meaning |\n",
                     "| `data` | `path` |  | must be given |  | The data; `none` of it by default. |\n",
                     "| `rank` | `int` | `1..256 by *2` | `8` | `method == lora` |  |\n",
                     "| `memory` | `Bytes` | lower | timed exact |  |\n",
                     "| metric | type | better | from trials | is | read from |\n",
                     '| `step` | `Time` | lower | timed |  | `regex("([0-9.]+) ms", unit = 1ms)` |\n',
                     "| `share` |  | lower |  | `step / wall` |  |\n", "## system jobs.box\n\nA machine.\n",
                     "| `gpu.memory` | `94GB` |\n", "| `table2` | `\"table2.csv\"` | Theirs. |\n",
                     "| `small` | `require method == none or rank <= 64` | it is slow |\n",
                     "| `method` | in order: `none`, `lora` | How it is tuned. |\n"):
            self.assertIn(part, page)

    def test_refusals(self):
        self.assertIn("did you mean 'std.image'?", self.expc("doc", "std.imag", code=1).stderr)
        self.assertIn("'expc doc' lists them", self.expc("doc", "nothingness", code=1).stderr)
        self.assertIn("did you mean 'mobilenet_v2'?", self.expc("doc", "image", "mobilnet_v2", code=1).stderr)
        self.assertIn("nowhere.exp", self.expc("doc", "nowhere.exp", code=1).stderr)
        self.write("broken.exp", "let = 3\n")
        self.assertIn("error[E0101]", self.expc("doc", "broken.exp", code=1).stderr)


class New(Tools):
    STARTERS = ("image.mobilenet_v2", "llm.finetune", "command", "torch")

    def test_starters_are_in_order_plan_and_are_formatted(self):
        for number, workload in enumerate(self.STARTERS):
            with self.subTest(workload):
                result = self.expc("new", f"first_{number}", "--workload", workload)
                path = self.folder / f"first_{number}.exp"
                self.assertIn(f"expc check first_{number}.exp", result.stdout)
                self.assertIn(f"study first_{number} {{", path.read_text())
                check = self.expc("check", path)
                self.assertEqual((check.stdout, check.stderr), ("", f"{path}: no mistakes found\n"))
                for preset in ([], ["--preset", "quick"]):
                    lines = self.expc("plan", path, "--devices", "cpu:2", "--format", "jsonl", *preset).stdout.splitlines()
                    self.assertGreater(len(lines), 3)
                self.expc("fmt", "--check", path)

    def test_the_starter_of_torch_comes_with_its_script(self):
        self.expc("new", "sub_net", "--workload", "torch")
        compile((self.folder / "sub_net.py").read_text(), "sub_net.py", "exec")
        self.assertIn('inputs "sub_net.py"', (self.folder / "sub_net.exp").read_text())
        (self.folder / "sub_net.exp").unlink()
        self.assertIn("sub_net.py exists", self.expc("new", "sub_net", "--workload", "torch", code=1).stderr)
        self.assertFalse((self.folder / "sub_net.exp").exists())

    def test_default_name_and_folder(self):
        self.expc("new")
        self.assertIn("study starter {", (self.folder / "starter.exp").read_text())
        (self.folder / "sub").mkdir()
        self.expc("new", "sub/mine.exp")
        self.assertIn("study mine {", (self.folder / "sub/mine.exp").read_text())

    def test_refuses_to_overwrite(self):
        path = self.write("mine.exp", "precious\n")
        self.assertIn("--force", self.expc("new", "mine", code=1).stderr)
        self.assertEqual(path.read_text(), "precious\n")
        self.expc("new", "mine", "--force")
        self.assertIn("study mine {", path.read_text())

    def test_names_and_workloads_that_cannot_be(self):
        for name in ("2fast", "a-b", "study", "forall", "über", ""):
            self.assertIn("cannot name a study", self.expc("new", name, code=2).stderr)
        self.assertIn("did you mean 'command'?", self.expc("new", "a", "--workload", "comand", code=2).stderr)
        self.assertIn("nowhere", self.expc("new", "nowhere/a", code=1).stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    main()
