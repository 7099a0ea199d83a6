"""Packs folders into archives whose bytes depend on nothing but their files' names and bytes.

archives.py zip OUT FOLDER TOP         every file of FOLDER, under TOP/
archives.py tar OUT FOLDER TOP         the same as .tar.gz, with the right to run what may be run
archives.py wheel OUT FOLDER VERSION   the Python package of FOLDER, described by its pyproject.toml
archives.py sums FOLDER                FOLDER/SHA256SUMS, of the files in it
"""

import base64
import gzip
import hashlib
import io
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest date of a .zip


def files_of(folder: Path) -> dict[str, Path]:
    found = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    return dict(sorted(found.items()))


def write_zip(out: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, FIRST_DAY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, wherever this runs
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)


def write_tar(out: Path, files: dict[str, Path]) -> None:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, file in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = file.stat().st_size
            entry.mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
            with file.open("rb") as data:
                archive.addfile(entry, data)
    with out.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(whole.getvalue())


def metadata(folder: Path, version: str) -> bytes:
    """The core metadata of a wheel, as its specification at packaging.python.org says."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License: {project['license']['text']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {needed}" for needed in project["dependencies"]),
        *(f'Requires-Dist: {needed}; extra == "{extra}"' for extra, all_needed in extras.items() for needed in all_needed),
        *(f"Provides-Extra: {extra}" for extra in extras),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join([*lines, "", (folder / "README.md").read_text(encoding="utf-8")]).encode()


def write_wheel(out: Path, folder: Path, version: str) -> None:
    modules = {name: file.read_bytes() for name, file in files_of(folder).items()
               if name.startswith("attention_explorer/") and "__pycache__" not in name}
    about = f"attention_explorer-{version}.dist-info"
    licences = {f"{about}/licenses/{file.name}": file.read_bytes() for file in sorted((folder / "licences").iterdir())}
    wheel = b"Wheel-Version: 1.0\nGenerator: attention-explorer\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {**modules, **licences, f"{about}/METADATA": metadata(folder, version), f"{about}/WHEEL": wheel}
    rows = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    record = f"{about}/RECORD"
    write_zip(out, {**files, record: "".join([*rows, f"{record},,\n"]).encode()})


def write_sums(folder: Path) -> None:
    sums = folder / "SHA256SUMS"
    sums.unlink(missing_ok=True)
    sums.write_text("".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {name}\n" for name, file in files_of(folder).items()))


def main() -> None:
    form, *given = sys.argv[1:]
    if form == "sums":
        write_sums(Path(given[0]))
        return
    out, folder, name = Path(given[0]), Path(given[1]), given[2]
    if form == "wheel":
        write_wheel(out, folder, name)
    elif form == "zip":
        write_zip(out, {f"{name}/{path}": file.read_bytes() for path, file in files_of(folder).items()})
    else:
        write_tar(out, {f"{name}/{path}": file for path, file in files_of(folder).items()})


if __name__ == "__main__":
    main()
