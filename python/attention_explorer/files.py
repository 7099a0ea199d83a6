"""Makes a subject of files: tensors, or a model in a folder or a .gguf file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from . import tensors
from .picture import Picture
from .subject import Subject, link_to_tensors

_tensors = (".npy", ".npz", ".csv", ".safetensors")
_tokens = (".json", ".txt")


def paths_of(given: Sequence[str | os.PathLike[str]]) -> tuple[dict[str, Path], str]:
    """Returns the files under their paths in the page, and the link that shows them."""
    found: dict[str, Path] = {}
    models = []
    for path in map(Path, given):
        if not path.exists():
            raise FileNotFoundError(f"{path.absolute()} does not exist: check its name and its folder.")
        if path.is_dir() or path.suffix.lower() == ".gguf":
            models.append(path.resolve().stem if path.is_file() else path.resolve().name)
            for file in [path] if path.is_file() else _model_files(path):
                found[f"models/{quote(models[-1], safe=' ')}/{file.name}"] = file
        elif path.suffix.lower() in _tensors + _tokens:
            if f"tensors/{path.name}" in found:
                raise ValueError(f"Two files are called {path.name}: rename one.")
            found[f"tensors/{path.name}"] = path
        else:
            raise ValueError(f"{path} is not read here: tensors come as {', '.join(_tensors)}, their tokens as "
                             f"{' or '.join(_tokens)}, and models as .gguf or as a folder with config.json.")
    if models and len(found) > sum(place.startswith("models/") for place in found):
        raise ValueError("Pass either tensors or a model, not both.")
    return found, f"v=1&subject=sentence&model={quote(models[0])}" if models else link_to_tensors(found)


def _model_files(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith(".")
                   and file.suffix in (".json", ".safetensors", ".txt"))
    if not any(file.name == "config.json" for file in files):
        raise ValueError(f"{folder} has no config.json: pass a model's folder, or files of tensors by their names.")
    return files


def of_files(given: Sequence[str | os.PathLike[str]]) -> Subject:
    paths, link = paths_of(given)
    title = ", ".join(str(Path(path).name) for path in given)
    return Subject({place: path.read_bytes() for place, path in paths.items()}, link, title, _picture(paths))


def _picture(paths: dict[str, Path]) -> Picture | None:
    """Draws q and k, or attention, if one file of NumPy holds them under these names."""
    for path in paths.values():
        try:
            if path.suffix.lower() == ".npy":
                return tensors.of_weights(np.load(path), {}).picture if path.stem == "attention" else None
            if path.suffix.lower() == ".npz":
                with np.load(path) as arrays:
                    if "attention" in arrays:
                        return tensors.of_weights(arrays["attention"], {}).picture
                    if "q" in arrays and "k" in arrays:
                        return tensors.of_queries(arrays["q"], arrays["k"], None, arrays.get("mask"), {},
                                                  causal="causal" in arrays and bool(arrays["causal"]), scaled=True).picture
        except (ValueError, TypeError, OSError):  # the page says what is wrong with a file
            return None
    return None
