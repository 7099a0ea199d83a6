"""Makes a subject of the tensors that were passed: q and k, or finished attention weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from . import picture, safetensors
from .arrays import Tensor, tensor_of
from .subject import Subject, link_to_tensors

_path = "tensors/tensors.safetensors"

Tokens = Sequence[str]


def of_weights(attention: Any, tokens: dict[str, Tokens | None]) -> Subject:
    weights = _in_four(_stacked(attention), "attention", "[n, n], [heads, n, n] or [layers, heads, n, n]")
    if weights.dtype == "BOOL" or weights.dtype[0] in "IU":
        weights = Tensor(weights.data.astype(np.float32), "F32")
    layers, heads, queries, keys = weights.shape
    files = {_path: safetensors.write({"attention": _short(weights)}), **_token_files(tokens, queries, keys)}
    drawn = picture.draw(picture.maps_of(weights), weights.shape)
    return Subject(files, _link(files, {"axes": "first"}), _title(layers, heads, queries, keys), drawn)


def of_queries(q: Any, k: Any, v: Any, mask: Any, tokens: dict[str, Tokens | None], *, causal: bool | str,
               scaled: bool) -> Subject:
    if causal not in (False, True, "past"):
        raise ValueError('causal is False, True, or "past": the last query is aligned with the last key.')
    given = {name: _floats(_in_four(tensor_of(value, name), name, "[n, d], [heads, n, d] or [layers, heads, n, d]"), name)
             for name, value in (("q", q), ("k", k), ("v", v)) if value is not None}
    missing = [name for name in ("q", "k") if name not in given]
    if missing:
        raise ValueError(f"{missing[0]} is missing: pass q and k, or finished weights as attention.")
    _check_fit(given)
    layers, heads, queries, _ = given["q"].shape
    keys = given["k"].shape[2]
    answers = {"axes": "first"}
    if mask is not None:
        given["mask"] = _mask(tensor_of(mask, "mask"), (layers, heads, queries, keys))
        answers["mask meaning"] = "allowed" if given["mask"].dtype == "BOOL" else "added"
    rules = ["causal"] * (causal is True) + ["past"] * (causal == "past") + ["unscaled"] * (not scaled)
    written = safetensors.write({name: _short(tensor) for name, tensor in given.items()})
    weights = picture.weights_of(given["q"], given["k"], given.get("mask"), causal, scaled)
    files = {_path: written, **_token_files(tokens, queries, keys)}
    return Subject(files, _link(files, answers, rules), _title(layers, heads, queries, keys),
                   picture.draw(weights, (layers, heads, queries, keys)))


def _stacked(attention: Any) -> Tensor:
    """Stacks the layers of what transformers returns, each [1, heads, n, n] or [heads, n, n]."""
    if not isinstance(attention, (tuple, list)) or not all(len(getattr(layer, "shape", ())) > 2 for layer in attention):
        if isinstance(attention, (tuple, list)) and any(layer is None for layer in attention):
            raise ValueError('A layer of attention is None: load the model with attn_implementation="eager".')
        return tensor_of(attention, "attention")
    layers = [tensor_of(layer, f"layer {i} of attention") for i, layer in enumerate(attention)]
    if not layers or len({layer.shape for layer in layers}) != 1 or len({layer.dtype for layer in layers}) != 1:
        raise ValueError("The layers of attention need to have one shape and one type: pass those that do.")
    return Tensor(np.stack([layer.data for layer in layers]), layers[0].dtype)


def _in_four(tensor: Tensor, name: str, expected: str) -> Tensor:
    """Makes it [layers, heads, rows, columns], without a batch of one."""
    shape = tensor.shape
    if len(shape) == 5 and shape[1] == 1:
        shape = (shape[0], *shape[2:])
    if 0 in shape:
        raise ValueError(f"{name} is {list(tensor.shape)} and holds no number: give it at least one along each axis.")
    if not 2 <= len(shape) <= 4:
        raise ValueError(f"{name} is {list(tensor.shape)}: it needs to be {expected}. From a batch of several texts, pass one.")
    return tensor.reshaped(*(1,) * (4 - len(shape)), *shape)


def _short(tensor: Tensor) -> Tensor:
    return tensor.reshaped(*tensor.shape[1:]) if tensor.shape[0] == 1 else tensor


def _floats(tensor: Tensor, name: str) -> Tensor:
    if tensor.dtype == "BOOL":
        raise TypeError(f"{name} holds bool: give numbers.")
    return tensor if "F" in tensor.dtype else Tensor(tensor.data.astype(np.float32), "F32")


def _check_fit(given: dict[str, Tensor]) -> None:
    q, k = given["q"].shape, given["k"].shape
    both = f"q has {_counts(q)}, and k has {_counts(k)}"
    if q[0] != k[0]:
        raise ValueError(f"{both}: they need as many layers.")
    if q[1] % k[1]:
        raise ValueError(f"{both}: the heads of q need to be a multiple of those of k.")
    if q[3] != k[3]:
        raise ValueError(f"{both}: a query and a key need as many components.")
    if "v" in given and given["v"].shape[:3] != k[:3]:
        raise ValueError(f"v has {_counts(given['v'].shape)}, and k has {_counts(k)}: every key needs a value.")


def _counts(shape: tuple[int, ...]) -> str:
    names = ("layers", "heads", "positions", "components")
    return ", ".join(f"{count} {name}" for count, name in zip(shape, names) if name != "layers" or count > 1)


def _mask(mask: Tensor, shape: tuple[int, int, int, int]) -> Tensor:
    if len(mask.shape) == 1:
        mask = mask.reshaped(1, *mask.shape)
    mask = _in_four(mask, "mask", "[n, keys], [heads, n, keys] or [layers, heads, n, keys]")
    if any(size not in (1, whole) for size, whole in zip(mask.shape[:3], shape[:3])) or mask.shape[3] != shape[3]:
        raise ValueError(f"mask is {list(mask.shape)} in layers, heads, queries and keys: it needs to fit "
                         f"{list(shape)}, where an axis may also be 1, but not that of the keys.")
    return mask if "F" in mask.dtype else Tensor(mask.data != 0, "BOOL")


def _token_files(tokens: dict[str, Tokens | None], queries: int, keys: int) -> dict[str, bytes]:
    """Writes the lists by their names: tokens, query_tokens and key_tokens."""
    fitting = {"tokens": (queries, keys), "query_tokens": (queries,), "key_tokens": (keys,)}
    files = {}
    for name, given in tokens.items():
        if given is None:
            continue
        if isinstance(given, (str, bytes)) or not all(isinstance(token, str) for token in given):
            raise TypeError(f"{name} is a list of strings, one for each position: tokenizer.convert_ids_to_tokens(ids) "
                            "makes one.")
        if len(given) not in fitting[name]:
            needed = " or ".join(str(size) for size in dict.fromkeys(fitting[name]))
            raise ValueError(f"{name} has {len(given)} entries: it needs {needed}, one for each position.")
        files[f"tensors/{name}.json"] = json.dumps(list(given)).encode()
    return files


def _link(files: dict[str, bytes], answers: dict[str, str], rules: Sequence[str] = ()) -> str:
    answered = ",".join(f"{question}={answer}" for question, answer in answers.items())
    rule = f"&rule={','.join(rules)}" if rules else ""
    return link_to_tensors(files, f"&tensors.answers={quote(answered)}{rule}")


def _title(layers: int, heads: int, queries: int, keys: int) -> str:
    def counted(count: int, one: str, many: str) -> str:
        return f"{count} {one if count == 1 else many}"

    across = counted(heads, "head", "heads")
    whole = across if layers == 1 else f"{layers} layers × {across}"
    return f"{whole}, {counted(queries, 'query', 'queries')} × {counted(keys, 'key', 'keys')}"
