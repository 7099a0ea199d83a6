"""Puts files and a link into the explorer's page, which is one file: web/shell/one_file.js makes it."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import html
import json
import re
from pathlib import Path

from .subject import Subject

_place = Path(__file__).with_name("page.html")
_most = 16_000_000  # bytes of own files, as in the page
_root = '<html lang="en" hidden>'


@functools.cache
def _page() -> str:
    if not _place.exists():
        raise FileNotFoundError(f"{_place} is missing: this is a checkout, in which tools/package wheel makes the "
                                "package with its page.")
    return _place.read_text(encoding="utf-8")


def _block(path: str, content: bytes) -> str:
    packed = base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()
    return f'<script type="text/plain" data-file="{html.escape(path)}">{packed}</script>\n'


def _find(path: str) -> re.Match[str]:
    found = re.search(rf'<script type="text/plain" data-file="{re.escape(path)}">([^<]*)</script>\n', _page())
    if not found:
        raise ValueError(f"{_place} has no block {path}: install attention-explorer again.")
    return found


def alone(subject: Subject) -> str:
    """The page with the subject in it. It opens from a disk."""
    _check(subject, "run python -m attention_explorer FILE… instead, or save fewer layers or float16")
    manifest = json.loads(gzip.decompress(base64.b64decode(_find("manifest.json")[1])))
    manifest.update({path: len(content) for path, content in subject.files.items()})
    changed = {"manifest.json": json.dumps(manifest).encode(), "view": subject.link.encode()}
    page = _page()
    for path, content in changed.items():
        page = page.replace(_find(path)[0], _block(path, content), 1)
    end = page.rindex("</body>")
    return page[:end] + "".join(_block(path, content) for path, content in subject.files.items()) + page[end:]


def in_cell(subject: Subject) -> str:
    """The page with the subject in it, for a frame in a notebook."""
    return _marked(alone(subject))


def check_cell(subject: Subject) -> None:
    _check(subject, "install anywidget, which sends it in parts, or run python -m attention_explorer FILE…")


@functools.cache
def empty_cell() -> tuple[str, bytes]:
    """The page without a subject, for frames in a notebook, after a name for this very page."""
    content = _marked(_page()).encode()
    return hashlib.sha256(content).hexdigest()[:16], content


def _marked(page: str) -> str:
    if _root not in page:
        raise ValueError(f"{_place} has no {_root}: install attention-explorer again.")
    return page.replace(_root, _root.replace(" hidden", " hidden data-notebook"), 1)


def _check(subject: Subject, instead: str) -> None:
    if subject.size > _most:
        raise ValueError(f"{subject.title} has {subject.size / 1e6:.0f} MB, and a page takes up to {_most / 1e6:.0f} MB: "
                         f"{instead}.")


def frame(page: str, height: int) -> str:
    return (f'<iframe srcdoc="{html.escape(page)}" title="Attention Explorer" allow="clipboard-write" '
            f'style="display: block; width: 100%; height: {height}px; border: 0"></iframe>')
