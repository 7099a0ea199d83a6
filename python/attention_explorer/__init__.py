"""Shows attention in the Attention Explorer, in a notebook's cell."""

from __future__ import annotations

import importlib.util
import inspect
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import view as _view
from .subject import Subject
from .view import View

if TYPE_CHECKING:
    from .widget import WidgetView

__all__ = ["View", "save", "show"]


def show(
    *what: Any,
    q: Any = None,
    k: Any = None,
    v: Any = None,
    mask: Any = None,
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    query_tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    causal: bool | str = False,
    scaled: bool = True,
    height: int = 560,
) -> View | WidgetView:
    """Shows a model with a text, tensors, or files.

    show(model, tokenizer, text): a model of transformers with its fast tokenizer.
    show(q=…, k=…, v=…, tokens=…): [n, d], [heads, n, d] or [layers, heads, n, d]; without v there are no outputs. A
        mask of bool is True where a query may look at a key; one of floats is added to the scores. `causal` hides later
        keys, and causal="past" aligns the last query with the last key; scaled=False leaves 1/√d out.
    show(attention=…): weights, [n, n], [heads, n, n] or [layers, heads, n, n], or the tuple that transformers returns.
    show("file.npz"): files of tensors and tokens, a model's folder, or a .gguf file.

    Queries and keys that differ have query_tokens and key_tokens of their own.
    """
    subject = _subject(what, q=q, k=k, v=v, mask=mask, attention=attention, tokens=tokens, query_tokens=query_tokens,
                       key_tokens=key_tokens, causal=causal, scaled=scaled)
    if importlib.util.find_spec("anywidget"):
        from .widget import WidgetView
        return WidgetView(subject, height)
    return View(subject, height)


def save(path: str | os.PathLike[str], *what: Any, **given: Any) -> None:
    """Writes a page that opens from a disk, without Python and without a network. It takes what show() takes."""
    unknown = given.keys() - inspect.signature(_subject).parameters.keys()
    if unknown:
        raise TypeError(f"save() has no argument {min(unknown)}: it takes what show() takes, but height.")
    _view.save(_subject(what, **given), path)


def _subject(what: Sequence[Any], *, q: Any = None, k: Any = None, v: Any = None, mask: Any = None, attention: Any = None,
             tokens: Any = None, query_tokens: Any = None, key_tokens: Any = None, causal: bool | str = False,
             scaled: bool = True) -> Subject:
    from . import files, models, tensors

    named = {"tokens": tokens, "query_tokens": query_tokens, "key_tokens": key_tokens}
    queries = {"q": q, "k": k, "v": v, "mask": mask}
    has_queries = any(value is not None for value in queries.values())
    if (len(what) > 0) + has_queries + (attention is not None) != 1:
        raise TypeError("Pass one of these: model, tokenizer, text; q=…, k=…; attention=…; or the names of files.")
    if what and any(value is not None for value in named.values()):
        raise TypeError("Tokens belong to q and k or to attention; beside files, pass the name of a tokens.json.")
    if (causal is not False or scaled is not True) and not has_queries:
        raise TypeError("causal and scaled say how q and k become weights: pass q and k with them.")
    if attention is not None:
        return tensors.of_weights(attention, named)
    if has_queries:
        return tensors.of_queries(q, k, v, mask, named, causal=causal, scaled=scaled)
    if all(isinstance(each, (str, os.PathLike)) for each in what):
        return files.of_files(what)
    if len(what) != 3:
        raise TypeError("A model comes with its tokenizer and a text: show(model, tokenizer, text).")
    return models.of_model(*what)
