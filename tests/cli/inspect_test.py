#!/usr/bin/env python3
"""`expc data inspect`: every kind of problem is found, with file and place and in order, and the numbers are those of the rows.

usage: inspect_test.py --expc PATH
"""
import json
import os
import pathlib
import re
import shutil
import struct

from command import Command, main

TOKENIZER = pathlib.Path(__file__).resolve().parents[1] / "parity/golden/text/toy_tokenizer.json"
STUDY = """import std.llm
study s {
  workload llm.finetune(model = tiny, template = plain, batch = 64, data = file("rows.jsonl"), max_length = 64tok)
  factor method in { lora, qlora }
  measure iteration_time
  design { timed { repeat 1  steps 1  warmup 0 } seed 1 }
}
"""


def row(question, answer, **more):
    return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}], **more}


class Inspect(Command):
    def rows(self, name, rows):
        return self.write(name, "".join(json.dumps(one) + "\n" for one in rows))

    def inspect(self, *arguments, code=0):
        return json.loads(self.expc("data", "inspect", *arguments, "--format", "json", code=code).stdout)["sets"]

    def found(self, problems):
        return [(one["severity"], one.get("file", ""), one.get("rows", one.get("images", []))) for one in problems]

    def test_problems_of_rows_have_file_and_row_and_the_worst_is_first(self):
        self.rows("rows.jsonl", [row("one", "yes"), row("two", "no"), row("one", "yes"), row("TWO ", "no"), {"messages": 3}, row("three", " "),
                                 row("four" * 30, "lost"), row("five", "six " * 40), row("seven", "<|eot_id|>")])
        self.rows("held.jsonl", [row("new", "x"), row("two", "no"), row("Seven", "<|EOT_id|>")])
        (of,) = self.inspect("rows.jsonl", "--validation", "held.jsonl", "--max-length", 100, code=1)
        places = {one["file"] + one["text"] if "file" in one else one["text"]: self.found([one])[0] for one in of["problems"]}
        for part, place in (("expected an array of messages", ("error", "rows.jsonl", [5])), ("held out and trained on", ("warning", "held.jsonl", [2])),
                            ("held out and but for case", ("warning", "held.jsonl", [3])), ("nothing of the answer is left", ("warning", "rows.jsonl", [7])),
                            ("an answer is empty", ("warning", "rows.jsonl", [6])), ("longer than 100 tokens", ("warning", "rows.jsonl", [8])),
                            ("repeats an earlier row (", ("warning", "rows.jsonl", [3])), ("repeats an earlier row but", ("warning", "rows.jsonl", [4])),
                            ("rows.jsonlthe text holds the name of a special token", ("note", "rows.jsonl", [9]))):
            self.assertEqual([found for text, found in places.items() if part in text], [place], part)
        order = [one["severity"] for one in of["problems"]]
        self.assertEqual(order, sorted(order, key=["error", "warning", "note"].index))
        self.assertEqual((of["rows"], of["validation"]["rows"], of["lengths"]["longest_row"]), (8, 3, 8))
        # A byte is a token: two messages with four tokens of header and end around the role's name, and both ends.
        self.assertEqual(of["lengths"]["shortest"], 2 + len("user" "two" "assistant" "no") + 2 * (2 + 2 + 1))
        self.assertEqual(sum(one["rows"] for one in of["lengths"]["bins"]), 8)
        self.assertEqual({name: share["messages"] for name, share in of["roles"].items()}, {"user": 8, "assistant": 8})
        said = self.expc("data", "inspect", "rows.jsonl", "--validation", "held.jsonl", code=1).stdout
        self.assertIn("rows.jsonl: row 5: 'messages' is a number", said)
        self.assertIn("█", said)

    def test_a_study_tells_how_rows_are_read_and_what_the_longest_costs(self):
        self.rows("rows.jsonl", [row("q" * i, "a") for i in range(60)])
        self.write("s.exp", STUDY)
        (of,) = self.inspect("s.exp")
        self.assertEqual((of["template"], of["rows"], of["memory"]["point"]), ("plain", 60, "method=lora"))
        self.assertGreater(of["memory"]["longest_row_bytes"], of["memory"]["median_row_bytes"])
        (more,) = self.inspect("s.exp", "-D", "max_length=32tok", "-D", "method=qlora")
        self.assertLess(more["learnt"], of["learnt"])
        self.assertIn("if all rows had the median length (method=lora)", self.expc("data", "inspect", "s.exp").stdout)
        self.write("t.exp", STUDY.replace('file("rows.jsonl")', "synthetic(5)"))
        self.assertIn("no point of it reads rows or images from files", self.expc("data", "inspect", "t.exp", code=1).stderr)
        self.write("u.exp", "study {")
        self.expc("data", "inspect", "u.exp", code=1)

    def test_rows_that_a_quality_trial_would_refuse_are_refused_before_the_first_trial(self):
        self.rows("rows.jsonl", [row("q" * i, "a", split="train") for i in range(1, 90)])
        self.rows("held.jsonl", [row("x", "y"), row("x", "y", weight=-0.5)])
        self.rows("cut.jsonl", [row("x" * 90, "y")])
        self.rows("exam.jsonl", [row("q", "a", choices=["b", "c"]), row("x", "a")])
        quality = STUDY.replace("iteration_time", "iteration_time, evaluation_loss").replace("warmup 0 }", "warmup 0 } quality { repeat 1  epochs 1 }")
        said = lambda text: " ".join(text.replace(f"{self.folder}/", "").split())  # noqa: E731
        for argument, why in (('validation = file("held.jsonl")', "validation: held.jsonl: row 2: 'weight' is -0.5, expected 0 or a number from 0.0001 to 10000"),
                              ('validation = file("cut.jsonl")', "validation: none of the 1 rows of cut.jsonl has an answer within max_length = 64"),
                              ('validation = column("split")', "validation: column 'split' of rows.jsonl leaves no row to evaluate"),
                              ('questions = file("exam.jsonl")', "questions: exam.jsonl: row 1: its answer is not one of 'choices'")):
            with self.subTest(argument):
                self.write("s.exp", quality.replace("max_length = 64tok", "max_length = 64tok, " + argument))
                self.assertIn(why, said(self.expc("run", "s.exp", "--devices", "cpu:1", code=1).stderr))
                self.assertIn("Cannot run yet: " + why, said(self.expc("plan", "s.exp", "--devices", "cpu:1").stdout))
                # Timed trials read none of these.
                self.write("s.exp", STUDY.replace("max_length = 64tok", "max_length = 64tok, " + argument))
                self.assertNotIn("Cannot run yet", self.expc("plan", "s.exp", "--devices", "cpu:1").stdout)
        # The rows are as they should be, and the parameter that names the column is not; trials of every kind read it.
        self.write("s.exp", STUDY.replace("max_length = 64tok", 'max_length = 64tok, validation = column("splt")'))
        self.assertIn("error: validation: rows.jsonl: row 1: unknown column 'splt'", said(self.expc("run", "s.exp", "--devices", "cpu:1", code=1).stderr))
        self.write("s.exp", STUDY.replace("max_length = 64tok", 'max_length = 64tok, questions = file("exam.jsonl")'))
        (of,) = self.inspect("s.exp", code=1)
        self.assertEqual((of["questions"]["rows"], self.found(of["problems"])[0]), (2, ("error", "exam.jsonl", [1])))
        self.assertIn(("warning", "exam.jsonl", [1]), self.found(of["problems"]))  # trained on as well
        # A row that cannot be read keeps no other row from being judged as a question.
        self.rows("exam.jsonl", [row("q", "a"), {"messages": 3}, row("x", "a", choices=["b", "c"])])
        (of,) = self.inspect("s.exp", code=1)
        errors = [(one["rows"], one["text"][:14]) for one in of["problems"] if one["severity"] == "error"]
        self.assertEqual((of["questions"]["rows"], errors), (2, [([2], "'messages' is "), ([3], "not a question")]))

    def test_rows_with_tools_are_chats_and_rows_switched_off_are_noted(self):
        call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"b": 1, "a": 2}}}]}
        messages = [{"role": "user", "content": "q"}, call, {"role": "tool", "content": "7"}, {"role": "assistant", "content": "seven"}]
        self.rows("rows.jsonl", [{"messages": messages, "tools": [{"name": "f"}]}, row("q", "a", train=False), row("q", "b", loss_scale=0.5)])
        (of,) = self.inspect("rows.jsonl", "--tokenizer", TOKENIZER, code=1)
        self.assertEqual((of["template"], of["rows"], {name: share["messages"] for name, share in of["roles"].items()}),
                         ("chat", 2, {"system": 2, "user": 2, "assistant": 3, "ipython": 1}))
        self.assertEqual(self.found(of["problems"]), [("error", "rows.jsonl", [3]), ("note", "rows.jsonl", [2])])
        self.assertIn("'loss_scale' is 0.5", of["problems"][0]["text"])
        self.assertNotIn("weights", of)

    def test_weights_are_shown(self):
        half = {"role": "assistant", "content": "b", "weight": 0.5}
        turns = row("q", "a")["messages"] + [{"role": "user", "content": "r"}, half]
        self.rows("rows.jsonl", [row("p", "a"), {"messages": turns, "weight": 3}, row("s", "a", weight=0), row("t", "c", loss_weight=4)])
        (of,) = self.inspect("rows.jsonl", "--tokenizer", TOKENIZER)
        self.assertEqual(of["weights"], {"rows": 2, "least": 1.5, "most": 4})
        self.assertIn("weights   1.5 to 4 in 2 rows; all others weigh 1\n", self.expc("data", "inspect", "rows.jsonl", "--tokenizer", TOKENIZER).stdout)
        self.rows("pairs.jsonl", [{"prompt": "q", "chosen": "a", "rejected": "b", "weight": weight} for weight in (1, 0.25)])
        (of,) = self.inspect("pairs.jsonl", "--tokenizer", TOKENIZER)
        self.assertEqual(of["weights"], {"rows": 1, "least": 0.25, "most": 0.25})

    def test_a_plan_reads_the_first_part_of_a_large_file_and_a_run_all_of_it(self):
        line = json.dumps(row("q", "a", ignored="a" * 999_000))
        self.write("rows.jsonl", "".join(f"{line}\n" for _ in range(75)) + json.dumps(row("q", "b" * 5, weight=-1)) + "\n")
        self.write("s.exp", STUDY)
        planned = self.expc("plan", "s.exp", "--devices", "cpu:1")
        self.assertNotIn("Cannot run yet", planned.stdout)
        self.assertRegex(planned.stderr, r"note: \S*rows\.jsonl after row 67 is not checked yet \(64 MiB are\); a run checks all of it")
        self.assertRegex(planned.stderr, r"memory of trials that read \S*rows\.jsonl is estimated by its first 67 rows \(64 MiB\)")
        self.assertIn("rows.jsonl: row 76: 'weight' is -1", self.expc("run", "s.exp", "--devices", "cpu:1", code=1).stderr)
        (of,) = self.inspect("s.exp", code=1)
        self.assertEqual((of["rows"], self.found(of["problems"])[0]), (75, ("error", "rows.jsonl", [76])))

    def test_every_broken_line_is_listed(self):
        good = json.dumps(row("q", "a"))
        broken = [good[:-1], good.replace('"a"', '"a'), good.replace(":", "=", 1), "nonsense", "[1]", good.replace('"a"', '"a\nb"')]
        lines = [good, broken[0], good, broken[1], broken[2], good, "", broken[3], broken[4], broken[5], good]
        self.write("rows.jsonl", "\n".join(lines) + "\n")
        (of,) = self.inspect("rows.jsonl", "--tokenizer", TOKENIZER, code=1)
        errors = [one for one in of["problems"] if one["severity"] == "error"]
        self.assertEqual([int(re.search(r"\(line (\d+)\)$", one["text"])[1]) for one in errors], [2, 4, 5, 8, 9, 10, 11])
        self.assertEqual(of["rows"], 4)
        for one, said in zip(errors, ("before its brackets are closed", "within a text", "is not JSON", "is not JSON", "expected an object", "within a text")):
            self.assertIn(said, one["text"])
        self.write("rows.json", "[" + ",\n".join([good, "{1}", good, '"x"', good]) + "]")
        (of,) = self.inspect("rows.json", "--tokenizer", TOKENIZER, code=1)
        self.assertEqual(([one["rows"] for one in of["problems"] if one["severity"] == "error"], of["rows"]), ([[2], [4]], 3))
        self.write("rows.csv", "instruction,output\nq,a\nq\nq,a,b\nr,b\n")
        (of,) = self.inspect("rows.csv", "--tokenizer", TOKENIZER, code=1)
        self.assertEqual(([one["rows"] for one in of["problems"] if one["severity"] == "error"], of["rows"]), ([[2], [3]], 2))

    def test_hostile_files_are_errors_with_a_way_out(self):
        for name, text, why in (("a.jsonl", "", "the file is empty"), ("b.jsonl", '{"messages": [', "it may be truncated"),
                                ("c.jsonl", "[" * 100000, "it may be truncated"), ("d.csv", "messages\nx\n", "CSV has no arrays"),
                                ("e.jsonl", '{"x\\u001b": 1}', "no template reads its columns"), ("f.json", "\0\xff", "is not")):
            self.write(name, text)
            done = self.expc("data", "inspect", name, code=1)
            self.assertNotIn("\x1b", done.stdout + done.stderr)
            self.assertIn(name, done.stdout + done.stderr)
            self.assertIn(why, done.stdout + done.stderr)
        for words, why in ((("none.jsonl",), "none.jsonl"), (("none",), "none: no such file or folder")):
            self.assertIn(why, self.expc("data", "inspect", *words, code=1).stderr)
        self.write("s.exp", STUDY)
        for words, why in ((("s.exp", "--pairs"), "a study says how its rows are read"), (("a.jsonl", "-D", "x=1"), "are for a study"),
                           (("a.jsonl", "--template", "poem"), "poem"), (("a.jsonl", "--max-length", 3), "16")):
            self.assertIn(why, self.expc("data", "inspect", *words, code=2).stderr)
        self.rows("h.jsonl", [row("q", "a")])
        self.write("h.jsonl", (self.folder / "h.jsonl").read_text() + '{"messages": [')
        (of,) = self.inspect("h.jsonl", code=1)
        self.assertEqual((of["rows"], of["problems"][0]["rows"]), (1, [2]))
        self.assertIn("it may be truncated (line 2)", of["problems"][0]["text"])
        self.rows("g.jsonl", [row("q", "a")])
        (of,) = self.inspect("g.jsonl", "--tokenizer", "nowhere", code=1)
        self.assertIn("tokenizer: nowhere", of["problems"][0]["text"])

    def test_problems_of_images_name_the_files(self):
        self.expc("data", "make", "shapes", "--size", "16px", "--count", 12, "--classes", 2, "--to", "set")
        root = self.folder / "set"
        (first, *_), other = (sorted((root / "train" / name).iterdir()) for name in sorted(os.listdir(root / "train")))
        shutil.copy(first, other[0].parent / "copy.jpg")
        shutil.copy(other[0], root / "test" / other[0].parent.name / "leak.jpg")
        (root / "train" / first.parent.name / "notes.txt").write_text("x")
        (root / "test" / first.parent.name / "bad.png").write_text("x")
        tiff = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, 6, 0, 0)
        exif = b"\xff\xe1" + struct.pack(">H", len(tiff) + 8) + b"Exif\0\0" + tiff
        whole = other[1].read_bytes()
        other[1].write_bytes(whole[:2] + exif + whole[2:])
        (of,) = self.inspect("set", code=1)
        names = lambda *paths: [str(path.relative_to(self.folder)) for path in paths]
        copies = names(other[0].parent / "copy.jpg")
        self.assertEqual([(one["severity"], one.get("images", [])) for one in of["problems"]], [
            ("error", []), ("warning", copies), ("warning", names(root / "test" / other[0].parent.name / "leak.jpg")), ("warning", copies),
            ("warning", names(other[1])), ("note", names(root / "train" / first.parent.name / "notes.txt"))])
        self.assertEqual((of["turned"], of["train"], of["pixels"]["median"]), (1, 13, 256))
        self.assertIn("bad.png: neither JPEG nor PNG", self.expc("data", "inspect", "set", code=1).stdout)


if __name__ == "__main__":
    main()
