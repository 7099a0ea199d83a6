"""Has the bundled model as objects with what is used of transformers'."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import readers

folder = Path(__file__).resolve().parents[2] / "models/storyteller"


class _Config:
    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    def to_dict(self) -> dict[str, Any]:
        return dict(self.content)


class GPT2LMHeadModel:
    """Names its tensors as a model of transformers in memory does, with a tied head."""

    def __init__(self, config: dict[str, Any], weights: dict[str, np.ndarray]) -> None:
        self.config = _Config(config)
        self.weights = {f"transformer.{name}": value for name, value in weights.items()}
        self.weights["lm_head.weight"] = self.weights["transformer.wte.weight"]

    def state_dict(self) -> dict[str, np.ndarray]:
        return self.weights


class _Tokenizer:
    @property
    def backend_tokenizer(self) -> _Tokenizer:
        return self

    def to_str(self) -> str:
        return (folder / "tokenizer.json").read_text()


def storyteller() -> tuple[GPT2LMHeadModel, _Tokenizer]:
    stored = readers.safetensors((folder / "model.safetensors").read_bytes())
    config = json.loads((folder / "config.json").read_text())
    del config["architectures"]
    weights = {name: array.astype(np.float32) for name, (_, array) in stored.items()}
    return GPT2LMHeadModel({**config, "_name_or_path": "/home/me/my storyteller/"}, weights), _Tokenizer()
