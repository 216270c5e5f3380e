"""Files are compressed by their name, and read by what they have."""

import gzip
from pathlib import Path

import pytest

from intact.sandbox.snapshot.compressed import DamagedError, read_file, write_file


def test_a_name_that_ends_in_gz_is_compressed(tmp_path: Path) -> None:
    for name, starts in (("one.json", b"{}"), ("one.json.gz", b"\x1f\x8b")):
        write_file(b"{}", tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(starts)
        assert read_file(tmp_path / name) == b"{}"


def test_a_compressed_file_of_another_name_is_read(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(gzip.compress(b"{}"))
    assert read_file(tmp_path / "one.json") == b"{}"


def test_a_file_that_was_cut_off_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"{}" * 100)[:15])
    with pytest.raises(DamagedError, match="damaged"):
        read_file(tmp_path / "cut.gz")
