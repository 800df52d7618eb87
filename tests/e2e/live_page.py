#!/usr/bin/env python3
"""`expc run --serve` in a real browser: the run of a command that waits in its eighth block is looked at, let go, and looked at again.

usage: live_page.py --expc EXPC [--pictures FOLDER]
Exit code 77 (skipped, loudly) if there is no Chromium or axe-core.
"""
import argparse
import contextlib
import http.client
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

from chromium import Chromium, find
from report_page import AXE, CUT, DESKTOP, PHONE, SKIPPED, axe

EVIL = "<script>alert(1)</script>"
LAST_FREE = 14  # trials of seven blocks of two points
PROGRAM = f"""import os, pathlib, sys, time
print("writes {EVIL} \\033[31m", flush=True)
while int(os.environ["EXPC_TRIAL"]) > {LAST_FREE} and not pathlib.Path(os.environ["EXPC_STUDY_FOLDER"], "go").exists():
    time.sleep(0.05)
trial = int(os.environ["EXPC_TRIAL"])
print("wall", (2 if sys.argv[1] == "slow" else 1) * (1 + 0.001 * (trial * 7 % 11)))
"""
STUDY = f"""workload job command ["python3", "-u", "job.py", "${{how}}", "${{what}}"] timeout 10min {{
  inputs "job.py"
  param how : string = "slow"
  param what : string = "plain"
  metric wall : Time lower from regex("wall ([0-9.]+)", unit = 1s)
}}
study live {{
  workload job(what = "{EVIL}")
  factor how in {{ "slow", "fast{EVIL}" }} baseline "slow"
  measure wall
  compare gain = speedup(wall) over how
  criterion pays: forall *: gain >= 1.2x with confidence 95%
  design {{ timed {{ repeat 8 }} }}
}}
"""
LOOKS = {"desktop": {"width": DESKTOP}, "dark": {"width": DESKTOP, "dark": True}, "phone": {"width": PHONE}}
# Keeps the page from loading itself again while it is looked at.
STAY = "for (let i = 0; i < 99; ++i) clearInterval(i)"


def ask(port, method="GET", path="/", host=None):
    """Status and body."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    line.putrequest(method, path, skip_host=True)
    line.putheader("Host", f"127.0.0.1:{port}" if host is None else host)
    line.endheaders()
    answer = line.getresponse()
    return answer.status, answer.read()


def waits(port):
    """The page while the eighth block waits."""
    for _ in range(1200):
        page = ask(port)[1].decode()
        if f"{LAST_FREE} of 16 timed trials" in page and "Running now: timed" in page:
            return page
        time.sleep(0.1)
    raise AssertionError(page)


def shown(browser, part):
    """The page's text once it shows this."""
    text = ""
    for _ in range(400):
        with contextlib.suppress(RuntimeError):  # it loads itself again in between
            text = browser.evaluate("document.body.innerText")
        if part in text:
            break
        time.sleep(0.05)
    return text


def refuses(port, expc, folder):
    assert ask(port, "POST")[0] == 405
    assert ask(port, "PUT", "/")[0] == 405
    assert ask(port, host=f"expc.example:{port}")[0] == 403
    assert ask(port, host="")[0] == 403
    for path in ("/../results/journal/000001.jsonl", "/results/expc.lease", "/0?file=/etc/passwd", "/1", "/%2e%2e/etc/passwd"):
        assert ask(port, path=path)[0] == 404, path
    others = {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)} - {"127.0.0.1"}
    for address in others:
        with socket.socket() as line:
            line.settimeout(5)
            assert line.connect_ex((address, port)) != 0 or address.startswith("127."), address
    silent = socket.create_connection(("127.0.0.1", port))  # says nothing; others are answered all the same
    assert ask(port)[0] == 200
    silent.close()
    taken = subprocess.run([expc, "run", "s.exp", f"--serve={port}", "--results", "other"], cwd=folder, capture_output=True, text=True)
    assert taken.returncode == 1 and f"port {port} of 127.0.0.1" in taken.stderr and "--serve alone takes a free one" in taken.stderr, taken.stderr
    assert not (folder / "other").exists()


