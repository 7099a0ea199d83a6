"""Tests what show() makes of tensors: files, links, and one sentence for what does not fit."""

from __future__ import annotations

import json
import sys
import unittest
from unittest import mock
from urllib.parse import parse_qs

import numpy as np

import readers
import staged  # noqa: F401  makes the package importable
import torch_like
from attention_explorer import arrays, tensors

_none = {"tokens": None, "query_tokens": None, "key_tokens": None}
_random = np.random.default_rng(1)


def _subject(q, k, v=None, mask=None, causal=False, scaled=True, **tokens):
    return tensors.of_queries(q, k, v, mask, {**_none, **tokens}, causal=causal, scaled=scaled)


def _written(subject):
    return readers.safetensors(subject.files["tensors/tensors.safetensors"])


class Arrays(unittest.TestCase):
    def test_types_of_numpy_are_kept(self):
        for kind, name in (("f2", "F16"), ("f4", "F32"), (">f8", "F64"), ("?", "BOOL"), ("i8", "I64")):
            with self.subTest(kind):
                given = np.arange(6).reshape(2, 3).astype(kind)
                written = readers.safetensors(tensors.safetensors.write({"x": arrays.tensor_of(given, "x")}))
                self.assertEqual(written["x"][0], name)
                np.testing.assert_array_equal(written["x"][1], given)

    def test_rows_in_any_order_in_memory(self):
        given = _random.standard_normal((4, 3, 2)).transpose(2, 0, 1)[:, ::-1]
        np.testing.assert_array_equal(_written(tensors.of_weights(given, {}))["attention"][1], given)

    def test_pytorch_with_bfloat16_and_eight_bits(self):
        bits = np.array([[0x3F80, 0xC020], [0x7FC0, 0x0000]], np.uint16)
        with mock.patch.dict(sys.modules, torch=torch_like.module):
            tensor = arrays.tensor_of(torch_like.Tensor(bits, "torch.bfloat16"), "q")
        self.assertEqual(tensor.dtype, "BF16")
        np.testing.assert_array_equal(tensor.double(), [[1, -2.5], [np.nan, 0]])
        for kind in ("torch.float8_e4m3fn", "torch.float64"):
            tensor = arrays.tensor_of(torch_like.Tensor(np.eye(2), kind), "q")
            np.testing.assert_array_equal(tensor.double(), np.eye(2))

    def test_what_is_no_array_of_numbers(self):
        for value in ([[1, 2], [3]], ["a"], object(), np.ones(2, complex)):
            with self.subTest(value), self.assertRaisesRegex((TypeError, ValueError), r"^q [^\n]*\.$"):
                arrays.tensor_of(value, "q")


