#!/usr/bin/env python3
"""Opens report pages in headless Chromium: charts must be drawn, the console silent, no request made, nothing cut on a phone, and
axe-core must find nothing that shuts people out, on wide and narrow screens, in light, dark and print.

usage: report_page.py EXAMPLE_PAGE_PROGRAM [--pictures FOLDER]    the unit tests' example
       report_page.py --page FILE... [--pictures FOLDER]          pages that were written by expc
Exit code 77 (skipped, loudly) if there is no Chromium or axe-core, or if expc was built without its chart library.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from chromium import Chromium, find

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
PHONE, DESKTOP = 390, 1200
LOOKS = {
    "desktop": {"width": DESKTOP},
    "dark": {"width": DESKTOP, "dark": True},
    "phone": {"width": PHONE},
    "phone-dark": {"width": PHONE, "dark": True},
    "print": {"width": 794, "media": "print"},
}
# Where axe-core looks: of its rules contrast depends on light and dark, and all others on the width.
AXED = ("desktop", "phone-dark", "print")

# Which charts are drawn: at once, or after waiting for Vega.
DRAWN = """(async () => {
  const places = [...document.querySelectorAll("div.chart")];
  for (let i = 0; i < 600 && places.some(place => place.dataset.drawn !== "yes"); ++i) await new Promise(done => setTimeout(done, 50));
  return {
    places: places.length,
    missing: places.filter(place => place.dataset.drawn !== "yes").map(place => place.id),
    drawings: document.querySelectorAll("svg.marks").length,
    marks: document.querySelectorAll("svg.marks :is(.mark-symbol, .mark-line, .mark-rect).role-mark path").length,
    ready: !document.getElementById("download").hidden,
  };
})()"""

# What is cut off or makes the page wider than the screen. What scrolls in a box of its own is cut as well: a thumb does not look for it.
CUT = """(() => {
  const wide = document.documentElement.clientWidth, out = [];
  if (document.documentElement.scrollWidth > wide) out.push(`the page is ${document.documentElement.scrollWidth} pixels wide on ${wide}`);
  for (const element of document.querySelectorAll("main *")) {
    if (element.closest(".unseen, thead, .chart, svg, details:not([open]) > :not(summary)")) continue;
    const box = element.getBoundingClientRect();
    if (box.width && (box.right > wide + 0.5 || box.left < -0.5))
      out.push(`<${element.localName} class="${element.className}"> from ${Math.round(box.left)} to ${Math.round(box.right)}: ${element.textContent.slice(0, 60)}`);
  }
  for (const svg of document.querySelectorAll(".chart svg, svg.forest")) {
    const box = svg.getBoundingClientRect();
    if (box.right > wide + 0.5) out.push(`a drawing ends at ${Math.round(box.right)}`);
  }
  return out.slice(0, 20);
})()"""

AXE = """(async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.map(one => `${one.id} (${one.impact}): ${one.help}: ` +
    one.nodes.slice(0, 3).map(node => node.html.slice(0, 160) + " " + [...node.any, ...node.all, ...node.none].map(check => check.message).join(", ")).join(" | "));
})()"""


def axe():
    """The text of axe-core, which `tools/setup --tests` brings, or None."""
    for path in ROOT.glob(".deps/clients/lib/python3*/site-packages/axe_playwright_python/axe.min.js"):
        return path.read_text()
    return None


def drawn(browser):
    """What is wrong with the page's charts."""
    seen = browser.evaluate(DRAWN)
    wrong = [f"{place} was not drawn" for place in seen["missing"]]
    if not seen["ready"]:
        wrong.append("the page's script did not run to its end")
    if not seen["places"]:
        wrong.append("no place for a chart")
    if seen["drawings"] < seen["places"]:
        wrong.append(f"{seen['drawings']} drawings for {seen['places']} charts")
    if seen["places"] and not seen["marks"]:  # estimates, not only axes
        wrong.append("the charts have no marks")
    return wrong


def look(browser, page, checker, pictures):
    """What is wrong with `page`, as lines."""
    out = []
    for name, settings in LOOKS.items():
        browser.open(page.resolve().as_uri(), **settings)
        wrong = drawn(browser)
        if pictures:
            browser.picture(pictures / f"{page.stem}-{name}.png")
        browser.evaluate("for (const element of document.querySelectorAll('details')) element.open = true")
        if settings["width"] == PHONE:
            wrong += [f"cut: {line}" for line in browser.evaluate(CUT)]
        if name in AXED:
            browser.evaluate(checker + "; 0")
            wrong += [f"axe: {line}" for line in browser.evaluate(AXE)]
        wrong += [f"console: {line}" for line in browser.complaints()]
        wrong += [f"asked for {address}" for address in browser.requests() if not address.startswith(("file:", "data:", "blob:"))]
        out += [f"{name}: {line}" for line in wrong]
    return out


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program", nargs="?")
    arguments.add_argument("--page", nargs="+", type=pathlib.Path)
    arguments.add_argument("--pictures", type=pathlib.Path)
    options = arguments.parse_args()
    checker = axe()
    if not find() or not checker:
        print("SKIPPED: no chromium or no axe-core on this machine; `tools/setup --tests` brings both on Debian", file=sys.stderr)
        return SKIPPED
    pages = options.page
    if not pages:
        pages = [pathlib.Path(tempfile.mkdtemp()) / "page.html"]
        code = subprocess.run([options.program, str(pages[0])]).returncode
        if code == 3:
            print("SKIPPED: expc was built without its chart library; run tools/setup and build again", file=sys.stderr)
            return SKIPPED
        if code != 0:
            return 1
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    with Chromium() as browser:
        wrong = [f"{page}: {problem}" for page in pages for problem in look(browser, page, checker, options.pictures)]
    print("\n".join(wrong) or f"ok: {len(pages)} page(s)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
