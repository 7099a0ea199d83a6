"""Tests show(model, tokenizer, text) with objects that have what is used of transformers'."""

from __future__ import annotations

import json
import sys
import types
import unittest
from unittest import mock
from urllib.parse import parse_qs

import numpy as np

import readers
import staged  # noqa: F401  makes the package importable
import torch_like
from attention_explorer import models, tensors
from storyteller import GPT2LMHeadModel, folder, storyteller


class Models(unittest.TestCase):
    def test_files_and_link(self):
        model, tokenizer = storyteller()
        subject = models.of_model(model, tokenizer, "The girl & “it”")
        self.assertEqual([path.rpartition("/")[2] for path in subject.files],
                         ["config.json", "model.safetensors", "tokenizer.json"])
        self.assertTrue(all(path.startswith("models/my-storyteller/") for path in subject.files))
        self.assertEqual(parse_qs(subject.link), {"v": ["1"], "subject": ["sentence"], "model": ["my-storyteller"],
                                                  "text": ["The girl & “it”"]})
        config = json.loads(subject.files["models/my-storyteller/config.json"])
        self.assertEqual((config["architectures"], config["n_layer"]), (["GPT2LMHeadModel"], 5))
        self.assertEqual(subject.files["models/my-storyteller/tokenizer.json"], (folder / "tokenizer.json").read_bytes())
        self.assertIsNone(subject.picture)

    def test_tied_tensors_are_written_once(self):
        model, tokenizer = storyteller()
        model.config.content["tie_word_embeddings"] = False
        subject = models.of_model(model, tokenizer, "")
        written = readers.safetensors(subject.files["models/my-storyteller/model.safetensors"])
        self.assertEqual(set(written), set(model.weights) - {"lm_head.weight"})
        for name, (kind, array) in written.items():
            self.assertEqual(kind, "F32")
            np.testing.assert_array_equal(array, model.weights[name])
        self.assertIs(json.loads(subject.files["models/my-storyteller/config.json"])["tie_word_embeddings"], True)

    def test_parts_of_one_array_are_different_tensors(self):
        both = np.arange(12, dtype=np.float32).reshape(2, 6)
        model = GPT2LMHeadModel({}, {"wte.weight": both, "upper": both[:1], "turned": both.reshape(6, 2)})
        weights, tied = models._weights_of(model)
        self.assertEqual(tied, {"lm_head.weight"})
        np.testing.assert_array_equal(weights["transformer.turned"].data, both.reshape(6, 2))

    def test_bfloat16_and_what_the_model_computes(self):
        config = {"model_type": "gpt2", "_name_or_path": "org/name"}
        bits = torch_like.Tensor(np.array([[0x3F80, 0xC020]], np.uint16), "torch.bfloat16")
        weights = np.array([[[[1, 0], [0.5, 0.5]]]])

        class Model(torch_like.Module, GPT2LMHeadModel):
            def parameters(self):
                return iter([types.SimpleNamespace(device="cpu")])

            def __call__(self, ids, output_attentions):
                assert (ids, output_attentions, self.training) == ([1, 2], True, False)
                return types.SimpleNamespace(attentions=(weights, weights))

        class Inputs(dict):
            def to(self, device):
                assert device == "cpu"
                return self

        class Tokenizer(type(storyteller()[1])):
            def __call__(self, text, return_tensors):
                assert (text, return_tensors) == ("a b", "pt")
                return Inputs(ids=[1, 2])

        model = Model(config, {"wte.weight": bits})
        with mock.patch.dict(sys.modules, torch=torch_like.module):
            subject = models.of_model(model, Tokenizer(), "a b")
        self.assertTrue(model.training)
        written = readers.safetensors(subject.files["models/name/model.safetensors"])
        self.assertEqual((list(written), written["transformer.wte.weight"][0]), (["transformer.wte.weight"], "BF16"))
        np.testing.assert_array_equal(written["transformer.wte.weight"][1], bits.data)
        self.assertEqual(subject.picture.png, tensors.of_weights((weights, weights), {}).picture.png)

    def test_what_is_no_model_is_a_sentence(self):
        model, tokenizer = storyteller()
        for given, sentence in (((1, tokenizer, "a"), "^int is no model"), ((model, 1, "a"), "use_fast=True"),
                                ((model, tokenizer, ["a"]), "^The text is list: pass one string"),
                                ((model, tokenizer, "a" * 32_001), "^The text has 32,001 characters")):
            with self.subTest(sentence), self.assertRaisesRegex((TypeError, ValueError), sentence):
                models.of_model(*given)


if __name__ == "__main__":
    unittest.main()
