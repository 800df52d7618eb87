#!/usr/bin/env python3
"""`expc lsp` as a client sees it on the wire: malformed input, order of messages, exact answers.

usage: protocol_test.py --expc PATH
"""
import argparse
import json
import pathlib
import tempfile
import unittest

from client import Client

OPTIONS = None
HEADER = b"Content-Length: %d\r\n\r\n"


class Wire(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="expc-lsp-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.client = Client(OPTIONS.expc, self.folder / "cache")
        self.addCleanup(self.client.drop)

    def error_of(self, body, number=None):
        self.client.raw(HEADER % len(body) + body)
        message = self.client.answer(number)
        return message["error"]["code"]


class Malformed(Wire):
    def test_what_is_no_message_is_refused_and_the_next_one_served(self):
        self.assertEqual(self.error_of(b"{"), -32700)
        self.assertEqual(self.error_of(b""), -32700)
        self.assertEqual(self.error_of(b"\xff\xfe"), -32700)
        self.assertEqual(self.error_of(b'{"a": "\xc3"}'), -32700)
        self.assertEqual(self.error_of(b"[" * 1_000_000), -32700)
        self.assertEqual(self.error_of(b"[]"), -32600)
        self.assertEqual(self.error_of(b"1"), -32600)
        self.assertEqual(self.error_of(b"{}"), -32600)
        self.assertEqual(self.error_of(b'{"jsonrpc": "1.0", "id": 5, "method": "shutdown"}', 5), -32600)
        self.assertEqual(self.error_of(b'{"jsonrpc": "2.0", "id": 6, "method": 7}', 6), -32600)
        self.assertEqual(self.error_of(b'{"jsonrpc": "2.0", "id": [], "method": "shutdown"}'), -32600)
        self.client.initialize()
        self.assertEqual(self.client.stop(), 0)

    def test_headers_that_make_no_sense_are_skipped(self):
        for header in (b"Content-Length: many\r\n\r\n", b"Length: 3\r\n\r\nabc", b"Content-Length: -1\r\n\r\n",
                       b"x" * 100_000, b"Content-Length: 999999999999\r\n\r\n"):
            client = Client(OPTIONS.expc, self.folder / "cache")
            self.addCleanup(client.drop)
            client.raw(header)
            if b"9999" not in header:
                self.assertEqual(client.answer(None)["error"]["code"], -32700, header)
                client.initialize()
                self.assertEqual(client.stop(), 0)
            else:
                self.assertEqual(client.answer(None)["error"]["code"], -32700)
                self.assertEqual(client.wait(), 1)

    def test_parameters_of_a_wrong_type(self):
        self.client.initialize()
        uri = self.client.open(self.folder / "a.exp", "let a = 1\n")
        for params in (None, [], {}, {"textDocument": 3}, {"textDocument": {"uri": 4}},
                       {"textDocument": {"uri": "file:///nowhere.exp"}, "position": {"line": 0, "character": 0}},
                       {"textDocument": {"uri": uri}}, {"textDocument": {"uri": uri}, "position": "here"},
                       {"textDocument": {"uri": uri}, "position": {"line": -1, "character": 0}},
                       {"textDocument": {"uri": uri}, "position": {"line": 0.5, "character": 0}}):
            self.assertEqual(self.client.error("textDocument/hover", params)["code"], -32602, params)
        self.assertEqual(self.client.error("textDocument/codeAction", {"textDocument": {"uri": uri}})["code"], -32602)
        # Notifications have no answer; the text stays what it was.
        for params in (None, {"textDocument": {"uri": uri}}, {"textDocument": {"uri": uri}, "contentChanges": 1},
                       {"textDocument": {"uri": uri}, "contentChanges": [1, {}, {"text": 2}, {"range": {}, "text": "x"}]},
                       {"textDocument": {"uri": "file:///nowhere.exp"}, "contentChanges": [{"text": ""}]}):
            self.client.notify("textDocument/didChange", params)
            self.client.notify("textDocument/didOpen", params)
            self.client.notify("textDocument/didClose", {"textDocument": {}})
        self.assertIn("let a = 1", self.client.at("textDocument/hover", uri, 0, 4)["contents"]["value"])
        # Places past the end are the end.
        self.assertIsNone(self.client.at("textDocument/hover", uri, 2_000_000_000, 2_000_000_000))
        self.assertEqual(self.client.stop(), 0)


class Order(Wire):
    def test_nothing_before_initialize(self):
        self.assertEqual(self.client.error("textDocument/hover", {})["code"], -32002)
        self.assertEqual(self.client.error("shutdown", None)["code"], -32002)
        self.client.open(self.folder / "a.exp", "nonsense")  # dropped
        self.client.initialize()
        self.assertEqual(self.client.error("initialize", {"capabilities": {}})["code"], -32600)
        self.assertEqual(self.client.published, {})
        self.assertEqual(self.client.stop(), 0)

    def test_nothing_but_exit_after_shutdown(self):
        self.client.initialize()
        self.client.request("shutdown", None)
        self.assertEqual(self.client.error("textDocument/hover", {})["code"], -32600)
        self.client.notify("exit", None)
        self.assertEqual(self.client.wait(), 0)

    def test_exit_without_shutdown(self):
        self.client.initialize()
        self.client.notify("exit", None)
        self.assertEqual(self.client.wait(), 1)

    def test_a_client_that_goes_away(self):
        self.client.initialize()
        self.client.open(self.folder / "a.exp", "study {")
        self.assertEqual(self.client.wait(), 1)

    def test_exit_before_initialize(self):
        self.client.notify("exit", None)
        self.assertEqual(self.client.wait(), 1)

    def test_unknown_methods(self):
        self.client.initialize()
        self.assertEqual(self.client.error("textDocument/unheardOf", {})["code"], -32601)
        self.assertEqual(self.client.error("$/unheardOf", {})["code"], -32601)
        self.client.notify("$/unheardOf", {})
        self.client.notify("unheardOf", {})
        self.client.send({"jsonrpc": "2.0", "id": 99, "result": None})  # an answer to nothing
        self.assertEqual(self.client.stop(), 0)

    def test_a_request_that_waits_can_be_cancelled(self):
        self.client.initialize()
        uri = self.client.open(self.folder / "a.exp", "let a = 1\n")
        place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 4}}
        # In one write, so that the cancellation is there before the request's turn.
        data = b""
        for message in ({"jsonrpc": "2.0", "id": "first", "method": "textDocument/hover", "params": place},
                        {"jsonrpc": "2.0", "id": "second", "method": "textDocument/hover", "params": place},
                        {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "second"}},
                        {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "unknown"}}):
            body = json.dumps(message).encode()
            data += HEADER % len(body) + body
        self.client.raw(data)
        self.assertIn("result", self.client.answer("first"))
        self.assertEqual(self.client.answer("second")["error"]["code"], -32800)
        self.assertEqual(self.client.stop(), 0)

    def test_only_the_last_state_is_compiled(self):
        self.client.initialize()
        uri = self.client.open(self.folder / "a.exp", "let a = 1\n")
        self.client.diagnostics(uri)
        before = self.client.publications
        data = b""
        for version in range(2, 200):
            body = json.dumps({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [{"text": f"let a = {version}\n"}]}}).encode()
            data += HEADER % len(body) + body
        self.client.published.clear()
        self.client.raw(data)
        self.client.diagnostics(uri)
        while self.client.published[uri]["version"] != 199:
            self.client.read()
        self.assertLess(self.client.publications - before, 20)


