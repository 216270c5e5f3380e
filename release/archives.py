"""Archives whose bytes depend on nothing but their content and one time."""

import gzip
import io
import tarfile
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Member:
    content: bytes
    executable: bool = False


def write_tar(path: Path, members: Mapping[str, Member], epoch: int) -> Path:
    """A .tar.gz of files, sorted, owned by root."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, member in sorted(members.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(member.content)
            entry.mtime = epoch
            entry.mode = 0o755 if member.executable else 0o644
            entry.uname = entry.gname = "root"
            archive.addfile(entry, io.BytesIO(member.content))
    return path


def write_zip(path: Path, members: Mapping[str, bytes], epoch: int, prefix: bytes = b"") -> Path:
    """A zip that stores its members as they are, behind a prefix."""
    when = time.gmtime(epoch)[:6]
    with path.open("wb") as raw:
        raw.write(prefix)
        with zipfile.ZipFile(raw, "w", zipfile.ZIP_STORED) as archive:
            for name, content in sorted(members.items()):
                entry = zipfile.ZipInfo(name, when)
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, content)
    return path
