"""Archives are the same bytes for the same content."""

import tarfile
import zipfile
from pathlib import Path

from release.archives import Member, write_tar, write_zip

EPOCH = 1_700_000_000
MEMBERS = {"b/run": Member(b"two", executable=True), "a": Member(b"one")}


def test_a_tar_depends_on_nothing_but_content_and_time(tmp_path: Path) -> None:
    one = write_tar(tmp_path / "one.tar.gz", MEMBERS, EPOCH)
    two = write_tar(tmp_path / "two.tar.gz", dict(reversed(MEMBERS.items())), EPOCH)
    assert one.read_bytes() == two.read_bytes()
    with tarfile.open(one) as archive:
        found = [(each.name, each.mode, each.mtime, each.uname) for each in archive]
    assert found == [("a", 0o644, EPOCH, "root"), ("b/run", 0o755, EPOCH, "root")]
    assert write_tar(tmp_path / "three", MEMBERS, EPOCH + 2).read_bytes() != one.read_bytes()


def test_a_zip_depends_on_nothing_but_content_and_time(tmp_path: Path) -> None:
    members = {"b": b"two", "a": b"one"}
    one = write_zip(tmp_path / "one.zip", members, EPOCH, prefix=b"#!start\n")
    two = write_zip(tmp_path / "two.zip", dict(reversed(members.items())), EPOCH, b"#!start\n")
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes().startswith(b"#!start\n")
    with zipfile.ZipFile(one) as archive:
        assert archive.testzip() is None
        assert [(each.filename, each.date_time) for each in archive.infolist()] == [
            ("a", (2023, 11, 14, 22, 13, 20)),
            ("b", (2023, 11, 14, 22, 13, 20)),
        ]
