"""The start of intact.pyz: unpacks the wheels for this Python, once, and runs the command.

Compiled modules cannot be imported from a zip file. Python 3.6 must be able to read this module, so
that a Python which the file does not serve gets a message and no SyntaxError.
"""

import atexit
import io
import json
import os
import platform
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

INDEX = "index.json"


def run() -> None:
    with zipfile.ZipFile(sys.path[0]) as archive:
        index = json.loads(archive.read(INDEX).decode())
        wheels = index["wheels"].get(_target())
        if wheels is None or not _has_glibc(index["glibc"]):
            sys.exit(_unserved(index))
        sys.path[0] = str(_unpacked(archive, wheels, f"{index['digest']}-{_target()}"))

    from intact.cli.main import main, plugin  # noqa: PLC0415

    if Path(sys.argv[0]).name.startswith("kubectl-"):
        plugin()
    else:
        main(prog_name="intact")


def _target() -> str:
    if sys.platform != "linux" or platform.python_implementation() != "CPython":
        return ""
    major, minor = sys.version_info[:2]
    return f"cp{major}{minor}{sys.abiflags.replace('m', '')}-{os.uname().machine}"


def _has_glibc(oldest: "list[int]") -> bool:
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        return name == "glibc" and [int(each) for each in version.split(".")[:2]] >= oldest
    except (ValueError, OSError):  # another C library, such as musl
        return False


def _unserved(index: "dict[str, Any]") -> str:
    glibc = ".".join(str(each) for each in index["glibc"])
    return (
        f"intact.pyz: this is {platform.python_implementation()} {platform.python_version()} on "
        f"{platform.system()} ({platform.machine()}). The file serves {index['serves']}, with "
        f"glibc {glibc} or newer. Run it with one of these, or install Intact's wheel with pip."
    )


def _unpacked(archive: zipfile.ZipFile, wheels: "list[str]", name: str) -> Path:
    """The directory with the content of the wheels: in the user's cache, else for this run only."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    place = Path(cache) / "intact" / name
    if place.is_dir():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=str(place.parent)))
    except OSError:
        made = Path(tempfile.mkdtemp(prefix="intact-"))
        atexit.register(shutil.rmtree, str(made), ignore_errors=True)
        _unpack(archive, wheels, made)
        return made
    try:
        _unpack(archive, wheels, made)
        # Whole or not at all: another process may look for it at any moment.
        made.rename(place)
    except BaseException as error:
        shutil.rmtree(str(made), ignore_errors=True)
        if not (isinstance(error, OSError) and place.is_dir()):  # another process was faster
            raise
    return place


def _unpack(archive: zipfile.ZipFile, wheels: "list[str]", directory: Path) -> None:
    for wheel in wheels:
        with zipfile.ZipFile(io.BytesIO(archive.read(wheel))) as content:
            content.extractall(str(directory))


if __name__ == "__main__":
    run()
