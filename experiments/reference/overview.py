#!/usr/bin/env python3
"""Every table, figure, finding and claim of the reference study with what is stored about it: holds, does not hold, undecided, not asked or not
measured. Rows are those of docs/reference-study.md; a row holds if each of its criteria passed. Claims about PyTorch are judged by the twins.

usage: overview.py [--expc PATH] [--results DIR] [--preset NAME]… [--html FILE]     Markdown to standard output
"""
import argparse
import collections
import html
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/reference-study.md"
STYLE = ("body{font:15px/1.5 sans-serif;max-width:72em;margin:2em auto;padding:0 1em}td,th{text-align:left;vertical-align:top;padding:.25em .6em;"
         "border-bottom:1px solid #8884}.holds{color:#18794e}.does{color:#c62a2f}.undecided{color:#946800}")
ORDER = ("holds", "does not hold", "undecided", "not measured", "not asked")


def rows():
    """(section, item, what it says, studies, criteria, tables and plots, remark) of each row of the page's tables of statements. Of the lists
    nothing is left where nobody asks."""
    section, within = "", False
    for line in PAGE.read_text(encoding="utf-8").split("## PyTorch and torchtune", 1)[0].splitlines():
        section = line[3:] if line.startswith("## ") else section
        within = within or line.startswith("| item | says |")
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if within and line.startswith("| ") and not line.startswith("| ---") and cells[0] != "item":
            lists = [re.findall(r"`([^`]+)`", cell) for cell in cells[2:5]]
            yield section, cells[0], cells[1], *lists, cells[5].strip("| ") if len(cells) > 5 else ""


def verdicts(options, study):
    """The criteria of a study by name, of all presets together; the first preset that has a decided verdict counts."""
    found = {}
    for preset in options.preset:
        done = subprocess.run([options.expc, "report", HERE.parent / f"{study}.exp", *(word for one in preset.split("+") for word in ("--preset", one)),
                               "--results", options.results, "--format", "json"], capture_output=True, text=True, check=False)
        try:
            report = json.loads(done.stdout)
        except ValueError:
            continue  # nothing is stored, or there is no such preset
        for criterion in report["criteria"]:
            if found.get(criterion["name"], {}).get("verdict") not in ("pass", "fail"):
                found[criterion["name"]] = criterion
    return found


def judged(criteria, names):
    """(word, reason) of a row."""
    seen = [criteria[name] for name in names if name in criteria]
    words = [one["verdict"] for one in seen]
    if not [word for word in words if word not in ("not run", "not asked")]:
        return "not measured", ""
    for one in seen:
        if one["verdict"] == "fail":
            return "does not hold", f"{one['name']}: {one.get('why') or one['text']}"
    open_ones = [one["name"] for one in seen if one["verdict"] != "pass"]
    return ("undecided", ", ".join(open_ones)) if open_ones else ("holds", "")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--expc", default="expc")
    arguments.add_argument("--results", default="results")
    arguments.add_argument("--preset", action="append", help="paper, paper+day and paper_full without any; + joins presets")
    arguments.add_argument("--html", type=pathlib.Path, help="also writes a page")
    options = arguments.parse_args()
    options.preset = options.preset or ["paper", "paper+day", "paper_full"]
    known, lines, counts = {}, [], collections.Counter()
    for section, item, says, studies, criteria, _, remark in rows():
        study = studies[0] if studies else ""
        if study and study not in known:
            known[study] = verdicts(options, study)
        word, why = judged(known[study], criteria) if criteria else ("not asked", remark)
        counts[word] += 1
        by = (f"{study} (about PyTorch)" if study.startswith("twin_") else study) if criteria else ""
        lines.append((section, item, says, word, by, why))
    summary = ", ".join(f"{counts[word]} {word}" for word in ORDER)
    print(f"# The reference study on this machine\n\nOf {len(lines)} statements: {summary}.")
    section = ""
    for line in lines:
        if line[0] != section:
            section = line[0]
            print(f"\n## {section}\n\n| item | says | verdict | study | why |\n| --- | --- | --- | --- | --- |")
        print("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line[1:]) + " |")
    if options.html:
        body = "".join(f"<tr><td>{item}<td>{html.escape(says)}<td class='{word.split()[0]}'>{word}<td>{by}<td>{html.escape(why)}"
                       for _, item, says, word, by, why in lines)
        options.html.write_text(f"<!doctype html><meta charset=utf-8><title>The reference study</title><style>{STYLE}</style><h1>The reference study on this "
                                f"machine</h1><p>Of {len(lines)} statements: {summary}.<table><tr><th>item<th>says<th>verdict<th>study<th>why{body}</table>",
                                encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
