#!/usr/bin/env python3
"""Every table, figure, finding and claim of the reference study with what is stored about it: holds, does not hold, undecided, not asked or not
measured. Rows are those of docs/reference-study.md; a row holds if each of its criteria passed. Claims about PyTorch are judged by the twins.

usage: overview.py [--expc PATH] [--results DIR] [--preset NAME]… [--html FILE]     Markdown to standard output
"""
import argparse
import collections
import concurrent.futures
import html
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/reference-study.md"
STYLE = """:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.3em .8em .3em 0;border-bottom:1px solid #8884}
td:nth-child(1),td:nth-child(3){white-space:nowrap}td:nth-child(2){width:26em}td:last-child{font-size:.87em;overflow-wrap:anywhere}b{font-weight:600}
.holds b{color:#18794e}.does b{color:#c62a2f}.undecided b{color:#946800}@media(prefers-color-scheme:dark){.holds b{color:#4cc38a}.does b{color:#ff8589}.undecided b{color:#f1a10d}}
@media(max-width:50em){thead{display:none}td{overflow-wrap:anywhere}tr{display:block;padding:.6em 0;border-bottom:1px solid #8884}td{display:inline;border:0}td:nth-child(2),td:last-child{display:block;width:auto}}"""
WORDS = {"holds": "hold", "does not hold": "do not hold", "undecided": "are undecided", "not measured": "are not measured", "not asked": "are not asked"}


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
    """(word, evidence) of a row."""
    seen = [criteria.get(name, {"name": name, "verdict": "not run"}) for name in names]
    words = {"open" if one["verdict"] in ("not run", "not asked") else one["verdict"] for one in seen}
    if words == {"open"}:
        return "not measured", ""
    word = "does not hold" if "fail" in words else "holds" if words == {"pass"} else "undecided"
    seen.sort(key=lambda one: one["verdict"] == "pass")
    return word, "\n".join(f"{one['name']}: {one.get('why') or one['verdict']}" for one in seen)


def marked(text):
    """A cell of Markdown as HTML: a line for each criterion, and code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text)).replace("\n", "<br>")


def page(summary, sections):
    """The sections as a page that reads on paper, on a desk and on a phone."""
    parts = [f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'><title>The reference study</title>"
             f"<style>{STYLE}</style><h1>The reference study on this machine</h1><p>{summary}"]
    for section, lines in sections.items():
        rows = "".join(f"<tr class={word.split()[0]}><td>{item}<td>{html.escape(says)}<td><b>{word}</b><td>{by}<td>{marked(why)}"
                       for item, says, word, by, why in lines)
        parts.append(f"<h2>{html.escape(section)}</h2><table><thead><tr><th>item<th>the paper says<th>here<th>by<th>evidence<tbody>{rows}</table>")
    return "".join(parts)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--expc", default="expc")
    arguments.add_argument("--results", default="results")
    arguments.add_argument("--preset", action="append", help="paper, paper+day and paper_full without any; + joins presets")
    arguments.add_argument("--html", type=pathlib.Path, help="also writes a page")
    options = arguments.parse_args()
    options.preset = options.preset or ["paper", "paper+day", "paper_full"]
    all_rows = list(rows())
    studies = {row[3][0] for row in all_rows if row[3]}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        known = dict(zip(studies, pool.map(lambda study: verdicts(options, study), studies)))
    sections, counts = collections.defaultdict(list), collections.Counter()
    for section, item, says, named, criteria, _, remark in all_rows:
        word, why = judged(known[named[0]], criteria) if criteria else ("not asked", remark)
        counts[word] += 1
        by = named[0] + (" (about PyTorch)" if named[0].startswith("twin_") else "") if criteria else ""
        sections[section].append((item, says, word, by, why))
    summary = f"Of {len(all_rows)} statements " + ", ".join(f"{counts[word]} {plural}" for word, plural in WORDS.items()) + f". Read from {options.results}."
    print(f"# The reference study on this machine\n\n{summary}")
    for section, lines in sections.items():
        print(f"\n## {section}\n\n| item | the paper says | here | by | evidence |\n| --- | --- | --- | --- | --- |")
        for line in lines:
            print("| " + " | ".join(cell.replace("|", "\\|").replace("\n", "; ") for cell in line) + " |")
    if options.html:
        options.html.write_text(page(summary, sections), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
