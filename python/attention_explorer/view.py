"""What show() returns: a view whose page stands in the cell as plain HTML."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from . import page
from .subject import Subject


def link_of(state: Any) -> str:
    """Returns what stands behind the # of a link."""
    link = state.rpartition("#")[2] if isinstance(state, str) else ""
    if "v" not in parse_qs(link):
        raise ValueError("A state is a link to a view, or what stands behind its #, such as v=1&lens=softmax.")
    return link


def save(subject: Subject, path: str | os.PathLike[str]) -> None:
    Path(path).write_text(page.alone(subject), encoding="utf-8")


def bundle(subject: Subject) -> dict[str, str]:
    """What viewers show that run nothing."""
    picture = subject.picture
    shown = {"text/plain": f"Attention Explorer: {subject.title}"}
    if picture:
        if picture.drawn < picture.heads:
            shown["text/plain"] += f"; the first {picture.drawn} maps are drawn"
        shown["image/png"] = base64.b64encode(picture.png).decode()
    return shown


class View:
    """A view by plain HTML. It works wherever HTML is shown, and tells nothing back."""

    def __init__(self, subject: Subject, height: int) -> None:
        self._subject = subject
        self._height = height
        page.check_cell(subject)

    @property
    def selection(self) -> dict[str, Any] | None:
        raise RuntimeError("This view is plain HTML, which tells nothing back: install anywidget and show it again.")

    @property
    def state(self) -> str:
        """The link it opens with, as it stands behind the #."""
        return self._subject.link

    @state.setter
    def state(self, link: str) -> None:
        self._subject = self._subject.at(link_of(link))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a page that opens from a disk, without Python and without a network."""
        save(self._subject, path)

    def __repr__(self) -> str:
        return f"<attention_explorer.View of {self._subject.title}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        cell = page.frame(page.in_cell(self._subject), self._height)
        note = "<p><small>What is chosen here stays here: with anywidget installed, view.selection follows it.</small></p>"
        return {**bundle(self._subject), "text/html": cell + note}
