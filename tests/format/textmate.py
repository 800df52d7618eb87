#!/usr/bin/env python3
"""grammar/exp.tmLanguage.json colours what the compiler's own lexer reads: every token of every corpus file, study and library
module has the scope of its class, and no token is coloured in two ways.

usage: textmate.py --tokens PATH_TO_format_tokens
"""
import argparse
import json
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAMMAR = json.loads((ROOT / "grammar" / "exp.tmLanguage.json").read_text(encoding="utf-8"))
TOKENS = None


class TextMate:
    """The part of TextMate's matching that the grammar uses: match, begin/end, captures, include of the repository. Its patterns
    keep to what Oniguruma and Python's re read alike."""

    def __init__(self, grammar):
        self.repository = grammar["repository"]
        self.top = {"patterns": grammar["patterns"]}
        self.compiled = {}

    def regex(self, pattern):
        if pattern not in self.compiled:
            self.compiled[pattern] = re.compile(pattern)
        return self.compiled[pattern]

    def rules(self, patterns):
        for rule in patterns:
            if "include" in rule:
                assert rule["include"].startswith("#"), rule
                rule = self.repository[rule["include"][1:]]
            if "match" in rule or "begin" in rule:
                yield rule
            else:
                yield from self.rules(rule["patterns"])

    def scopes(self, text):
        """For each character the list of its scopes, from the outside."""
        out = []
        stack = [(self.top, [])]
        for line in text.splitlines(keepends=True):
            marks = [[] for _ in line]
            body = line.rstrip("\r\n")
            at = 0
            for _ in range(2 * len(line) + 10):
                rule, outer = stack[-1]
                best = self.first(rule, body, at)
                stop = best[0].start() if best else len(line)
                self.mark(marks, at, stop, outer)
                if not best:
                    break
                found, chosen, is_end = best
                scopes = outer + ([chosen["name"]] if "name" in chosen and not is_end else [])
                self.mark(marks, found.start(), found.end(), scopes)
                captures = "endCaptures" if is_end else "beginCaptures" if "begin" in chosen else "captures"
                for group, capture in sorted(chosen.get(captures, {}).items()):
                    if found.group(int(group)) is not None:
                        self.extend(marks, *found.span(int(group)), capture["name"])
                at = found.end()
                if is_end:
                    stack.pop()
                elif "begin" in chosen:
                    stack.append((chosen, scopes))
                elif found.end() == found.start():
                    raise AssertionError(f"{chosen} matches nothing and goes on")
            else:
                raise AssertionError(f"no way past {line!r}")
            out += marks
        return out

    def first(self, rule, line, at):
        """The leftmost match, of several the one whose rule comes first; the end of the open rule before all."""
        candidates = [(self.regex(rule["end"]), rule, True)] if "end" in rule else []
        candidates += [(self.regex(r.get("match", r.get("begin"))), r, False) for r in self.rules(rule["patterns"])]
        best = None
        for regex, chosen, is_end in candidates:
            found = regex.search(line, at)
            if found and (best is None or found.start() < best[0].start()):
                best = (found, chosen, is_end)
        return best

    @staticmethod
    def mark(marks, begin, end, scopes):
        for index in range(begin, min(end, len(marks))):
            marks[index] = list(scopes)

    @staticmethod
    def extend(marks, begin, end, scope):
        for index in range(begin, end):
            marks[index].append(scope)


