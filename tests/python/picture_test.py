"""Compares the pictures with a plain loop over queries and keys, and with a decoder of PNG."""

from __future__ import annotations

import math
import unittest

import numpy as np

import readers
import staged  # noqa: F401  makes the package importable
from attention_explorer import picture
from attention_explorer.arrays import Tensor, tensor_of

_random = np.random.default_rng(2)


def _loop(q, k, allowed, added, scaled):
    rows = []
    for i, query in enumerate(q):
        scores = [(sum(float(a) * float(b) for a, b in zip(query, key)) * (1 / math.sqrt(len(query)) if scaled else 1)
                   + added[i][j]) if allowed(i, j) else -math.inf for j, key in enumerate(k)]
        top = max(scores)
        grown = [0.0 if score == -math.inf else math.exp(score - top) for score in scores]
        rows.append([each / sum(grown) if top > -math.inf else 0.0 for each in grown])
    return np.array(rows)


class Attention(unittest.TestCase):
    def test_weights_agree_with_a_loop(self):
        q, k = _random.standard_normal((2, 4, 5, 8)), _random.standard_normal((2, 2, 7, 8))
        bias = _random.standard_normal((2, 1, 5, 7))
        for causal, scaled, mask in ((False, True, None), (True, True, None), ("past", False, None), (False, True, bias),
                                     (True, True, np.tril(np.ones((1, 1, 5, 7), bool), -1))):
            with self.subTest(causal=causal, scaled=scaled):
                found = list(picture.weights_of(tensor_of(q, "q"), tensor_of(k, "k"),
                                                None if mask is None else tensor_of(mask, "mask"), causal, scaled))
                self.assertEqual(len(found), 8)
                for at, weights in enumerate(found):
                    layer, head = divmod(at, 4)
                    last = {False: 99, True: 0, "past": 2}[causal]
                    boolean = mask is not None and mask.dtype == bool
                    added = mask[layer, 0] if mask is not None and not boolean else np.zeros((5, 7))
                    expected = _loop(q[layer, head], k[layer, head // 2],
                                     lambda i, j: j <= i + last and (not boolean or mask[0, 0, i, j]), added, scaled)
                    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-12)


def _drawn(maps):
    tensor = tensor_of(np.asarray(maps), "attention")
    return picture.draw(picture.maps_of(tensor), tensor.shape)


class Pictures(unittest.TestCase):
    def test_each_number_has_its_colour(self):
        weights = np.array([[[[0, 1], [0.5, 0.25]], [[np.nan, 0.125], [0, 1]]]])
        image = readers.png(_drawn(weights).png)
        height, width, _ = image.shape
        cell = (width - 3 * 6) // 4
        self.assertEqual(height, 2 * cell + 12)
        colours = {0: (0xE6, 0xEE, 0xF8), 0.125: (0xD5, 0xE4, 0xF4), 0.25: (0xBC, 0xD6, 0xEC), 0.5: (0x70, 0xAE, 0xD4),
                   1: (0x0A, 0x3A, 0x70)}
        for head in range(2):
            for row in range(2):
                for column in range(2):
                    part = image[6 + row * cell:6 + (row + 1) * cell,
                                 6 + head * (2 * cell + 6) + column * cell:][:, :cell].reshape(-1, 3)
                    value = weights[0, head, row, column]
                    expected = (0xFF, 0, 0xC8) if np.isnan(value) else colours[float(value)]
                    self.assertTrue((part == expected).all(), (head, row, column))
        self.assertTrue((image[:6] == 255).all())

    def test_cells_that_share_a_pixel_show_the_largest(self):
        weights = np.zeros((1, 1, 1000, 1000))
        weights[0, 0, 700, 300] = 1
        image = readers.png(_drawn(weights).png)[6:-6, 6:-6]
        self.assertEqual(image.shape[0], image.shape[1])
        dark = np.argwhere((image == (0x0A, 0x3A, 0x70)).all(-1))
        np.testing.assert_allclose(dark, [[700 * image.shape[0] / 1000, 300 * image.shape[0] / 1000]], atol=1)

    def test_many_heads_and_very_large_maps(self):
        drawn = _drawn(np.full((20, 16, 4, 4), 0.25))
        self.assertEqual((drawn.drawn, drawn.heads), (144, 320))
        self.assertLess(readers.png(drawn.png).shape[1], 961)
        self.assertIsNone(picture.draw(iter([]), (1, 1, 5000, 5000)))
        self.assertTrue((readers.png(_drawn(np.zeros((1, 1, 2, 2))).png)[6:-6, 6:-6] == (0xE6, 0xEE, 0xF8)).all())

    def test_bfloat16(self):
        bits = Tensor(np.array([[[[0x3F80, 0x0000]]]], np.uint16), "BF16")
        image = readers.png(picture.draw(picture.maps_of(bits), bits.shape).png)
        self.assertEqual(tuple(image[8, 8]), (0x0A, 0x3A, 0x70))


if __name__ == "__main__":
    unittest.main()
