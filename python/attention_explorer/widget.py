"""What show() returns where anywidget is installed: a view that tells what is chosen in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from . import page
from .subject import Subject
from .view import bundle, link_of, save

_chunk = 4_000_000  # bytes; some front ends refuse messages of more than 10 MB


class WidgetView(anywidget.AnyWidget):
    """A view by anywidget. Files go as messages, each of which waits until the one before has been taken; they are
    no traits, which would be kept in the notebook."""

    _esm = Path(__file__).with_name("stub.js").read_text(encoding="utf-8")
    selection = traitlets.Dict(allow_none=True, help="What is chosen, or None.").tag(sync=True)
    link = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)
    page = traitlets.Unicode(help="Which page the view needs; the browser may have it already.").tag(sync=True)

    def __init__(self, subject: Subject, height: int) -> None:
        name, self._page = page.empty_cell()
        super().__init__(selection=None, link=subject.link, height=height, page=name)
        self._subject = subject
        self._sending: dict[str, Iterator[tuple[dict[str, Any], list[memoryview]]]] = {}
        self.on_msg(self._answer)

    @property
    def state(self) -> str:
        """The link to what is on screen, as it stands behind the #."""
        return self.link

    @state.setter
    def state(self, link: str) -> None:
        self.link = link_of(link)
        self.send({"type": "state", "link": self.link})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a page that opens from a disk, without Python and without a network."""
        save(self._subject.at(self.link), path)

    def _answer(self, _: Any, message: dict[str, Any], buffers: list[memoryview]) -> None:
        kind, view = message.get("type"), str(message.get("view"))
        if kind == "fetch":
            self._sending[view] = self._messages(view, bool(message.get("page")))
        elif kind == "gone":
            self._sending.pop(view, None)
        if view in self._sending:
            message, buffers = next(self._sending[view])
            if message["type"] == "whole":
                del self._sending[view]
            self.send(message, buffers)

    def _messages(self, view: str, with_page: bool) -> Iterator[tuple[dict[str, Any], list[memoryview]]]:
        number = 0
        for path, content in [("", self._page)] * with_page + list(self._subject.files.items()):
            for at in range(0, max(len(content), 1), _chunk):
                yield {"type": "chunk", "view": view, "path": path, "number": number}, [memoryview(content)[at:at + _chunk]]
                number += 1
        yield {"type": "whole", "view": view, "link": self.link}, []

    def _repr_mimebundle_(self, **options: Any) -> Any:
        shown = super()._repr_mimebundle_(**options)
        data, metadata = shown if isinstance(shown, tuple) else (shown or {}, {})
        return {**data, **bundle(self._subject)}, metadata
