"""Tests the page that is one file, the cell's frame, and what stands in the cell beside it."""

from __future__ import annotations

import base64
import html
import json
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import readers
import staged  # noqa: F401  makes the package importable
import attention_explorer
from attention_explorer import page

_q = np.random.default_rng(3).standard_normal((2, 5, 8))


class Saved(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = Path(scratch.name) / "a.html"

    def test_a_page_has_the_files_their_sizes_and_the_link(self):
        attention_explorer.save(self.path, q=_q, k=_q, tokens=list("ab<\"é"), causal=True)
        text = self.path.read_text(encoding="utf-8")
        blocks = readers.blocks(text)
        self.assertEqual(json.loads(blocks["tensors/tokens.json"]), list("ab<\"é"))
        np.testing.assert_array_equal(readers.safetensors(blocks["tensors/tensors.safetensors"])["q"][1], _q)
        sizes = json.loads(blocks["manifest.json"])
        self.assertEqual(sizes, {"main.js": 10, **{path: len(blocks[path]) for path in blocks if path.startswith("tensors/")}})
        self.assertRegex(blocks["view"].decode(), "^v=1&subject=tensors.*&rule=causal$")
        self.assertNotIn("data-notebook", text)
        self.assertTrue(text.endswith("</body>\n</html>\n"))

    def test_the_same_content_gives_the_same_bytes(self):
        attention_explorer.save(self.path, attention=np.eye(3))
        first = self.path.read_bytes()
        attention_explorer.save(self.path, attention=np.eye(3))
        self.assertEqual(self.path.read_bytes(), first)

    def test_more_than_a_page_takes_is_a_sentence(self):
        large = np.zeros((2, 1500, 1500), np.float32)
        with self.assertRaisesRegex(ValueError, r"^2 heads, 1500 queries × 1500 keys has 18 MB, and a page takes up to 16 MB: "
                                                r"run python -m attention_explorer FILE… instead"):
            attention_explorer.save(self.path, attention=large)
        self.assertFalse(self.path.exists())
        with self.assertRaisesRegex(ValueError, "16 MB: install anywidget"):
            attention_explorer.show(attention=large)

    def test_a_checkout_says_how_to_make_the_page(self):
        page._page.cache_clear()
        self.addCleanup(page._page.cache_clear)
        with mock.patch.object(page, "_place", Path("nowhere/page.html")), \
                self.assertRaisesRegex(FileNotFoundError, "tools/package wheel"):
            attention_explorer.save(self.path, attention=np.eye(3))


class Cells(unittest.TestCase):
    def test_the_frame_holds_the_page_and_nothing_else_leaves_it(self):
        bundle = attention_explorer.show(attention=np.eye(3), height=321)._repr_mimebundle_()
        frame, srcdoc, rest = re.fullmatch(r'(<iframe srcdoc="([^"]*)" [^<>]*></iframe>)<p><small>([^<]*)</small></p>',
                                           bundle["text/html"]).groups()
        self.assertIn("height: 321px", frame)
        self.assertIn("anywidget", rest)
        inner = html.unescape(srcdoc)
        self.assertIn('<html lang="en" hidden data-notebook>', inner)
        self.assertIn('<title>"Stand-in" &amp; more</title>', inner)
        self.assertIn("tensors/tensors.safetensors", readers.blocks(inner))

    def test_viewers_that_run_nothing_have_a_picture_and_a_line(self):
        bundle = attention_explorer.show(attention=np.eye(3))._repr_mimebundle_()
        self.assertEqual(set(bundle), {"text/plain", "text/html", "image/png"})
        readers.png(base64.b64decode(bundle["image/png"]))
        self.assertEqual(bundle["text/plain"], "Attention Explorer: 1 head, 3 queries × 3 keys")
        many = attention_explorer.show(attention=np.full((200, 2, 2), 0.5))._repr_mimebundle_()
        self.assertEqual(many["text/plain"], "Attention Explorer: 200 heads, 2 queries × 2 keys; the first 144 maps are drawn")

    def test_without_anywidget_the_selection_is_a_sentence_and_the_state_a_link(self):
        view = attention_explorer.show(attention=np.eye(3))
        with self.assertRaisesRegex(RuntimeError, "install anywidget"):
            view.selection
        view.state = "https://example.org/explorer/?x#v=1&subject=tensors&lens=map"
        self.assertEqual(view.state, "v=1&subject=tensors&lens=map")
        blocks = readers.blocks(html.unescape(view._repr_mimebundle_()["text/html"]))
        self.assertEqual(blocks["view"].decode(), view.state)
        for wrong in ("lens", "", None, "https://example.org/"):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "^A state is a link"):
                view.state = wrong


class Arguments(unittest.TestCase):
    def test_one_sentence_says_what_to_pass(self):
        eye = np.eye(3)
        for what, given, sentence in (
                ((), {}, "^Pass one of these"),
                ((), {"q": eye, "k": eye, "attention": eye}, "^Pass one of these"),
                (("file.npz",), {"attention": eye}, "^Pass one of these"),
                (("file.npz",), {"tokens": ["a"]}, "tokens.json"),
                ((), {"attention": eye, "causal": True}, "^causal and scaled say"),
                ((1, 2), {}, r"show\(model, tokenizer, text\)"),
                ((1, 2, "text"), {}, "^int is no model of transformers")):
            with self.subTest(sentence), self.assertRaisesRegex(TypeError, sentence) as caught:
                attention_explorer.show(*what, **given)
            self.assertRegex(str(caught.exception), r"^[^\n]+\.$")


if __name__ == "__main__":
    unittest.main()
