#!/usr/bin/env python3
"""The documentation as a site: tools/site makes it, every page is near, and a browser shows it, wide and on a phone, light and dark.

usage: site.py [--pictures FOLDER]
Exit code 77 (skipped, loudly) without markdown-it-py or a browser.
"""
import argparse
import collections
import html.parser
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import chromium  # noqa: E402
import report_page  # noqa: E402

CLICKS = 3
SHOWN = ["index.html", "docs/tutorials/ten-minutes.html", "docs/tutorials/verdicts.html", "docs/command-line.html", "docs/diagnostics/E0203.html",
         "docs/measurements/index.html"]


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.loaded = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "a" and values.get("href"):
            self.found.append(values["href"])
        self.loaded += [values[name] for name in ("src", "srcset") if values.get(name)] + ([values.get("href", "")] if tag == "link" else [])


def clicks(folder):
    """How many clicks each page is from the first one, and what is wrong with links."""
    first = folder / "index.html"
    near, waiting, faults = {first: 0}, collections.deque([first]), []
    while waiting:
        page = waiting.popleft()
        links = Links(page.read_text(encoding="utf-8"))
        faults += [f"{page}: loads {address}" for address in links.loaded if "://" in address]
        for address in links.found:
            target = address.partition("#")[0]
            if not target or "://" in target or target.startswith("mailto:"):
                continue
            other = (page.parent / target).resolve()
            if not other.is_file():
                faults.append(f"{page}: there is no {address}")
            elif other.suffix == ".html" and other not in near:
                near[other] = near[page] + 1
                waiting.append(other)
    return near, faults


def look(browser, folder, pictures):
    """What a browser has to say of the pages, and axe-core, where it is installed."""
    checker = report_page.axe()
    for name in SHOWN:
        for width, dark in ((1280, False), (1280, True), (390, False), (390, True)):
            browser.open((folder / name).as_uri(), width=width, dark=dark)
            where = f"{name} at {width} px, {'dark' if dark else 'light'}"
            if said := browser.complaints():
                yield f"{where}: the console says {said}"
            if beyond := browser.evaluate("document.documentElement.scrollWidth - innerWidth") > 0 and browser.evaluate("""[...document.querySelectorAll("main *")]
                    .filter(one => one.getBoundingClientRect().right > innerWidth && !one.closest(".wide,pre")).map(one => one.outerHTML.slice(0, 90)).join("; ")"""):
                yield f"{where}: wider than the screen: {beyond}"
            light = browser.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((sum, one) => sum + +one, 0) > 382")
            if light == dark:
                yield f"{where}: the background is {'light' if light else 'dark'}"
            if browser.evaluate("document.getElementById('pages').open") != (width > 800):
                yield f"{where}: the menu is {'shut' if width > 800 else 'open'}"
            if strange := [address for address in browser.requests() if not address.startswith("file:")]:
                yield f"{where}: asks for {strange}"
            if checker and dark == (width < 800):  # as report_page.AXED
                browser.evaluate(checker)
                yield from (f"{where}: axe: {line}" for line in browser.evaluate(report_page.AXE))
            if pictures:
                browser.picture(pictures / f"{name.replace('/', '_')[:-5]}-{width}{'-dark' if dark else ''}.png")


def search(browser, folder, pictures):
    for width in (1280, 390):
        browser.open((folder / "docs/clusters.html").as_uri(), width=width)
        ask = """(async () => { const box = document.getElementById("search"); box.focus(); box.value = "%s"; box.dispatchEvent(new Event("input"));
            for (let turn = 0; turn < 200 && !document.querySelector("#found > *"); ++turn) await new Promise(done => setTimeout(done, 50));
            return [...document.querySelectorAll("#found > *")].map(one => one.getAttribute("href") || one.textContent); })()"""
        hits = browser.evaluate(ask % "untrusted control")
        if not any("docs/tutorials/verdicts.html#untrusted" in hit for hit in hits[:5]):
            yield f"{width} px: a search for 'untrusted control' finds {hits}"
        if pictures:
            browser.picture(pictures / f"search-{width}.png")
        if browser.evaluate("document.getElementById('found').getBoundingClientRect().right > innerWidth"):
            yield f"{width} px: what was found is wider than the screen"
        browser.evaluate("document.querySelector('#found').replaceChildren()")
        if (nothing := browser.evaluate(ask % "<img src=x> zzzz")) != ["Nothing was found."]:
            yield f"{width} px: a search for nonsense finds {nothing}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=pathlib.Path, help="a folder for pictures of the pages")
    options = parser.parse_args()
    try:
        import markdown_it  # noqa: F401
    except ModuleNotFoundError:
        print("SKIPPED: markdown-it-py is not there: tools/setup --tests installs python3-markdown-it")
        return 77
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="expc-site-") as folder:
        folder = pathlib.Path(folder).resolve()
        made = subprocess.run([sys.executable, ROOT / "tools/site", "--to", folder], text=True, capture_output=True)
        faults = made.stderr.splitlines() if made.returncode else []
        if not faults:
            near, faults = clicks(folder)
            faults += [f"{page.relative_to(folder)} is {near.get(page, 'no number of')} clicks from the first page" for page in sorted(folder.rglob("*.html"))
                       if near.get(page, CLICKS + 1) > CLICKS]
            print(f"{len(near)} pages, none more than {max(near.values())} clicks from the first one")
            if not chromium.find():
                print("SKIPPED: no Chromium to look at the site")
                return 1 if faults else 77
            with chromium.Chromium() as browser:
                faults += [*look(browser, folder, options.pictures), *search(browser, folder, options.pictures)]
    for fault in faults:
        print(f"FAILED: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