# What the innermost scope of a token begins with, by the lexer's name of it.
CLASSES = {
    "Comment": "comment.line.double-slash", "Number": "constant.numeric", "String": "string.quoted.double", "True": "constant.language",
    "False": "constant.language", "Infeasible": "constant.language", "Absent": "constant.language", "And": "keyword.operator.word", "Or": "keyword.operator.word",
    "Not": "keyword.operator.word", "In": "keyword.operator.word", "ForAll": "keyword.control.quantifier", "AtLeast": "keyword.control.quantifier", "Least": "keyword.control.quantifier",
    "Exists": "keyword.control.quantifier", "Import": "keyword.control.import", "System": ("storage.type", "variable.language"),
    "Ordered": "storage.modifier", "Version": "storage.modifier", "Inputs": "storage.type", "Estimate": "storage.type",
    "Options": "keyword.control", "Copy": "keyword.control", "Outputs": "storage.type", "Prepare": "storage.type", "Before": "storage.type", "Exit": "storage.type", "Ranks": "storage.type", "Expect": "storage.type", "Unit": "storage.type",
    "LeftBrace": "punctuation.section.braces", "RightBrace": "punctuation.section.braces", "LeftParen": "punctuation.section.parens",
    "RightParen": "punctuation.section.parens", "LeftBracket": "punctuation.section.brackets",
    "RightBracket": "punctuation.section.brackets", "Comma": "punctuation.separator.comma", "Colon": "punctuation.separator.colon",
    "Dot": "punctuation.accessor", "Range": "keyword.operator.range", "Assign": "keyword.operator.assignment",
    "Coalesce": "keyword.operator.coalesce", "Identifier": ("variable.", "entity.name.", "support."),
}
CLASSES |= {name: "keyword.operator.comparison" for name in
            ("Equal", "NotEqual", "LessEqual", "GreaterEqual", "Less", "Greater")}
CLASSES |= {name: "keyword.operator.arithmetic" for name in ("Plus", "Minus", "Star", "Slash")}
CLASSES |= {name: "storage.type" for name in (
    "Enum", "Let", "Workload", "Reference", "Preset", "Study", "Param", "Metric", "Require", "Exclude", "Factor", "Measure",
    "Compare", "Control", "Criterion", "Design", "Table", "Plot", "Part", "Use", "Expected", "Service", "Ready")}
CLASSES |= {name: "keyword.control" for name in (
    "Only", "Remove", "Baseline", "Because", "By", "Over", "Against", "When", "Where", "With", "Within", "Until", "From", "As",
    "Confidence", "Command", "Timeout", "Like", "Partial", "Allow", "Find", "Inside", "Noise", "Looks", "At", "Always", "Give", "Keep", "Of")}
NAME = CLASSES["Identifier"]
NO_TEXT = {"EndOfFile", "Whitespace", "Unexpected", "UnterminatedString"}


def expected(token, text):
    if token["token"] == "Doc":
        return "comment.line.double-slash" if text.startswith("////") else "comment.line.documentation"
    if token["name"]:
        return NAME
    return CLASSES[token["token"]]


