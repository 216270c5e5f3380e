"""The file is read as it was written, and nothing else is taken for one."""

import gzip
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from intact.sandbox.snapshot.document import (
    KindInfo,
    Snapshot,
    SnapshotError,
    Unreadable,
    decode,
    encode,
    read,
    write,
)

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "uid": "1"},
    "spec": {"containers": []},
}
SNAPSHOT = Snapshot(
    time=datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
    server_version="v1.36.3",
    intact=True,
    unreadable=[Unreadable("jobs.batch", "forbidden")],
    kinds=[KindInfo("", "v1", "pods", "Pod"), KindInfo("apps", "v1", "deployments", "Deployment")],
    objects={"pods": [POD]},
)


def with_pod(**changes: object) -> bytes:
    return encode(replace(SNAPSHOT, objects={"pods": [POD | changes]}))


@pytest.mark.parametrize("name", ["snapshot.json", "snapshot.json.gz"])
def test_a_file_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    write(SNAPSHOT, tmp_path / name)
    assert read(tmp_path / name) == SNAPSHOT
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")


def test_all_objects_come_with_their_kind() -> None:
    [(kind, obj)] = SNAPSHOT.all()
    assert (kind.full_name, obj["metadata"]["name"]) == ("pods", "web-0")
    assert SNAPSHOT.of("jobs.batch") == []


def test_a_kind_has_the_names_that_the_api_uses() -> None:
    assert SNAPSHOT.kinds[0].full_name == "pods"
    assert SNAPSHOT.kinds[1].full_name == "deployments.apps"
    assert [kind.api_version for kind in SNAPSHOT.kinds] == ["v1", "apps/v1"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"kind: Pod", "this is no snapshot"),
        (b"{}", "its format is ''"),
        (b'{"format": "intact-snapshot", "version": 1}', "does not say when it was taken"),
        (encode(SNAPSHOT).replace(b'"version":1', b'"version":7', 1), "version 7"),
        (with_pod(metadata=None), r"damaged: pods: .* at `\$\[0\].metadata`"),
        (with_pod(spec={}), "damaged: pods: Object missing required field `containers`"),
        (with_pod(status={"conditions": [{"type": "Ready"}]}), "missing required field `status`"),
        (encode(replace(SNAPSHOT, kinds=[])), "it does not say what pods are"),
    ],
)
def test_what_is_no_snapshot_is_said(body: bytes, why: str) -> None:
    with pytest.raises(SnapshotError, match=why):
        decode(body)


def test_a_compressed_file_that_was_cut_off_is_damaged(tmp_path: Path) -> None:
    file = tmp_path / "cut.gz"
    file.write_bytes(gzip.compress(encode(SNAPSHOT))[:50])
    with pytest.raises(SnapshotError, match="damaged"):
        read(file)


def test_a_compressed_file_with_a_wrong_byte_is_damaged(tmp_path: Path) -> None:
    file, body = tmp_path / "wrong.gz", bytearray(gzip.compress(encode(SNAPSHOT), mtime=0))
    body[10:60] = b"\xff" * 50
    file.write_bytes(body)
    with pytest.raises(SnapshotError, match="damaged"):
        read(file)
