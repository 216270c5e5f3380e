"""Files of one document, compressed if their name ends in .gz."""

import gzip
import zlib
from pathlib import Path


class DamagedError(Exception):
    """The file is compressed, and cannot be read."""


def write_file(body: bytes, file: Path) -> None:
    """Raises `OSError`."""
    file.write_bytes(gzip.compress(body, mtime=0) if file.suffix == ".gz" else body)


def read_file(file: Path) -> bytes:
    """By what it has, not by its name. Raises `DamagedError` and `OSError`."""
    body = file.read_bytes()
    if not body.startswith(b"\x1f\x8b"):
        return body
    try:
        return gzip.decompress(body)
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedError(f"the compressed file is damaged: {error}") from None