def lex(*arguments):
    lines = subprocess.run([TOKENS, *map(str, arguments)], check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


class Scopes(unittest.TestCase):
    def setUp(self):
        self.textmate = TextMate(GRAMMAR)

    def check(self, path, text):
        """Every token of a file; returns the classes that occurred. The lexer counts bytes."""
        scopes = [scope for character, scope in zip(text, self.textmate.scopes(text), strict=True)
                  for _ in character.encode()]
        data = text.encode()
        seen = set()
        for token in lex(path):
            if token["token"] in NO_TEXT:
                continue
            begin, end = token["begin"], token["end"]
            word = data[begin:end].decode()
            line = data.count(b"\n", 0, begin) + 1
            want = expected(token, word)
            for at in range(begin, end):
                scope = scopes[at]
                self.assertTrue(scope, f"{path}:{line}: {word!r} has no scope")
                self.assertTrue(any(s.startswith(want) for s in scope), f"{path}:{line}: {word!r} ({token}) has {scope}, not {want}")
            if token["token"] not in ("Number", "String"):  # units, escapes and placeholders have scopes of their own
                self.assertEqual({tuple(scopes[at]) for at in range(begin, end)}, {tuple(scopes[begin])}, f"{path}:{line}: {word!r}")
                if token["token"] not in ("Comment", "Doc"):
                    self.assertFalse(any(s.startswith(("string", "comment")) for s in scopes[begin]),
                                     f"{path}:{line}: {word!r} is taken for text")
            seen.add(token["token"])
        return seen

    def test_every_token_of_every_file(self):
        files = [path for folder in ("grammar/corpus", "stdlib", "experiments", "tests/golden/plan", "tests/golden/check",
                                     "tests/golden/expand") for path in sorted((ROOT / folder).rglob("*.exp"))]
        self.assertGreater(len(files), 25)
        seen = set()
        for path in files:
            text = path.read_bytes().decode()
            seen |= self.check(path, text)
        self.assertGreater(len(seen), 50, seen)

    def test_every_word_of_the_lexer(self):
        """Also words that no corpus file has; sorted out here, so that a new one cannot be forgotten."""
        for token in lex("--words"):
            self.assertIn(token["token"], CLASSES)
            if not token["reserved"] and token["text"][0].isalpha():
                continue  # a word in one place only: the corpus has the place
            scopes = self.textmate.scopes(f"{token['text']} x\n")[:len(token["text"])]
            for scope in scopes:
                self.assertTrue(scope and scope[0].startswith(CLASSES[token["token"]]), (token, scope))

    def test_types_are_those_of_the_table(self):
        table = [word for word in lex("--table") if word["text"].replace("_", "").isalnum() and word["role"] != "Unit"]
        types = {word["text"] for word in table if word["role"] == "Type"}
        self.assertGreater(len(types), 10)
        for word in table:
            scope = self.textmate.scopes(f": {word['text']} lower")[2]
            self.assertEqual(any(s.startswith("support.type") for s in scope), word["text"] in types, word)

    def test_reserved_words_inside_names_and_after_dots_are_names(self):
        for word in [t["text"] for t in lex("--words") if t["text"].isalpha()]:
            for text in (f"x_{word}", f"{word}_x", f"{word}2", f"a.{word}"):
                with self.subTest(text):
                    at = len(text) - len(word) if text.endswith(word) else 0
                    scope = self.textmate.scopes(f"= {text} ")[2 + at]
                    self.assertTrue(scope[-1].startswith(NAME), scope)

    def at(self, text, piece):
        """The scopes of `piece` in `text`, which must be one list."""
        begin = text.index(piece)
        scopes = self.textmate.scopes(text)[begin:begin + len(piece)]
        self.assertEqual(len({tuple(s) for s in scopes}), 1, (piece, scopes))
        return scopes[0]

    def test_declared_names_calls_types_and_settings(self):
        cases = (("study pays {", "pays", "entity.name.type.exp"), ("ordered enum size {", "size", "entity.name.type.exp"),
                 ("factor gpus in 1..4", "gpus", "entity.name.variable.exp"), ("require cards: a", "cards", "entity.name.variable.exp"),
                 ("workload train command [", "train", "entity.name.type.exp"), ("workload ours = image.x(", "ours", "entity.name.type.exp"),
                 ("workload image.x(size = 1px)", "size", "variable.parameter.exp"), ("speedup(step)", "speedup", "entity.name.function.exp"),
                 ("param a : Time in 0s..1s", "Time", "support.type.exp"), ("system box {", "box", "entity.name.type.exp"),
                 ("import std.image", "std", "entity.name.namespace.exp"), ("a == b", "a", "variable.other.exp"))
        for text, piece, scope in cases:
            with self.subTest(text):
                self.assertEqual(self.at(text, piece), [scope])

    def test_parts_of_numbers_and_texts(self):
        unit = ["constant.numeric.exp", "keyword.other.unit.exp"]
        for text, number, written in (("= 80GiB/gpus", "80", "GiB"), ("= 5000img/s", "5000", "img/s"), ("= 2.5e-3ms", "2.5e-3", "ms"),
                                      ("1..95%", "95", "%")):
            self.assertEqual(self.at(text, number), ["constant.numeric.exp"])
            self.assertEqual(self.at(text, written), unit)
        text = r'"a\n${gpus}"'
        self.assertEqual(self.at(text, r"\n")[-1], "constant.character.escape.exp")
        self.assertEqual(self.at(text, "gpus")[-1], "variable.parameter.exp")
        # A text that is not closed ends with its line.
        self.assertEqual(self.at('let a = "open\nstudy s', "study"), ["storage.type.exp"])
        self.assertEqual(self.at('"// no comment"', "// no comment"), ["string.quoted.double.exp"])

    def test_the_grammar_keeps_to_what_the_reader_here_knows(self):
        known = {"match", "begin", "end", "name", "captures", "beginCaptures", "endCaptures", "patterns", "include", "comment"}

        def walk(rule):
            self.assertLessEqual(set(rule), known)
            for inner in rule.get("patterns", []):
                walk(inner)
        for rule in GRAMMAR["repository"].values():
            walk(rule)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", required=True)
    options, rest = parser.parse_known_args()
    TOKENS = options.tokens
    unittest.main(argv=[__file__, *rest])
