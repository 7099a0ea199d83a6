"""Serves the explorer and files on one local port, with the headers that let the page use threads."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

_types = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".json": "application/json", ".webmanifest": "application/manifest+json",
    ".wasm": "application/wasm", ".svg": "image/svg+xml", ".png": "image/png", ".otf": "font/otf", ".ttf": "font/ttf",
    ".md": "text/markdown; charset=utf-8", ".txt": "text/plain; charset=utf-8",
}
_headers = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",  # another run on this port may serve other files
}
site = Path(__file__).with_name("site")


def server(files: Mapping[str, Path], port: int = 0) -> ThreadingHTTPServer:
    """Serves the site and these files under their paths. Port 0 takes any free port."""
    if not (site / "manifest.json").exists():
        raise FileNotFoundError(f"{site} is missing: this is a checkout, in which tools/package wheel makes the package "
                                "with its page.")
    manifest = json.loads((site / "manifest.json").read_text(encoding="utf-8"))
    manifest = {path: size for path, size in manifest.items() if (site / path).is_file()}
    paths = {**{path: site / path for path in manifest}, **{unquote(path): file for path, file in files.items()}}
    manifest.update({path: file.stat().st_size for path, file in files.items()})
    listed = json.dumps(manifest).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve(with_content=True)

        def do_HEAD(self) -> None:
            self._serve(with_content=False)

        def _serve(self, with_content: bool) -> None:
            try:
                self._find(with_content)
            except (BrokenPipeError, ConnectionResetError):  # the browser has gone on
                self.close_connection = True

        def _find(self, with_content: bool) -> None:
            # A page elsewhere whose name leads to this machine has another Host.
            if self.headers.get("Host", "").rpartition(":")[0] not in ("127.0.0.1", "localhost"):
                self._answer(HTTPStatus.FORBIDDEN, b"Open it as 127.0.0.1.\n", with_content)
                return
            path = unquote(urlsplit(self.path).path)[1:] or "index.html"
            if path == "manifest.json":
                self._answer(HTTPStatus.OK, listed, with_content, ".json")
                return
            try:
                file = paths[path].open("rb")
            except (KeyError, OSError):
                self._answer(HTTPStatus.NOT_FOUND, b"Not found\n", with_content)
                return
            with file:
                self._head(HTTPStatus.OK, os.fstat(file.fileno()).st_size, paths[path].suffix)
                if with_content:
                    shutil.copyfileobj(file, self.wfile)

        def _answer(self, status: HTTPStatus, content: bytes, with_content: bool, suffix: str = ".txt") -> None:
            self._head(status, len(content), suffix)
            if with_content:
                self.wfile.write(content)

        def _head(self, status: HTTPStatus, size: int, suffix: str) -> None:
            self.send_response(status)
            for name, value in _headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", _types.get(suffix, "application/octet-stream"))
            self.send_header("Content-Length", str(size))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)
