"""Tests files and models by their names, and the server that shows them."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import socket
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock
from urllib.parse import parse_qs

import numpy as np

import staged  # noqa: F401  makes the package importable
import attention_explorer
from attention_explorer import __main__, files, serve


class WithFolder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        model = self.folder / "my model 100%"
        model.mkdir()
        for name, content in (("config.json", "{}"), ("model.safetensors", "12345"), ("notes.md", "no"), (".hidden.json", "")):
            (model / name).write_text(content)
        np.savez(self.folder / "run.npz", q=np.eye(4), k=np.eye(4), causal=True)
        np.save(self.folder / "attention.npy", np.eye(3))
        (self.folder / "tokens.json").write_text('["a", "b", "c"]')
        (self.folder / "small.gguf").write_text("GGUF")


class Files(WithFolder):
    def test_tensors_with_their_tokens(self):
        subject = files.of_files([self.folder / "attention.npy", str(self.folder / "tokens.json")])
        self.assertEqual(list(subject.files), ["tensors/attention.npy", "tensors/tokens.json"])
        self.assertEqual(subject.files["tensors/tokens.json"], b'["a", "b", "c"]')
        self.assertEqual(subject.link, "v=1&subject=tensors&files=attention.npy%2Ctokens.json")
        self.assertEqual(subject.title, "attention.npy, tokens.json")
        self.assertIsNotNone(subject.picture)

    def test_a_link_keeps_names_with_commas(self):
        (self.folder / "a,b\\c.npy").write_bytes((self.folder / "attention.npy").read_bytes())
        _, link = files.paths_of([self.folder / "a,b\\c.npy", self.folder / "tokens.json"])
        self.assertEqual(parse_qs(link)["files"], ["a\\,b\\\\c.npy,tokens.json"])

    def test_a_picture_of_q_and_k_in_a_file(self):
        same = attention_explorer.tensors.of_queries(np.eye(4), np.eye(4), None, None, {}, causal=True, scaled=True)
        self.assertEqual(files.of_files([self.folder / "run.npz"]).picture.png, same.picture.png)
        np.save(self.folder / "other.npy", np.eye(3))
        self.assertIsNone(files.of_files([self.folder / "other.npy"]).picture)

    def test_models(self):
        found, link = files.paths_of([self.folder / "my model 100%"])
        self.assertEqual(list(found), [f"models/my model 100%25/{name}" for name in ("config.json", "model.safetensors")])
        self.assertEqual(link, "v=1&subject=sentence&model=my%20model%20100%25")
        found, link = files.paths_of([self.folder / "small.gguf"])
        self.assertEqual((list(found), link), (["models/small/small.gguf"], "v=1&subject=sentence&model=small"))

    def test_what_is_not_read_is_a_sentence(self):
        (self.folder / "a.pt").write_text("")
        (self.folder / "inner").mkdir()
        (self.folder / "inner/tokens.json").write_text("[]")
        for names, sentence in ((["absent.npz"], "absent.npz does not exist"), (["a.pt"], "a.pt is not read here"),
                                (["inner"], "inner has no config.json"), (["tokens.json", "inner/tokens.json"], "^Two files"),
                                (["tokens.json", "small.gguf"], "^Pass either")):
            with self.subTest(names), self.assertRaisesRegex((OSError, ValueError), sentence) as caught:
                files.paths_of([self.folder / name for name in names])
            self.assertRegex(str(caught.exception), r"^[^\n]+\.$")


class Server(WithFolder):
    def setUp(self):
        super().setUp()
        found, _ = files.paths_of([self.folder / "my model 100%"])
        self.server = serve.server(found)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def get(self, path, method="GET", host=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port)
        self.addCleanup(connection.close)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{self.server.server_port}")
        connection.endheaders()
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    def test_page_and_files_with_isolation(self):
        for path, kind, content in (("/", "text/html; charset=utf-8", b"<!doctype html>\n"),
                                    ("/index.html?x=1", "text/html; charset=utf-8", b"<!doctype html>\n"),
                                    ("/models/my%20model%20100%2525/model.safetensors", "application/octet-stream", None),
                                    ("/models/my%20model%20100%25/model.safetensors", "application/octet-stream", b"12345")):
            with self.subTest(path):
                status, headers, found = self.get(path)
                self.assertEqual(headers["Cross-Origin-Opener-Policy"], "same-origin")
                self.assertEqual(headers["Cross-Origin-Embedder-Policy"], "require-corp")
                self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")
                self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
                if content is not None:
                    self.assertEqual((status, headers["Content-Type"], found), (200, kind, content))
        status, headers, found = self.get("/", "HEAD")
        self.assertEqual((status, headers["Content-Length"], found), (200, "16", b""))

    def test_the_manifest_lists_what_is_served(self):
        listed = json.loads(self.get("/manifest.json")[2])
        self.assertEqual(listed, {"index.html": 16, "models/my model 100%25/config.json": 2,
                                  "models/my model 100%25/model.safetensors": 5})

    def test_nothing_else_is_served(self):
        for path in ("/../../etc/passwd", "/%2e%2e/page.html", "/..%2fpage.html", "/page.html", "//etc/passwd", "/models",
                     "/models/my%20model%20100%25/notes.md", "/models/left-out/config.json", "/%00"):
            with self.subTest(path):
                self.assertEqual(self.get(path)[0], 404)
        self.assertEqual(self.get("/", "POST")[0], 501)

    def test_a_page_elsewhere_cannot_read_it_by_a_name_of_its_own(self):
        port = self.server.server_port
        self.assertEqual(self.get("/", host=f"attacker.example:{port}")[0], 403)
        self.assertEqual(self.get("/", host=f"localhost:{port}")[0], 200)
        self.assertEqual(self.server.server_address[0], "127.0.0.1")


class Program(WithFolder):
    def run_with(self, *arguments):
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error), \
                mock.patch("http.server.ThreadingHTTPServer.serve_forever", side_effect=KeyboardInterrupt):
            code = __main__.main([str(argument) for argument in arguments])
        return code, out.getvalue(), error.getvalue()

    def test_says_where_it_is(self):
        code, out, error = self.run_with(self.folder / "run.npz")
        self.assertRegex(out, r"^Open http://127\.0\.0\.1:\d+/#v=1&subject=tensors&files=run\.npz\n$")
        self.assertEqual((code, error), (0, ""))

    def test_refuses_with_a_sentence(self):
        with socket.create_server(("127.0.0.1", 0)) as busy:
            port = busy.getsockname()[1]
            for arguments, sentence in (((self.folder / "absent.npz",), r"absent\.npz does not exist"),
                                        ((self.folder / "run.npz", "--port", port), f"^Port {port} is in use"),
                                        ((self.folder / "run.npz", "--port", 70000), "^Port 70000 cannot be opened")):
                with self.subTest(sentence):
                    code, out, error = self.run_with(*arguments)
                    self.assertRegex(error, sentence)
                    self.assertRegex(error, r"^[^\n]+\.\n$")
                    self.assertEqual((code, out), (1, ""))


if __name__ == "__main__":
    unittest.main()
