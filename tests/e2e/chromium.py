"""A headless Chromium that is driven over its own pipe (the DevTools protocol), without a library.

    with Chromium() as browser:
        browser.open(path.as_uri(), width=390, dark=True)
        browser.evaluate("document.title")
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find():
    """The browser of this machine, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Chromium:
    def __init__(self, wait_s=120):
        self.wait_s, self.messages, self.last, self.rest = wait_s, [], 0, b""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        child_reads, self.out = os.pipe()
        self.into, child_writes = os.pipe()

        def wire():  # the browser reads commands from 3 and writes answers to 4
            reads, writes = os.dup(child_reads), os.dup(child_writes)
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        self.process = subprocess.Popen(
            [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
             f"--user-data-dir={self.profile.name}", "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=wire, close_fds=False)
        os.close(child_reads)
        os.close(child_writes)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        self.profile.cleanup()

    def receive(self):
        """The browser's next message."""
        until = time.monotonic() + self.wait_s
        while b"\0" not in self.rest:
            if not select.select([self.into], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"the browser said nothing for {self.wait_s} s")
            part = os.read(self.into, 1 << 20)
            if not part:
                raise RuntimeError(f"the browser ended with {self.process.wait()}")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, **parameters):
        """Sends a command and waits for its answer; events that come meanwhile are kept in `messages`."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            answer = self.receive()
            if answer.get("id") != self.last:
                self.messages.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def open(self, address, width=1200, height=900, dark=False, media=""):
        """Loads a page and waits until it has loaded."""
        self.messages.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", media=media,
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Page.navigate", url=address)
        until = time.monotonic() + self.wait_s
        while not any(message.get("method") == "Page.loadEventFired" for message in self.messages):
            if time.monotonic() > until:
                raise TimeoutError(f"{address} did not load in {self.wait_s} s")
            self.messages.append(self.receive())

    def evaluate(self, script):
        """The value of an expression of JavaScript; a promise is waited for."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script[:200]}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def complaints(self):
        """What came up in the console since the page was opened."""
        out = []
        for message in self.messages:
            said = message.get("params", {})
            if message.get("method") == "Runtime.consoleAPICalled":
                out.append(" ".join(str(part.get("value", part.get("description"))) for part in said["args"]))
            elif message.get("method") == "Runtime.exceptionThrown":
                out.append(said["exceptionDetails"].get("exception", {}).get("description", said["exceptionDetails"]["text"]))
            elif message.get("method") == "Log.entryAdded":
                out.append(said["entry"]["text"])
        return out

    def requests(self):
        """The addresses that were asked for since the page was opened."""
        return [message["params"]["request"]["url"] for message in self.messages if message.get("method") == "Network.requestWillBeSent"]

    def picture(self, path):
        """The whole page as PNG."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True,
                        clip={"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1})["data"]
        path.write_bytes(base64.b64decode(data))
