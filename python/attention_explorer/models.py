"""Makes a subject of a transformers model, its tokenizer and a text."""

from __future__ import annotations

import json
import re
import sys
from typing import Any
from urllib.parse import quote

from . import safetensors, tensors
from .arrays import Tensor, tensor_of
from .picture import Picture
from .subject import Subject

_most_characters = 32_000  # in a link


def of_model(model: Any, tokenizer: Any, text: Any) -> Subject:
    if not hasattr(model, "state_dict") or not hasattr(model, "config"):
        raise TypeError(f"{type(model).__name__} is no model of transformers: show(model, tokenizer, text) takes one, "
                        "show(q=…, k=…) and show(attention=…) take tensors.")
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise TypeError(f"{type(tokenizer).__name__} has no backend_tokenizer: load it with "
                        "AutoTokenizer.from_pretrained(name, use_fast=True).")
    if not isinstance(text, str):
        raise TypeError(f"The text is {type(text).__name__}: pass one string.")
    if len(text) > _most_characters:
        raise ValueError(f"The text has {len(text):,} characters: pass at most {_most_characters:,}.")
    config = dict(model.config.to_dict())
    weights, tied = _weights_of(model)
    if "lm_head.weight" in tied:
        config["tie_word_embeddings"] = True
    config["architectures"] = config.get("architectures") or [type(model).__name__]
    name = _name_of(config, model)
    folder = f"models/{name}"
    files = {
        f"{folder}/config.json": json.dumps(config, default=str).encode(),
        f"{folder}/model.safetensors": safetensors.write(weights, {"format": "pt"}),
        f"{folder}/tokenizer.json": tokenizer.backend_tokenizer.to_str().encode(),
    }
    link = f"v=1&subject=sentence&model={quote(name)}&text={quote(text)}"
    return Subject(files, link, f"{name}: {text}", _picture(model, tokenizer, text))


def _weights_of(model: Any) -> tuple[dict[str, Tensor], set[str]]:
    """Returns the tensors and the names of those that share the numbers of another, which are left out."""
    weights: dict[str, Tensor] = {}
    tied: set[str] = set()
    seen = set()
    for name, value in model.state_dict().items():
        place = (_address(value), tuple(value.shape), str(value.dtype), str(_strides(value)))
        if 0 not in value.shape and place in seen:
            tied.add(name)
            continue
        seen.add(place)
        weights[name] = tensor_of(value, name)
    return weights, tied


def _address(value: Any) -> int:
    return value.data_ptr() if hasattr(value, "data_ptr") else value.__array_interface__["data"][0]


def _strides(value: Any) -> Any:
    return value.stride() if hasattr(value, "stride") else value.strides


def _name_of(config: dict[str, Any], model: Any) -> str:
    path = str(config.get("_name_or_path") or getattr(model, "name_or_path", "") or type(model).__name__)
    return re.sub(r"[^\w.-]+", "-", re.split(r"[/\\]", path.rstrip("/\\"))[-1], flags=re.ASCII)[:100] or "model"


def _picture(model: Any, tokenizer: Any, text: str) -> Picture | None:
    """Draws what the model itself computes, if it is one of PyTorch that returns its attention."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return None
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            inputs = tokenizer(text, return_tensors="pt").to(next(model.parameters()).device)
            attentions = getattr(model(**inputs, output_attentions=True), "attentions", None)
        return tensors.of_weights(attentions, {}).picture if attentions else None
    except (TypeError, ValueError, RuntimeError):  # kinds of models differ in what they take
        return None
    finally:
        model.train(was_training)
