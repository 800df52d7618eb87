"""A client of `expc lsp`, as small as can be: it writes messages, reads them, and keeps what was published."""
import json
import os
import pathlib
import select
import subprocess
import time


class Client:
    """Starts a server. Everything waits at most `patience` seconds."""

    def __init__(self, expc, cache, patience=60):
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        self.process = subprocess.Popen([str(expc), "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.patience = patience
        self.buffer = b""
        self.next_id = 1
        self.published = {}  # uri -> the latest params of publishDiagnostics
        self.publications = 0
        self.inbox = []      # messages that nobody waited for

    # ---- bytes

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def _fill(self, deadline):
        left = deadline - time.monotonic()
        ready, _, _ = select.select([self.process.stdout], [], [], max(0, left))
        if not ready:
            raise TimeoutError("the server says nothing")
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        if not data:
            raise EOFError("the server has gone")
        self.buffer += data

    def read(self):
        deadline = time.monotonic() + self.patience
        while b"\r\n\r\n" not in self.buffer:
            self._fill(deadline)
        header, rest = self.buffer.split(b"\r\n\r\n", 1)
        assert header.startswith(b"Content-Length: "), header
        length = int(header[len(b"Content-Length: "):])
        while len(rest) < length:
            self._fill(deadline)
            rest = self.buffer.split(b"\r\n\r\n", 1)[1]
        self.buffer = rest[length:]
        message = json.loads(rest[:length])
        assert message.get("jsonrpc") == "2.0", message
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published[message["params"]["uri"]] = message["params"]
            self.publications += 1
        return message

    # ---- messages

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method, params):
        number = self.next_id
        self.next_id += 1
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def answer(self, number):
        """The whole answer to a request; messages with other ids are kept."""
        for at, message in enumerate(self.inbox):
            if message.get("id") == number:
                return self.inbox.pop(at)
        while True:
            message = self.read()
            if "method" not in message and message.get("id") == number:
                return message
            self.inbox.append(message)

    def request(self, method, params):
        message = self.answer(self.start(method, params))
        if "error" in message:
            raise AssertionError(f"{method}: {message['error']}")
        return message["result"]

    def error(self, method, params):
        message = self.answer(self.start(method, params))
        assert "error" in message, message
        return message["error"]

    def initialize(self, capabilities=None):
        result = self.request("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities or {}})
        self.notify("initialized", {})
        return result

    # ---- documents

    def open(self, path, text=None):
        path = pathlib.Path(path)
        if text is None:
            text = path.read_text(encoding="utf-8")
        uri = path.as_uri()
        self.published.pop(uri, None)
        self.notify("textDocument/didOpen",
                    {"textDocument": {"uri": uri, "languageId": "exp", "version": 1, "text": text}})
        return uri

    def change(self, uri, version, *changes):
        """Each change is a text, or (begin, end, text) with places as (line, character)."""
        def one(change):
            if isinstance(change, str):
                return {"text": change}
            (first, begin), (last, end), text = change
            return {"range": {"start": {"line": first, "character": begin}, "end": {"line": last, "character": end}},
                    "text": text}
        self.published.pop(uri, None)
        self.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version},
                                               "contentChanges": [one(change) for change in changes]})

    def diagnostics(self, uri):
        """Of the last text that was sent."""
        while uri not in self.published:
            self.read()
        return self.published[uri]["diagnostics"]

    def until(self, uri, wanted):
        """The diagnostics once they are as wanted: what is said of an import's importers may come twice."""
        while uri not in self.published or not wanted(self.published[uri]["diagnostics"]):
            self.read()
        return self.published[uri]["diagnostics"]

    def at(self, method, uri, line, character, **more):
        return self.request(method, {"textDocument": {"uri": uri},
                                     "position": {"line": line, "character": character}, **more})

    # ---- the end

    def stop(self):
        """The exit code after a proper goodbye."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.wait()

    def drop(self):
        """Ends the server, whatever it is doing."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass

    def wait(self):
        self.process.stdin.close()
        code = self.process.wait(self.patience)
        self.process.stdout.close()
        return code
