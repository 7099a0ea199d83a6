"""Stands for the Python half of anywidget 0.11, which Debian does not have."""

from __future__ import annotations

from typing import Any

import ipywidgets
import traitlets

_version = "~0.11.*"


class AnyWidget(ipywidgets.DOMWidget):
    _model_name = traitlets.Unicode("AnyModel").tag(sync=True)
    _model_module = traitlets.Unicode("anywidget").tag(sync=True)
    _model_module_version = traitlets.Unicode(_version).tag(sync=True)
    _view_name = traitlets.Unicode("AnyView").tag(sync=True)
    _view_module = traitlets.Unicode("anywidget").tag(sync=True)
    _view_module_version = traitlets.Unicode(_version).tag(sync=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kind = type(self)
        self.add_traits(
            _esm=traitlets.Unicode(kind._esm).tag(sync=True),
            _anywidget_id=traitlets.Unicode(f"{kind.__module__}.{kind.__name__}").tag(sync=True),
        )
        super().__init__(*args, **kwargs)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        text = repr(self)
        if len(text) > 110:
            text = text[:110] + "…"
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        return {"text/plain": text, "application/vnd.jupyter.widget-view+json": view}, {}
