"""Runs a view as a kernel does, for a test that carries its messages: a line of JSON each, buffers in base64."""

from __future__ import annotations

import base64
import importlib.machinery
import json
import sys
import types
from typing import Any

import traitlets


class AnyWidget(traitlets.HasTraits):
    """Has what is used of anywidget's class."""

    def on_msg(self, answer: Any) -> None:
        self.answer = answer

    def send(self, content: dict[str, Any], buffers: list[memoryview] | None = None) -> None:
        print(json.dumps({"content": content, "buffers": [base64.b64encode(each).decode() for each in buffers or []]}),
              flush=True)


module = types.ModuleType("anywidget")
module.__spec__ = importlib.machinery.ModuleSpec("anywidget", None)
module.AnyWidget = AnyWidget  # type: ignore[attr-defined]
sys.modules["anywidget"] = module

space: dict[str, Any] = {}
exec(sys.argv[1], space)  # leaves a view
view = space["view"]
print(json.dumps({"stub": view._esm, "values": {name: getattr(view, name) for name in view.traits(sync=True)}}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "content" in asked:
        view.answer(view, asked["content"], [])
    elif "changes" in asked:
        for name, value in asked["changes"].items():
            setattr(view, name, value)
    else:
        exec(asked["run"], space)
        print(json.dumps({"answer": space.get("answer")}), flush=True)