class Queries(unittest.TestCase):
    def test_shapes(self):
        for shape, written in (((5, 8), (1, 5, 8)), ((2, 5, 8), (2, 5, 8)), ((3, 2, 5, 8), (3, 2, 5, 8)),
                               ((1, 2, 5, 8), (2, 5, 8)), ((3, 1, 2, 5, 8), (3, 2, 5, 8))):
            with self.subTest(shape):
                q = _random.standard_normal(shape)
                found = _written(_subject(q, q + 1, q + 2))
                self.assertEqual(list(found), ["q", "k", "v"])
                np.testing.assert_array_equal(found["v"][1], (q + 2).reshape(written))

    def test_the_link_says_how_they_become_weights(self):
        q = np.ones((2, 5, 8))
        for given, rule in (({}, None), ({"causal": True}, ["causal"]), ({"causal": "past", "scaled": False}, ["past,unscaled"])):
            with self.subTest(given):
                link = parse_qs(_subject(q, q, **given).link)
                self.assertEqual((link["v"], link["subject"], link.get("rule")), (["1"], ["tensors"], rule))
                self.assertEqual((link["files"], link["tensors.answers"]), (["tensors.safetensors"], ["axes=first"]))

    def test_masks(self):
        q = np.ones((2, 3, 8))
        for mask, kind, meaning in ((np.tril(np.ones((3, 3), bool)), "BOOL", "allowed"), ([[1, 1, 0]], "BOOL", "allowed"),
                                    ([0, 1, 1], "BOOL", "allowed"), (np.zeros((2, 3, 3)), "F64", "added")):
            with self.subTest(mask):
                subject = _subject(q, q, mask=mask)
                self.assertEqual(_written(subject)["mask"][0], kind)
                self.assertIn(f"mask meaning={meaning}", parse_qs(subject.link)["tensors.answers"][0])
        with self.assertRaisesRegex(ValueError, r"^mask is \[1, 1, 3, 4\] .* fit \[1, 2, 3, 3\]"):
            _subject(q, q, mask=np.ones((3, 4)))

    def test_tokens(self):
        q, k = np.ones((2, 3, 8)), np.ones((1, 4, 8))
        subject = _subject(q, k, query_tokens=["a", "b", "ç"], key_tokens=list("wxyz"))
        self.assertEqual(json.loads(subject.files["tensors/query_tokens.json"]), ["a", "b", "ç"])
        self.assertEqual(json.loads(subject.files["tensors/key_tokens.json"]), list("wxyz"))
        self.assertIn("tensors/tokens.json", _subject(q, k, tokens=list("abcd")).files)
        with self.assertRaisesRegex(ValueError, "^tokens has 5 entries: it needs 3 or 4, one for each position.$"):
            _subject(q, k, tokens=list("abcde"))
        for wrong in ("abc", [1, 2, 3]):
            with self.assertRaisesRegex(TypeError, "^tokens is a list of strings"):
                _subject(q, k, tokens=wrong)

    def test_what_does_not_fit_is_a_sentence(self):
        good = np.ones((2, 3, 8))
        for q, k, v, sentence in (
                (good, None, None, "^k is missing"),
                (None, None, good, "^q is missing"),
                (good, np.ones((2, 3, 7)), None, "as many components"),
                (good, np.ones((3, 3, 8)), None, "multiple of those of k"),
                (good, np.ones((2, 2, 3, 8)), None, "as many layers"),
                (good, good, np.ones((2, 4, 8)), "every key needs a value"),
                (np.ones(3), good, None, r"^q is \[3\]: it needs to be \[n, d\]"),
                (np.ones((2, 0, 8)), good, None, r"^q is \[2, 0, 8\]"),
                (np.ones((2, 3, 8), bool), good, None, "^q holds bool"),
                ([["a", "b"]], good, None, "^q holds text: give an array of real numbers.$"),
                (good.astype(complex), good, None, "^q holds complex numbers: "),
                (np.ones((2, 0, 8)), good, None, "^q is .2, 0, 8. and holds no number: "),
                (np.ones((2, 3, 7)), good, None, "^q has 2 heads, 3 positions, 7 components, and k has ")):
            with self.subTest(sentence), self.assertRaisesRegex((TypeError, ValueError), sentence) as caught:
                _subject(q, k, v)
            self.assertRegex(str(caught.exception), r"^[^\n]+\.$")
        with self.assertRaisesRegex(ValueError, "^causal is False, True"):
            _subject(good, good, causal="yes")


class Weights(unittest.TestCase):
    def test_shapes_and_what_transformers_returns(self):
        layers = _random.random((3, 2, 5, 5)).astype(np.float32)
        for given, written in ((layers, layers), (layers[0], layers[0]), (layers[0, 0], layers[0, :1]),
                               (tuple(layers[:, None]), layers), (list(layers), layers), (layers[0, 0].tolist(), layers[0, :1])):
            with self.subTest(np.shape(given)):
                np.testing.assert_array_equal(_written(tensors.of_weights(given, {}))["attention"][1], written)

    def test_whole_numbers_become_floats(self):
        self.assertEqual(_written(tensors.of_weights(np.eye(3, dtype=int), {}))["attention"][0], "F32")

    def test_layers_that_differ_or_are_missing(self):
        with self.assertRaisesRegex(ValueError, "one shape and one type"):
            tensors.of_weights((np.ones((1, 2, 3, 3)), np.ones((1, 2, 4, 4))), {})
        with self.assertRaisesRegex(ValueError, 'attn_implementation="eager"'):
            tensors.of_weights((None, np.ones((1, 2, 4, 4))), {})

    def test_not_a_number_is_kept(self):
        weights = np.eye(3)
        weights[1] = np.nan
        np.testing.assert_array_equal(_written(tensors.of_weights(weights, {}))["attention"][1], weights[None])


if __name__ == "__main__":
    unittest.main()
