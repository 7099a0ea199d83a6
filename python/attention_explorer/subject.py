"""Defines what a view shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from .picture import Picture


def link_to_tensors(paths: Iterable[str], more: str = "") -> str:
    """Names the files: without that, the page takes them for others and forgets what else the link sets."""
    names = (path.rpartition("/")[2].replace("\\", "\\\\").replace(",", "\\,") for path in paths)
    return f"v=1&subject=tensors&files={quote(','.join(names))}{more}"


@dataclass(frozen=True)
class Subject:
    """Files under their paths in the page, tensors/NAME or models/NAME/FILE, and the link that shows them."""

    files: Mapping[str, bytes]
    link: str
    title: str
    picture: Picture | None = field(default=None, compare=False)

    @property
    def size(self) -> int:
        return sum(len(content) for content in self.files.values())

    def at(self, link: str) -> Subject:
        return replace(self, link=link)
