#!/usr/bin/env python3
"""What `expc lsp` answers about studies: in a text, `|` marks the place that is asked about.

usage: features_test.py --expc PATH
"""
import argparse
import pathlib
import tempfile
import unittest

from client import Client
from studies import JOBS, STUDY, TWINS

OPTIONS = None


def place(text):
    """The text without its mark, and where it was."""
    at = text.index("|")
    before = text[:at]
    return before + text[at + 1:], before.count("\n"), at - (before.rfind("\n") + 1)


def in_study(old, new, base=STUDY):
    assert old in base, old
    return base.replace(old, new, 1)


class Features(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="expc-lsp-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "jobs.exp").write_text(JOBS, encoding="utf-8")
        (self.folder / "seen.csv").write_text("gpus,s\n1,2\n2,1\n", encoding="utf-8")
        self.client = Client(OPTIONS.expc, self.folder / "cache")
        self.addCleanup(self.client.drop)
        self.client.initialize({"textDocument": {"completion": {"completionItem": {"snippetSupport": True}}}})
        self.number = 0

    def tearDown(self):
        self.assertEqual(self.client.stop(), 0)

    def open(self, text, name=None):
        self.number += 1
        return self.client.open(self.folder / (name or f"study{self.number}.exp"), text)

    def at(self, method, text, **more):
        text, line, character = place(text)
        return self.client.at("textDocument/" + method, self.open(text), line, character, **more)

    def whole(self, method, uri, **more):
        return self.client.request("textDocument/" + method, {"textDocument": {"uri": uri}, **more})


class Diagnostics(Features):
    def codes(self, uri):
        return sorted(d["code"] for d in self.client.diagnostics(uri))

    def test_the_study_of_these_tests_is_good(self):
        self.assertEqual(self.client.diagnostics(self.open(STUDY)), [])

    def test_of_every_phase(self):
        for old, new, code in (("over method\n", "ober method\n", "E0101"), ("gpus in 1..4", "gpus in 1..x", "E0201"),
                               ("in 1..4  baseline 1", "in 1..4  baseline 9", "E0307"),
                               ("repeat 10", "repeat 3", "E0501")):
            self.assertIn(code, self.codes(self.open(in_study(old, new))))

    def test_what_is_of_no_use_is_tagged(self):
        uri = self.open(in_study("let most = 4", "let most = 4  require gpus <= 99"))
        [useless] = [d for d in self.client.diagnostics(uri) if d["code"] == "W0402"]
        self.assertEqual((useless["severity"], useless["tags"]), (2, [1]))

    def test_an_import_that_is_not_saved(self):
        def none(diagnostics):
            return diagnostics == []

        def broken(diagnostics):
            return any("jobs.exp has an error in line 9" in d["message"] for d in diagnostics)
        study = self.open(STUDY)
        self.client.until(study, none)
        jobs = self.open(JOBS, "jobs.exp")
        self.client.until(jobs, none)
        # The buffer of the import counts, not the file; both are told.
        self.client.change(jobs, 2, JOBS.replace("wall     : Time", "total    : Time"))
        self.client.until(study, lambda all: "E0201" in [d["code"] for d in all])
        self.client.until(jobs, none)
        self.client.change(jobs, 3, JOBS.replace("param gpus", "parm gpus"))
        [there] = [d for d in self.client.until(study, broken) if "has an error" in d["message"]]
        self.assertEqual(there["range"], {"start": {"line": 0, "character": 7}, "end": {"line": 0, "character": 17}})
        self.assertEqual(there["relatedInformation"][0]["location"]["uri"], jobs)
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": jobs}})
        self.client.until(study, none)

    def test_a_file_that_appears(self):
        uri = self.open('import "later.exp"\nlet a = 1\n')
        self.assertEqual(self.codes(uri), ["E0218"])
        (self.folder / "later.exp").write_text("let b = 1\n", encoding="utf-8")
        self.client.notify("workspace/didChangeWatchedFiles", {"changes": []})
        self.client.until(uri, lambda all: all == [])


class Hover(Features):
    def hover(self, text):
        answer = self.at("hover", text)
        return answer and answer["contents"]["value"]

    def test_a_study_counts_its_points(self):
        text = self.hover(in_study("study cost", "study co|st"))
        self.assertIn("Does tuning cost time?", text)
        self.assertIn("9 of 12 combinations", text)
        self.assertIn("none, lora, qlora", text)

    def test_a_factor_counts_those_of_its_levels(self):
        text = self.hover(in_study("over method", "over met|hod"))
        for part in ("`none` (4)", "`lora` (4)", "`qlora` (1)", "baseline: `none`", "method"):
            self.assertIn(part, text)

    def test_a_parameter(self):
        text = self.hover(in_study("size = 300px", "si|ze = 300px"))
        self.assertIn("param size : Pixels in 16px..1024px", text)
        self.assertIn("range: `16px..1024px`", text)
        self.assertIn("unit: `px`", text)
        self.assertIn("default: `224px`", text)
        text = self.hover(JOBS.replace("param rank", "param ra|nk"))
        self.assertIn("Rank of the adapters.", text)
        self.assertIn("active when: `method in { lora, qlora }`", text)

    def test_a_metric(self):
        text = self.hover(in_study("ratio(wall)", "ratio(wa|ll)"))
        for part in ("metric wall : Time", "Wall time of it all.", "unit: `s`", "better: lower", "from trials: timed"):
            self.assertIn(part, text)

    def test_levels_lets_comparisons_words(self):
        self.assertIn("level of: `method`", self.hover(in_study("baseline none", "baseline no|ne")))
        self.assertIn("let most = 4", self.hover(in_study("gpus <= most", "gpus <= mo|st")))
        self.assertIn("ratio(wall) over method", self.hover(in_study("slower[method", "slo|wer[method")))
        self.assertIn("treated / baseline", self.hover(in_study("= ratio(", "= rat|io(")))
        self.assertIn("std.image", self.hover(in_study("std.image", "std.im|age")))
        self.assertIn("Trains for a while.", self.hover(in_study("jobs.train", "jobs.tr|ain")))
        self.assertIsNone(self.hover(in_study("Does tuning", "Does tu|ning")))

    def test_twins_and_pairs(self):
        self.assertIn("type: `Time`", self.hover(in_study("per_gpu =", "per_|gpu =", TWINS)))
        self.assertIn("type: `Ratio`", self.hover(in_study("compare grows", "compare gr|ows", TWINS)))
        self.assertIn("`(dali, native)` (1)", self.hover(in_study("over (source", "over |(source", TWINS)))
        self.assertIn("param layout", self.hover(in_study("layout) in", "lay|out) in", TWINS)))
        self.assertIn("points: 4", self.hover(in_study("study twins", "study tw|ins", TWINS)))
        self.assertIn("other(layout = native)", self.hover(in_study("workload = ours]  ", "workload = ou|rs]  ",
                                                                    TWINS.replace("ours] >=", "ours]   >="))))

    def test_words_of_one_place(self):
        self.assertIn("whether the devices are GPUs", self.hover(in_study("gpus <= most", "system.gpu.pre|sent")))
        self.assertIn("memory of one device", self.hover("system box { gpu.mem|ory = 80GB }"))
        self.assertIn("memory of a node", self.hover("system box { mem|ory = 80GB }"))
        self.assertIn("otherwise", self.hover("let a = cho|ose(true, 1, 2)"))
        self.assertIn("the largest", self.hover("let a = m|ax(1, 2)"))

    def test_units(self):
        self.assertIn("1GiB = 1073741824B", self.hover("let a = 4Gi|B"))
        rate = self.hover("let a = 5img/m|s")
        self.assertIn("1img = 1img\n1ms = 1/1000s\n", rate)
        self.assertIn("`Images` / `Time`", rate)
        self.assertIsNone(self.hover("let a = 4|2"))

    def test_while_the_file_is_wrong(self):
        text = in_study("workload jobs.train", "workload jobs.tain").replace("forall gpus", "forall gp|us")
        self.assertIn("factor gpus in 1..4", self.hover(text))
        text = in_study("baseline none", "baseline nobody").replace("1.5x  with", "1.5x + mo|st  with")
        self.assertIn("let most = 4", self.hover(text))
        text = JOBS.replace("metric wall     : Time lower timed", "metric wa|ll     : Time")
        self.assertIn("Wall time of it all.", self.hover(text))

    def test_while_the_file_is_broken(self):
        text = in_study("over method\n", "over\n")
        self.assertIn("values: `none, lora, qlora`", self.hover(text.replace(
            "factor method", "factor me|thod")))
        self.assertIn("metric wall", self.hover(text.replace("table slower by gpus", "table wa|ll by gpus")))


class Completion(Features):
    def labels(self, text):
        return [item["label"] for item in self.at("completion", text)]

    def offers(self, text, *wanted, never=()):
        labels = self.labels(text)
        for label in wanted:
            self.assertIn(label, labels, text)
        for label in never:
            self.assertNotIn(label, labels, text)

    def test_heads_by_block(self):
        self.offers("|", "import", "study", "workload", "enum", never=["factor", "param"])
        self.offers("import std.image\nst|", "study")
        self.offers("study s {\n  |", "workload", "factor", "criterion", "preset", never=["version", "import"])
        self.offers("study s {\n  workload jobs.train()\n  fac|\n}\n", "factor")
        self.offers("workload w {\n  |\n}\n", "param", "metric", "require", "version", "estimate", never=["factor"])
        self.offers("study s { design {\n |", "timed", "quality", "seed", "budget", never=["factor"])
        self.offers("study s { design { timed { | } } }", "repeat", "steps", never=["seed", "quality"])

    def test_modules(self):
        self.offers("import |", "std.image")
        self.offers("import std.|", "image", never=["study"])
        self.offers('import std.image\nstudy s {\n  workload image.|', "mobilenet_v2")
        self.offers('import "jobs.exp"\nstudy s {\n  workload |', "jobs.train")
        self.offers('import "jobs.exp"\nworkload w {\n  param a : jobs.|', "method")

    def test_arguments(self):
        base = 'import "jobs.exp"\nstudy s {\n  workload jobs.train('
        self.offers(base + "|", "method", "rank", "gpus", "size", never=["wall"])
        self.offers(base + "method = lora, |)\n}\n", "rank", never=["method"])
        self.offers(base + "method = |", "none", "lora", "qlora", never=["rank"])
        self.offers(base + "rank = 4, method = l|)\n  factor gpus in 1..2\n}\n", "lora")

    def test_factors_and_levels(self):
        self.offers(in_study("factor gpus in 1..4  baseline 1", "factor |"), "gpus", "rank",
                    never=["method", "size", "wall"])
        self.offers(in_study("{ none, lora, qlora }", "{ none, | }"), "lora", "qlora", never=["gpus"])
        self.offers(in_study("baseline none", "baseline |"), "none", "lora")
        self.offers(in_study("in 1..4  baseline 1", "in 1..4 |"), "baseline", "when")
        self.offers(in_study("gpus <= most", "method == |"), "lora", never=["gpus"])
        self.offers(in_study("gpus <= most", "method in { lora, | }"), "qlora", never=["gpus"])
        self.offers(in_study("gpus <= most", "|"), "gpus", "rank", "most", "system")

    def test_words_of_one_place(self):
        self.offers(in_study("gpus <= most", "system.|"), "gpus", "gpu.present", "host.link", never=["method"])
        self.offers(in_study("gpus <= most", "system.gpu.|"), "present", "bandwidth", "fp64", never=["gpus"])
        self.offers(in_study("gpus <= most", "system.host.|"), "link", never=["memory"])
        self.offers(in_study("gpus <= most", "|"), "choose", "max", "min")
        self.offers("system box {\n  |\n}", "gpu.memory", "nodes", never=["study"])
        self.offers(in_study("preset quick {", "preset quick {\n    design.timed.|\n"), "repeat", "steps", never=["seed"])

    def test_half_written_statements_are_read_by_the_grammar(self):
        broken = in_study("factor gpus in 1..4  baseline 1", "factor gpus in {\n  compare other = |")
        self.offers(broken, "ratio", "speedup", never=["study"])
        self.offers(in_study("table slower by gpus, method", "table slower by gpus\n  |"), "plot", "criterion")

    def test_units(self):
        self.offers(in_study("size = 300px", "size = 300|"), "300px", never=["300ms", "300GiB"])
        self.offers(in_study("size = 300px", "size = 300p|x"), "300px")
        self.offers("let a = 40G|", "40GiB", "40GB", "40ms")
        item = [i for i in self.at("completion", "let a = 40G|") if i["label"] == "40GiB"][0]
        self.assertEqual(item["textEdit"], {"newText": "40GiB", "range": {
            "start": {"line": 0, "character": 8}, "end": {"line": 0, "character": 11}}})

    def test_snippets_where_the_client_takes_them(self):
        head = [i for i in self.at("completion", "st|") if i["label"] == "study"][0]
        self.assertEqual((head["insertTextFormat"], head["textEdit"]["newText"]), (2, "study ${1:name} {\n  $0\n}"))
        plain = Client(OPTIONS.expc, self.folder / "cache")
        self.addCleanup(plain.drop)
        plain.initialize()
        text, line, character = place("st|")
        items = plain.at("textDocument/completion", plain.open(self.folder / "p.exp", text), line, character)
        head = [i for i in items if i["label"] == "study"][0]
        self.assertEqual((head.get("insertTextFormat"), head["textEdit"]["newText"]), (None, "study"))
        self.assertEqual(plain.stop(), 0)

    def test_comparisons_and_criteria(self):
        self.offers(in_study("ratio(wall) over method", "|"), "ratio", "speedup", "efficiency")
        self.offers(in_study("ratio(wall)", "ratio(|)"), "wall", "accuracy", never=["gpus"])
        self.offers(in_study("over method\n", "over |\n"), "method", "gpus", never=["rank"])
        self.offers(in_study("over method\n", "over method against |\n"), "lora", "previous")
        self.offers(in_study("cheap: forall gpus:", "cheap: |"), "forall", "exists", "slower", "wall")
        self.offers(in_study("cheap: forall gpus:", "cheap: forall |:"), "gpus", "method", never=["rank"])
        self.offers(in_study("cheap: forall gpus:", "cheap: at least 2 of |:"), "gpus", "method", never=["rank"])
        self.offers(in_study("cheap: forall gpus:", "cheap: at|"), "at least")
        self.offers(in_study("slower[method = lora]", "slower[|]"), "method", "gpus")
        self.offers(in_study("slower[method = lora]", "slower[method = |]"), "lora", "qlora", never=["gpus"])
        self.offers(in_study("1.5x  with confidence", "1.5x  |"), "with", "and", "or")
        self.offers(in_study("design { timed", "expected |\n  design { timed"), "slower", "wall", "cheap")

    def test_twins_and_pairs(self):
        def offers(old, new, *wanted, never=()):
            self.offers(in_study(old, new, TWINS), *wanted, never=never)
        offers("faster[workload = ours]", "faster[workload = |]", "ours", "theirs", never=["dali"])
        offers("over workload against theirs", "over |", "workload", "gpus")
        offers("over workload against theirs", "over workload against |", "ours", "theirs")
        offers("baseline (dali, native)", "baseline (|", "dali", "native")
        offers("over (source, layout)", "over |", "(source, layout)")
        offers("[gpus = 2, workload = ours]", "[gpus = 2, |]", "workload")
        offers("[gpus = 2, workload = ours]", "[gpus = 2, workload = |]", "ours")
        offers(">= 1.0x  with", "like |  with", "seen")
        (self.folder / "theirs.exp").write_text('reference known from "seen.csv" { gpus }\n', encoding="utf-8")
        known = TWINS.replace('import "jobs.exp"', 'import "jobs.exp"\nimport "theirs.exp"')
        self.offers(in_study(">= 1.0x  with", "like |  with", known), "seen", "theirs.known")
        self.offers(in_study(">= 1.0x  with", "like theirs.|  with", known), "known", never=["seen"])
        offers("gpus  wall", "|", "gpus", "wall")
        offers("ours   = other(layout = native)", "ours   = |", "other", "jobs.train")
        offers("ours   = other(layout = native)", "ours   = other(layout = |)", "dali", "native")

    def test_design_and_presets(self):
        self.offers(in_study("only gpus in { 1, 2 }", "only |"), "gpus", "method")
        self.offers(in_study("only gpus in { 1, 2 }", "only method in { | }"), "none", "lora")
        self.offers(in_study("remove criterion cheap", "remove criterion |"), "cheap")
        self.offers(in_study("remove criterion cheap", "\n    |"), "only", "remove", "size", "design")
        self.offers(in_study("remove criterion cheap", "method = |"), "lora")

    def test_declarations(self):
        self.offers(JOBS.replace(": method = none", ": |"), "int", "Time", "method")
        self.offers(JOBS.replace(": method = none", ": method = |"), "lora")
        self.offers(JOBS.replace("Time lower timed", "Time |"), "lower", "higher", "timed", "exact")
        self.offers(JOBS.replace(": method = none", ": method = none  with |"), "strong scaling when")

    def test_nothing_in_comments_texts_and_enums(self):
        self.assertEqual(self.labels("// stu|"), [])
        self.assertEqual(self.labels('import "jo|bs.exp"\n'), [])
        self.assertEqual(self.labels('import "jo|\n'), [])
        self.assertEqual(self.labels("enum method { lo| }"), [])

    def test_everywhere_in_a_study_and_in_its_halves(self):
        """No place makes trouble, whatever is missing after it or before it."""
        for text in (STUDY, STUDY[:len(STUDY) // 2]):
            uri = self.open(text)
            for line, content in enumerate(text.split("\n")):
                for character in range(0, len(content) + 1, 3):
                    self.client.at("textDocument/completion", uri, line, character)


class Navigation(Features):
    def target(self, text):
        answer = self.at("definition", text)
        return answer and (answer["uri"], answer["range"]["start"]["line"], answer["range"]["start"]["character"])

    def test_across_imports(self):
        jobs = (self.folder / "jobs.exp").as_uri()
        self.assertEqual(self.target(in_study("jobs.train", "jobs.tr|ain")), (jobs, 4, 9))
        self.assertEqual(self.target(in_study("ratio(wall)", "ratio(|wall)")), (jobs, 11, 9))
        self.assertEqual(self.target(in_study("baseline none", "baseline none|")), (jobs, 1, 14))
        self.assertEqual(self.target(in_study("factor method", "factor m|ethod")), (jobs, 5, 8))
        self.assertEqual(self.target(in_study('"jobs.exp"', '"jo|bs.exp"')), (jobs, 0, 0))
        self.assertEqual(self.target(in_study("over method", "over |method"))[1:], (6, 9))
        self.assertIsNone(self.target(in_study("repeat 10", "rep|eat 10")))

    def test_into_a_built_in_module(self):
        uri, line, _ = self.target("import std.image\nstudy s {\n  workload image.mobile|net_v2(size = 32px)\n}\n")
        path = pathlib.Path(uri[len("file://"):])
        self.assertTrue(path.is_relative_to(self.folder / "cache"), path)
        self.assertIn("workload mobilenet_v2", path.read_text(encoding="utf-8").split("\n")[line])
        # And it can be asked about like any other file.
        shown = self.client.open(path)
        self.assertEqual(self.client.diagnostics(shown), [])

    def test_references(self):
        self.open(JOBS, "jobs.exp")
        text, line, character = place(in_study("over method", "over me|thod"))
        uri = self.open(text)
        found = self.client.at("textDocument/references", uri, line, character, context={"includeDeclaration": True})
        self.assertEqual([(f["uri"], f["range"]["start"]["line"]) for f in found],
                         [(uri, n) for n in (6, 9, 10, 11, 13)])
        # Of a parameter: the study that varies it too, from the file that declares it.
        jobs = (self.folder / "jobs.exp").as_uri()
        found = self.client.at("textDocument/references", jobs, 5, 9, context={"includeDeclaration": False})
        places = {(f["uri"], f["range"]["start"]["line"]) for f in found}
        self.assertTrue({(uri, 6), (uri, 10), (jobs, 7)} <= places, places)
        self.assertNotIn((jobs, 5), places)

    def test_highlights(self):
        found = self.at("documentHighlight", in_study("let most", "let mo|st"))
        self.assertEqual([(f["range"]["start"]["line"], f["kind"]) for f in found], [(8, 3), (9, 2)])

    def test_outline(self):
        [study] = self.whole("documentSymbol", self.open(STUDY))
        self.assertEqual(study["name"], "cost")
        self.assertEqual([child["name"] for child in study["children"]],
                         ["train", "method", "gpus", "most", "few", "slower", "cheap", "quick"])
        self.assertEqual(study["selectionRange"]["start"], {"line": 4, "character": 6})

    def test_rename(self):
        text, line, character = place(in_study("slower =", "slow|er ="))
        uri = self.open(text)
        self.assertEqual(self.client.at("textDocument/prepareRename", uri, line, character)["placeholder"], "slower")
        edit = self.client.at("textDocument/rename", uri, line, character, newName="cost_of_it")
        self.assertEqual([e["range"]["start"]["line"] for e in edit["changes"][uri]], [10, 11, 13])
        for name in ("most", "factor", "1x", "a b", ""):
            error = self.client.error("textDocument/rename", {"textDocument": {"uri": uri}, "newName": name,
                                      "position": {"line": line, "character": character}})
            self.assertEqual(error["code"], -32803, name)
        # Names of a part stand in the documents that use it, too.
        part = "part p {\n  compare gain = ratio(wall) over n\n}\n"
        module = self.client.open(self.folder / "lib.exp", part)
        study = ("import \"lib.exp\"\nworkload w command [\"x\", options] {\n  param n : int = 1\n  metric wall : Time lower\n}\n"
                 "study s {\n  workload w\n  factor n in { 1, 2 }  baseline 1\n  use lib.p\n"
                 "  criterion c: gain[n = 2] <= 1x  always\n  design { repeat 1 }\n}\n")
        uri_of_study = self.client.open(self.folder / "of_part.exp", study)
        edit = self.client.at("textDocument/rename", uri_of_study, 9, 16, newName="less")
        self.assertEqual({uri: [e["range"]["start"]["line"] for e in edits] for uri, edits in edit["changes"].items()},
                         {module: [1], uri_of_study: [9]})
        self.assertIn("over n", self.client.at("textDocument/hover", uri_of_study, 9, 16)["contents"]["value"])
        self.assertEqual(self.client.at("textDocument/definition", uri_of_study, 8, 11)["uri"], module)
        # A parameter's name is other files' business too.
        self.assertIsNone(self.client.at("textDocument/prepareRename", uri, 5, 24))


class Mending(Features):
    def test_a_fix_is_an_action(self):
        uri = self.open(in_study("ratio(wall)", "ratio(wal)"))
        [diagnostic] = [d for d in self.client.diagnostics(uri) if d["code"] == "E0201"]
        here = {"range": diagnostic["range"], "context": {"diagnostics": [diagnostic]}}
        quick = [a for a in self.whole("codeAction", uri, **here) if a["kind"] == "quickfix"]
        self.assertEqual(quick[0]["title"], "Replace 'wal' by 'wall'")
        self.assertEqual(quick[0]["edit"]["changes"][uri], [{"range": diagnostic["range"], "newText": "wall"}])
        self.assertNotIn("isPreferred", quick[0])  # it is a guess
        here["context"]["only"] = ["source"]
        self.assertEqual(self.whole("codeAction", uri, **here), [])
        here["context"]["only"] = ["refactor"]
        self.assertEqual(self.whole("codeAction", uri, **here), [])
        start = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
        self.assertEqual(self.whole("codeAction", uri, range=start, context={"only": ["quickfix"]}), [])

    def test_all_that_is_certain_is_mended_at_once(self):
        uri = self.open("let a = 1;\nlet b = 2 == 2 && 1 > 0\n")
        [diagnostic] = [d for d in self.client.diagnostics(uri) if "&&" in d["message"]]
        here = {"range": diagnostic["range"], "context": {"diagnostics": [diagnostic]}}
        quick, every = self.whole("codeAction", uri, **here)
        self.assertTrue(quick["isPreferred"])
        self.assertEqual(every["kind"], "source.fixAll")
        self.assertEqual([e["newText"] for e in every["edit"]["changes"][uri]], ["", "and"])

    def test_formatting(self):
        options = {"tabSize": 8, "insertSpaces": False}
        [edit] = self.whole("formatting", self.open("let a   = 1\n// ünchanged\n\n\n\nlet   b = 2\n"), options=options)
        self.assertIn("let b = 2", edit["newText"])
        self.assertEqual(self.whole("formatting", self.open("let a = 1\n"), options=options), [])
        self.assertIsNone(self.whole("formatting", self.open("let a = = 1\n"), options=options))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True, type=pathlib.Path)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=["features_test.py", *rest])
