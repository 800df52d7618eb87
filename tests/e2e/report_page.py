#!/usr/bin/env python3
"""Opens report pages in headless Chromium: charts must be drawn, the console silent, no request made.

usage: report_page.py EXAMPLE_PAGE_PROGRAM        the unit tests' example
       report_page.py --page FILE...              pages that were written by expc
Exit code 77 (skipped, loudly) if there is no Chromium, or if expc was built without its chart library.
"""
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


class Page(html.parser.HTMLParser):
    """Counts the chart places and those in which something was drawn."""

    def __init__(self):
        super().__init__()
        self.places, self.drawn, self.marks, self.scripts_run = [], [], 0, False
        self.inside, self.depth = None, 0

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        classes = (attributes.get("class") or "").split()
        if tag == "div" and "chart" in classes:
            self.places.append(attributes["id"])
            if attributes.get("data-drawn") == "yes":
                self.drawn.append(attributes["id"])
        if tag == "svg" and "marks" in classes:
            self.marks += 1
        if tag == "button" and attributes.get("id") == "download" and "hidden" not in attributes:
            self.scripts_run = True


def look(page, browser):
    """What is wrong with `page`, as lines."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
             "--enable-logging=stderr", "--virtual-time-budget=10000", "--window-size=1200,2000", "--dump-dom", page.resolve().as_uri()],
            capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or "<main" not in done.stdout:
        return [f"{browser} failed with {done.returncode}: {done.stderr[-2000:]}"]
    wrong = [f"console: {line}" for line in done.stderr.splitlines() if "CONSOLE" in line]
    parsed = Page()
    parsed.feed(done.stdout)
    if not parsed.scripts_run:
        wrong.append("the page's script did not run to its end")
    if not parsed.places:
        wrong.append("no place for a chart")
    for place in set(parsed.places) - set(parsed.drawn):
        wrong.append(f"{place} was not drawn")
    if parsed.marks < len(parsed.places):
        wrong.append(f"{parsed.marks} drawings for {len(parsed.places)} charts")
    # Estimates must be there as marks, not only axes.
    if parsed.places and not re.search(r'class="mark-symbol role-mark[^>]*>\s*<path', done.stdout):
        wrong.append("the charts have no marks")
    return wrong


def main():
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        print("SKIPPED: no chromium on this machine; `tools/setup --tests` installs it on Debian", file=sys.stderr)
        return SKIPPED
    if sys.argv[1:2] == ["--page"]:
        pages = [pathlib.Path(name) for name in sys.argv[2:]]
    else:
        pages = [pathlib.Path(tempfile.mkdtemp()) / "page.html"]
        code = subprocess.run([sys.argv[1], str(pages[0])]).returncode
        if code == 3:
            print("SKIPPED: expc was built without its chart library; run tools/setup and build again", file=sys.stderr)
            return SKIPPED
        if code != 0:
            return 1
    wrong = [f"{page}: {problem}" for page in pages for problem in look(page, browser)]
    print("\n".join(wrong) or f"ok: {len(pages)} page(s)")
    return 1 if wrong else 0


sys.exit(main())
