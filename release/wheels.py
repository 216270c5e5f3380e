"""The wheels that `intact.pyz` carries: for each Python and architecture that it serves."""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from release.errors import ReleaseError
from release.requirements import Requirement

PYTHONS = ("3.11", "3.12", "3.13")
ARCHITECTURES = ("x86_64", "aarch64")
GLIBC = (2, 28)
"""The oldest; wheels of compiled packages say which one they need."""


@dataclass(frozen=True)
class Target:
    """A CPython on Linux with glibc."""

    python: str
    architecture: str

    @property
    def abi(self) -> str:
        return f"cp{self.python.replace('.', '')}"

    @property
    def key(self) -> str:
        """As the start of the file computes it."""
        return f"{self.abi}-{self.architecture}"

    @property
    def environment(self) -> dict[str, str]:
        """For the markers of requirements."""
        return {
            "implementation_name": "cpython",
            "os_name": "posix",
            "platform_machine": self.architecture,
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": "linux",
        }


TARGETS = tuple(Target(python, machine) for machine in ARCHITECTURES for python in PYTHONS)


def fetch(
    requirements: Sequence[Requirement], cache: Path, targets: Sequence[Target] = TARGETS
) -> Mapping[Target, tuple[Path, ...]]:
    """The wheels of each target, each with a hash of the requirements."""
    return {target: _fetch(requirements, cache, target) for target in targets}


def _fetch(requirements: Sequence[Requirement], cache: Path, target: Target) -> tuple[Path, ...]:
    # pip evaluates markers for the Python that runs it, so they are evaluated here.
    wanted = [each for each in requirements if each.holds_for(target.environment)]
    pins = "".join(
        " ".join([f"{each.name}=={each.version}", *(f"--hash=sha256:{one}" for one in each.hashes)])
        + "\n"
        for each in wanted
    )
    place = cache / f"{hashlib.sha256(pins.encode()).hexdigest()[:16]}-{target.key}"
    if not place.exists():
        _download(pins, place, target)
    found = tuple(sorted(place.glob("*.whl")))
    if len(found) != len(wanted):
        raise ReleaseError(f"{place} has {len(found)} wheels for {len(wanted)} packages; remove it")
    for wheel in found:
        _check(wheel, {one for each in wanted for one in each.hashes})
    return found


def _download(pins: str, place: Path, target: Target) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".downloading-", dir=place.parent) as name:
        made = Path(name) / "wheels"
        made.mkdir()
        (made / "requirements.txt").write_text(pins)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--require-hashes", "--only-binary=:all:", f"--dest={made}"]
        command += [f"--requirement={made}/requirements.txt"]
        command += [f"--python-version={target.python}", "--implementation=cp"]
        command += [f"--abi={abi}" for abi in (target.abi, "abi3", "none")]
        command += [f"--platform={each}" for each in _platforms(target.architecture)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise ReleaseError(
                f"pip cannot fetch the wheels for {target.key}: {ran.stderr.strip()}"
            )
        with suppress(OSError):  # another release was faster
            made.rename(place)


def _platforms(architecture: str) -> list[str]:
    """Best first, as pip ranks them."""
    major, newest = GLIBC
    platforms = [f"manylinux_{major}_{minor}_{architecture}" for minor in range(newest, 16, -1)]
    return [*platforms, f"manylinux2014_{architecture}"]


def _check(wheel: Path, hashes: Collection[str]) -> None:
    """A wheel that is nothing but modules can be used by unpacking it."""
    if hashlib.sha256(wheel.read_bytes()).hexdigest() not in hashes:
        raise ReleaseError(f"{wheel} has none of the hashes in requirements/run.txt; remove it")
    with zipfile.ZipFile(wheel) as archive:
        moved = [name for name in archive.namelist() if name.partition("/")[0].endswith(".data")]
    if moved:
        raise ReleaseError(f"{wheel.name} has files that only an installer puts in place: {moved}")
