"""Puts the package and its page together, as the wheel has them: python3 staged.py FOLDER makes FOLDER for PYTHONPATH.

SITE is the built site, build/site by default, and PAGE its page as one file, by default made of it."""

from __future__ import annotations

import atexit
import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parents[2]
site = Path(os.environ.get("SITE", root / "build/site"))


def _block(path: str, content: bytes) -> str:
    return f'<script type="text/plain" data-file="{path}">{base64.b64encode(gzip.compress(content)).decode()}</script>\n'


def _package(folder: Path) -> Path:
    package = folder / "attention_explorer"
    shutil.copytree(root / "python/attention_explorer", package, ignore=shutil.ignore_patterns("__pycache__"))
    return package


def whole(folder: Path) -> None:
    package = _package(folder)
    shutil.copytree(site, package / "site", ignore=shutil.ignore_patterns("models", "*.br", "*.gz"))
    if page := os.environ.get("PAGE"):
        shutil.copy(page, package / "page.html")
    else:
        subprocess.run(["node", root / "tools/lib/package.mjs", "--out", package / "page.html"], check=True,
                       stdout=subprocess.DEVNULL)


def _stand_in() -> None:
    """Makes the package importable, with a page of the same parts that has no program."""
    scratch = tempfile.TemporaryDirectory(prefix="attention-explorer-")
    atexit.register(scratch.cleanup)
    package = _package(Path(scratch.name))
    (package / "site").mkdir()
    (package / "site/index.html").write_text("<!doctype html>\n")
    (package / "site/manifest.json").write_text(json.dumps({"index.html": 16, "models/left-out/config.json": 2}))
    blocks = {"main.js": b"// nothing", "manifest.json": b'{"main.js": 10}', "view": b""}
    (package / "page.html").write_text(
        '<!doctype html>\n<html lang="en" hidden>\n<head><title>"Stand-in" &amp; more</title></head>\n<body>\n'
        + "".join(_block(*each) for each in blocks.items()) + "</body>\n</html>\n")
    sys.path.insert(0, scratch.name)


if __name__ == "__main__":
    whole(Path(sys.argv[1]))
else:
    _stand_in()
