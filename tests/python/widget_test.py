"""Tests the kernel's side of the wire to stub.js, over a stand-in of anywidget's class."""

from __future__ import annotations

import importlib.machinery
import json
import sys
import types
import unittest

import numpy as np

import readers
import staged  # noqa: F401  makes the package importable
import attention_explorer

try:
    import traitlets
except ImportError:
    traitlets = None


def _anywidget():
    class AnyWidget(traitlets.HasTraits):
        def __init__(self, **members):
            super().__init__(**members)
            self.sent = []

        def on_msg(self, answer):
            self.answer = answer

        def send(self, content, buffers=None):
            json.dumps(content)
            self.sent.append((content, [bytes(each) for each in buffers or []]))

        def _repr_mimebundle_(self, **_):
            return {"text/plain": "", "application/vnd.jupyter.widget-view+json": {"model_id": "1"}}, {}

    module = types.ModuleType("anywidget")
    module.__spec__ = importlib.machinery.ModuleSpec("anywidget", None)
    module.AnyWidget = AnyWidget
    return module


@unittest.skipIf(traitlets is None, "traitlets is not installed")
class Widget(unittest.TestCase):
    def setUp(self):
        sys.modules["anywidget"] = _anywidget()
        self.addCleanup(sys.modules.pop, "anywidget")
        self.addCleanup(sys.modules.pop, "attention_explorer.widget", None)

    def fetch(self, view, name, page=False, between=lambda: None):
        """Takes each chunk as the stub does, and returns the files, the link, and the size of every chunk."""
        files, sizes = {}, []
        view.answer(view, {"type": "fetch", "view": name, "page": page}, [])
        while True:
            (content, buffers), *more = view.sent
            self.assertEqual((more, content["view"]), ([], name))
            view.sent.clear()
            if content["type"] == "whole":
                self.assertNotIn(name, view._sending)
                return files, content["link"], sizes
            self.assertEqual(content["number"], len(sizes))
            files[content["path"]] = files.get(content["path"], b"") + buffers[0]
            sizes.append(len(buffers[0]))
            between()
            view.answer(view, {"type": "taken", "view": name, "number": content["number"]}, [])

    def test_a_hundred_megabytes_come_in_chunks(self):
        attention = np.random.default_rng(4).random((25, 1000, 1000), np.float32)
        view = attention_explorer.show(attention=attention, tokens=[str(i) for i in range(1000)])
        files, link, sizes = self.fetch(view, "a")
        self.assertEqual(set(files), {"tensors/tensors.safetensors", "tensors/tokens.json"})
        np.testing.assert_array_equal(readers.safetensors(files["tensors/tensors.safetensors"])["attention"][1], attention)
        self.assertEqual((max(sizes), len(sizes)), (4_000_000, 27))
        self.assertEqual(link, view.state)

    def test_the_page_comes_only_if_the_browser_lacks_it(self):
        view = attention_explorer.show(attention=np.eye(3))
        self.assertEqual(set(self.fetch(view, "a")[0]), {"tensors/tensors.safetensors"})
        page = self.fetch(view, "b", page=True)[0][""].decode()
        self.assertIn('<html lang="en" hidden data-notebook>', page)
        self.assertEqual(view.page, attention_explorer.show(q=np.eye(3), k=np.eye(3)).page)

    def test_two_views_come_at_once_and_one_goes(self):
        view = attention_explorer.show(attention=np.eye(3))
        view.answer(view, {"type": "fetch", "view": "gone", "page": True}, [])
        view.sent.clear()
        self.fetch(view, "a", between=lambda: view.answer(view, {"type": "gone", "view": "gone"}, []))
        view.answer(view, {"type": "taken", "view": "gone", "number": 0}, [])
        self.assertEqual(view.sent, [])

    def test_no_data_in_what_the_notebook_keeps(self):
        view = attention_explorer.show(attention=np.eye(300))
        kept = {name: getattr(view, name) for name in view.traits(sync=True)}
        self.assertEqual(set(kept), {"selection", "link", "height", "page"})
        self.assertLess(len(json.dumps(kept)), 300)
        self.assertLess(len(view._esm.encode()), 20_000)

    def test_state_and_selection(self):
        view = attention_explorer.show(attention=np.eye(3))
        self.assertIsNone(view.selection)
        view.state = "https://example.org/#v=1&lens=map"
        self.assertEqual(view.sent, [({"type": "state", "link": "v=1&lens=map"}, [])])
        view.sent.clear()
        self.assertEqual(self.fetch(view, "a")[1], "v=1&lens=map")
        view.link = "v=1&lens=flow"  # the stub sets it
        self.assertEqual(view.state, "v=1&lens=flow")
        with self.assertRaisesRegex(ValueError, "^A state is a link"):
            view.state = "nonsense"

    def test_the_bundle_has_a_picture_beside_the_widget(self):
        data, _ = attention_explorer.show(attention=np.eye(3))._repr_mimebundle_()
        self.assertEqual(set(data), {"text/plain", "image/png", "application/vnd.jupyter.widget-view+json"})


if __name__ == "__main__":
    unittest.main()
