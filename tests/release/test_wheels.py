"""What may go into `intact.pyz`; which wheels it has is tested with the file itself."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from release.errors import ReleaseError
from release.requirements import Requirement
from release.wheels import TARGETS, Target, fetch

TARGET = Target("3.12", "aarch64")


def kept(cache: Path, *members: str) -> tuple[Requirement, Path]:
    """A requirement whose wheel, with these members, is in the cache already."""
    wheel = cache / "one-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for member in members:
            archive.writestr(member, "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    pins = hashlib.sha256(f"one==1 --hash=sha256:{digest}\n".encode()).hexdigest()[:16]
    place = cache / f"{pins}-{TARGET.key}"
    place.mkdir()
    return Requirement("one", "1", hashes=(digest,)), wheel.rename(place / wheel.name)


def test_a_wheel_that_was_fetched_before_is_taken(tmp_path: Path) -> None:
    requirement, wheel = kept(tmp_path, "one.py")
    assert fetch([requirement], tmp_path, [TARGET]) == {TARGET: (wheel,)}


def test_a_wheel_with_another_hash_is_refused(tmp_path: Path) -> None:
    requirement, wheel = kept(tmp_path, "one.py")
    wheel.write_bytes(wheel.read_bytes() + b"more")
    with pytest.raises(ReleaseError, match="has none of the hashes"):
        fetch([requirement], tmp_path, [TARGET])


def test_a_wheel_that_needs_an_installer_is_refused(tmp_path: Path) -> None:
    requirement, _ = kept(tmp_path, "one.py", "one-1.data/scripts/one")
    with pytest.raises(ReleaseError, match="only an installer puts in place"):
        fetch([requirement], tmp_path, [TARGET])


def test_a_wheel_that_is_missing_is_noticed(tmp_path: Path) -> None:
    requirement, wheel = kept(tmp_path, "one.py")
    wheel.unlink()
    with pytest.raises(ReleaseError, match="has 0 wheels for 1 packages"):
        fetch([requirement], tmp_path, [TARGET])


def test_every_python_is_served_on_both_architectures() -> None:
    assert [each.key for each in TARGETS] == [
        f"cp{python}-{machine}"
        for machine in ("x86_64", "aarch64")
        for python in ("311", "312", "313")
    ]
