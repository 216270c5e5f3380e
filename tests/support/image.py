"""Builds the image of Intact, on a base from Debian's packages: tests have no image registry."""

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from devcluster.locks import FileLock
from devcluster.pins import cache_directory
from tests.support.examples import ROOT

BASE = "localhost/intact-test-base"
_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_DEBIAN = (
    "--variant=essential",
    "--include=python3-minimal,python3-venv,ca-certificates",
    *(f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in ("doc", "locale", "man")),
    "bookworm",
)


def run(*command: str | Path) -> str:
    """A tool that cannot run fails the test: an image that was not built was not tested."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    except FileNotFoundError:
        pytest.fail(f"{command[0]} is not installed; `make test-installation` installs it, as root")
    if ran.returncode != 0:
        said = "\n".join(ran.stderr.splitlines()[-20:])
        pytest.fail(f"{command[0]} cannot run here, so the image is not tested:\n{said}")
    return ran.stdout


class Images:
    """Images in a storage of their own; for root."""

    def __init__(self, storage: Path) -> None:
        self._storage = storage

    def command(self, *arguments: str | Path) -> list[str | Path]:
        storage = (f"--root={self._storage}/root", f"--runroot={self._storage}/run")
        # The driver that needs nothing of the kernel.
        return ["buildah", *storage, "--storage-driver=vfs", *arguments]

    def buildah(self, *arguments: str | Path) -> str:
        return run(*self.command(*arguments)).strip()

    def make_base(self) -> None:
        container = self.buildah("from", "scratch")
        self.buildah("add", "--quiet", container, _debian(), "/")
        self.buildah("config", "--env=PATH=/usr/local/bin:/usr/bin:/bin", container)
        self.buildah("commit", "--quiet", container, BASE)
        self.buildah("rm", container)

    def build(self, tag: str, **arguments: str) -> None:
        """deploy/Containerfile, with these build arguments."""
        options = [f"--build-arg={name}={value}" for name, value in arguments.items()]
        file = "--file=deploy/Containerfile"
        self.buildah("bud", *build_options(), "--quiet", file, *options, f"--tag={tag}", ".")

    def config(self, tag: str) -> dict[str, Any]:
        """What the image says about itself: user, entrypoint, environment, labels."""
        inspected = json.loads(self.buildah("inspect", "--type=image", tag))
        found: dict[str, Any] = inspected["OCIv1"]["config"]
        return found

    def unpack(self, tag: str) -> Path:
        return Path(self.buildah("mount", self.buildah("from", tag)))


def build_options() -> list[str]:
    """The isolation that needs nothing of the kernel, and this machine's way to packages."""
    options = ["--isolation=chroot"]
    if index := os.environ.get("PIP_INDEX_URL"):
        options.append(f"--build-arg=PIP_INDEX_URL={index}")
    if _AUTHORITIES.exists():  # those that this machine trusts
        options.append(f"--volume={_AUTHORITIES}:{_AUTHORITIES}:ro")
    return options


def size(tree: Path) -> int:
    """Bytes in the files of a tree."""
    files = (path.lstat() for path in tree.rglob("*"))
    return sum({(each.st_dev, each.st_ino): each.st_size for each in files}.values())


def _debian() -> Path:
    """A Debian with Python as a tar file, made once."""
    name = hashlib.sha256(" ".join(_DEBIAN).encode()).hexdigest()[:16]
    made = cache_directory() / "image-base" / f"{name}.tar"
    with FileLock(made.with_suffix(".lock")):
        if not made.exists():
            partial = made.with_suffix(".part")
            run("mmdebstrap", "--quiet", "--format=tar", *_DEBIAN, partial)
            partial.rename(made)
    return made
