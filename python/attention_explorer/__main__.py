"""Serves files and the page that shows them: python -m attention_explorer FILE… [--port N]"""

from __future__ import annotations

import argparse
import errno
import sys

from .files import paths_of
from .serve import server


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m attention_explorer", description="Shows files in the Attention Explorer.")
    parser.add_argument("files", nargs="+", metavar="FILE",
                        help="tensors (.npy, .npz, .safetensors, .csv) and their tokens, a model's folder, or a .gguf file")
    parser.add_argument("--port", type=int, default=0, help="any free port without it")
    given = parser.parse_args(arguments)
    try:
        files, link = paths_of(given.files)
        serving = server(files, given.port)
    except (OSError, OverflowError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            print(f"Port {given.port} is in use: choose another one, or leave --port out.", file=sys.stderr)
        elif isinstance(error, OSError) and error.errno == errno.EACCES or isinstance(error, OverflowError):
            print(f"Port {given.port} cannot be opened: choose one from 1024 to 65535.", file=sys.stderr)
        else:
            print(error, file=sys.stderr)
        return 1
    print(f"Open http://127.0.0.1:{serving.server_port}/#{link}", flush=True)
    try:
        serving.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        serving.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