class Answers(Wire):
    def test_what_the_server_offers(self):
        result = self.client.initialize()
        self.assertEqual(result["serverInfo"]["name"], "expc")
        capabilities = result["capabilities"]
        self.assertEqual(capabilities["positionEncoding"], "utf-16")
        self.assertEqual(capabilities["textDocumentSync"]["change"], 2)
        for name in ("hoverProvider", "definitionProvider", "referencesProvider", "documentSymbolProvider",
                     "documentHighlightProvider", "documentFormattingProvider"):
            self.assertIs(capabilities[name], True)
        for name in ("completionProvider", "codeActionProvider", "renameProvider"):
            self.assertIn(name, capabilities)

    def test_it_asks_to_be_told_of_files_where_the_client_can(self):
        self.client.initialize({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
        asked = self.client.read()
        self.assertEqual((asked["id"], asked["method"]), ("expc/watch", "client/registerCapability"))
        [registration] = asked["params"]["registrations"]
        self.assertEqual(registration["registerOptions"], {"watchers": [{"globPattern": "**/*.exp"}]})
        self.client.send({"jsonrpc": "2.0", "id": asked["id"], "result": None})
        self.assertEqual(self.client.stop(), 0)

    def test_columns_count_what_was_agreed_on(self):
        text = 'let a = "grün 🙂"  let b = 1gib\n'
        for offered, name, column in ((["utf-16"], "utf-16", 27), (["utf-32", "utf-8"], "utf-8", 30), (None, "utf-16", 27)):
            client = Client(OPTIONS.expc, self.folder / "cache")
            self.addCleanup(client.drop)
            general = {"positionEncodings": offered} if offered else {}
            self.assertEqual(client.initialize({"general": general})["capabilities"]["positionEncoding"], name)
            uri = client.open(self.folder / "a.exp", text)
            [diagnostic] = [d for d in client.diagnostics(uri) if d["code"] == "E0203"]
            self.assertEqual(diagnostic["range"]["start"], {"line": 0, "character": column + 1})
            self.assertEqual(diagnostic["range"]["end"], {"line": 0, "character": column + 4})
            # Incremental edits count the same way.
            client.change(uri, 2, ((0, column), (0, column + 4), "1GiB"))
            self.assertEqual(client.diagnostics(uri), [])
            self.assertEqual(client.stop(), 0)

    def test_a_diagnostic_to_the_letter(self):
        self.client.initialize()
        uri = self.client.open(self.folder / "a.exp", "let a = 1\nlet a = 2\n")
        [diagnostic] = self.client.diagnostics(uri)
        page = diagnostic.pop("codeDescription")["href"]
        self.assertEqual(diagnostic, {
            "code": "E0205", "severity": 1, "source": "expc", "message": "the let 'a' is declared twice",
            "range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 5}},
            "relatedInformation": [{
                "location": {"uri": uri, "range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}}},
                "message": diagnostic["relatedInformation"][0]["message"]}]})
        self.assertTrue(page.startswith("file://") and page.endswith("E0205.md"), page)
        self.assertIn("E0205", pathlib.Path(page[len("file://"):]).read_text(encoding="utf-8"))
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        self.client.published.clear()
        self.assertEqual(self.client.diagnostics(uri), [])

    def test_of_thousands_of_mistakes_the_first_are_told(self):
        self.client.initialize()
        uri = self.client.open(self.folder / "many.exp", "let known = 1\n" + "".join(f"let a{i} = knwn\n" for i in range(900)))
        told = self.client.diagnostics(uri)
        self.assertLess(len(told), 400)
        self.assertEqual(told[0]["range"]["start"]["line"], 1)
        for one in told:
            self.assertIn("did you mean 'known'?", one["message"])

    def test_a_text_that_is_no_text(self):
        self.client.initialize()
        uri = self.client.open(self.folder / "a.exp", "let a = 1\0\n")
        self.assertEqual([d["code"] for d in self.client.diagnostics(uri)], ["E0003"])
        self.assertIsNone(self.client.at("textDocument/hover", uri, 0, 4))
        self.assertEqual(self.client.at("textDocument/completion", uri, 0, 4), [])
        self.assertEqual(self.client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}}), [])
        self.client.change(uri, 2, "let a = 1\n")
        self.assertEqual(self.client.diagnostics(uri), [])

    def test_line_ends_of_every_kind(self):
        self.client.initialize()
        uri = self.client.open(self.folder / "a.exp", "let a = 1\r\nlet b = 2\r\nlet c = zzz\n")
        [diagnostic] = self.client.diagnostics(uri)
        self.assertEqual(diagnostic["range"]["start"], {"line": 2, "character": 8})
        self.client.change(uri, 2, ((0, 9), (2, 11), "\nlet c = 3"))
        self.assertEqual(self.client.diagnostics(uri), [])
        self.assertIn("let c = 3", self.client.at("textDocument/hover", uri, 1, 4)["contents"]["value"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True, type=pathlib.Path)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=["protocol_test.py", *rest], verbosity=2)