def looks(browser, url, checker, pictures):
    wrong = []
    for name, settings in LOOKS.items():
        browser.open(url, **settings)
        browser.evaluate(STAY)
        text = shown(browser, "provisional")
        for part in (f"{LAST_FREE} of 16 timed trials", "PASS", "provisional", "Running now", "how=\"", EVIL):
            if part not in text:
                wrong.append(f"{name}: no '{part}' in {text}")
        if "What to do next" in text:
            wrong.append(f"{name}: it says to go on while it goes on")
        if pictures:
            browser.picture(pictures / f"live-{name}.png")
        if settings["width"] == PHONE:
            wrong += [f"{name}: cut: {line}" for line in browser.evaluate(CUT)]
        browser.evaluate(checker + "; 0")
        wrong += [f"{name}: axe: {line}" for line in browser.evaluate(AXE)]
        wrong += [f"{name}: console: {line}" for line in browser.complaints()]
        wrong += [f"{name}: asked for {address}" for address in browser.requests() if not address.startswith(url)]
    return wrong


def loads_again(browser, url):
    """The page after it has loaded itself again is unfolded and scrolled as it was."""
    where = "[Math.round(scrollY), ...[...document.querySelectorAll('details')].map((one) => one.open)]"
    browser.open(url, width=DESKTOP)
    browser.evaluate("window.first = true; document.querySelectorAll('details').forEach((one, i) => one.open = i != 1);"
                     "scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    before = browser.evaluate(where)
    for _ in range(400):
        with contextlib.suppress(RuntimeError):
            if browser.evaluate("!window.first && document.readyState == 'complete'"):
                break
        time.sleep(0.05)
    after = before
    for _ in range(40):
        if (after := browser.evaluate(where)) == before:
            break
        time.sleep(0.05)
    return [] if before == after and before[0] > 0 and before[1] else [f"loaded again it is {after} and not {before}"]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--expc", required=True)
    arguments.add_argument("--pictures", type=pathlib.Path)
    options = arguments.parse_args()
    checker = axe()
    if not find() or not checker:
        print("SKIPPED: no chromium or no axe-core on this machine; `tools/setup --tests` brings both on Debian", file=sys.stderr)
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="expc-live-") as name, Chromium() as browser:
        folder = pathlib.Path(name)
        (folder / "job.py").write_text(PROGRAM, encoding="utf-8")
        (folder / "s.exp").write_text(STUDY, encoding="utf-8")
        run = subprocess.Popen([options.expc, "run", "s.exp", "--serve", "--heat-up", "0", "--devices", "cpu:1"], cwd=folder,
                               stdout=subprocess.PIPE, stderr=(folder / "err").open("w"), text=True)
        try:
            url = None
            for _ in range(600):
                found = re.search(r"watch the run at (http://127\.0\.0\.1:(\d+)/)", (folder / "err").read_text())
                if found:
                    url, port = found.group(1), int(found.group(2))
                    break
                time.sleep(0.05)
            assert url, (folder / "err").read_text()
            page = waits(port)
            assert EVIL not in page and "\x1b" not in page and "location.reload()" in page, page
            refuses(port, options.expc, folder)
            wrong = looks(browser, url, checker, options.pictures) + loads_again(browser, url)
            (folder / "go").touch()
            browser.open(url)
            text = shown(browser, "has ended with exit code")
            out = run.communicate(timeout=120)[0]
            if "has ended with exit code 0" not in text or "16 of 16 timed trials" not in text or "provisional:" in text:
                wrong.append(f"at the end the page says: {text}")
            assert run.returncode == 0 and "PASS  pays" in out, out
            with socket.socket() as line:
                assert line.connect_ex(("127.0.0.1", port)) != 0, "the page outlives the run"
        finally:
            run.kill()
    print("\n".join(wrong) or f"ok: {urllib.parse.urlsplit(url).netloc}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
