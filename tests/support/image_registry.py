"""A directory in place of an image registry, and the `buildah` that pushes into it.

Tests have no image registry. As a program, `buildah` of a storage of its own: it builds with what
this machine allows, and `buildah push` unpacks the image into the directory.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.support.examples import ROOT
from tests.support.image import Images, build_options
from tests.support.intact_in_image import SECRETS


@dataclass(frozen=True)
class PulledImage:
    root: Path
    environment: dict[str, str]


class ImageRegistry:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def push(self, images: Images, tag: str) -> None:
        root = images.unpack(tag)
        (root / SECRETS).mkdir(parents=True, exist_ok=True)
        entry = {"root": str(root), "environment": images.config(tag)["Env"]}
        self._file(tag).write_text(json.dumps(entry))

    def copy(self, tag: str, to: str) -> None:
        self._file(to).write_bytes(self._file(tag).read_bytes())

    def pull(self, tag: str) -> PulledImage:
        entry = json.loads(self._file(tag).read_text())
        environment = dict(each.split("=", 1) for each in entry["environment"])
        return PulledImage(Path(entry["root"]), environment)

    def _file(self, tag: str) -> Path:
        return self.directory / quote(tag, safe="")


def write_buildah(file: Path, storage: Path, registry: ImageRegistry) -> None:
    """A command that calls this module, on the path of now: the real buildah is there, and this
    one is not."""
    given = [sys.executable, "-m", __name__, str(storage), str(registry.directory)]
    found = shlex.join([f"PATH={os.environ['PATH']}", f"PYTHONPATH={ROOT}", *given])
    file.write_text(f'#!/bin/sh\nexec env {found} "$@"\n')
    file.chmod(0o755)


def main(arguments: Sequence[str]) -> int:
    storage, registry, verb, *rest = arguments
    images = Images(Path(storage))
    if verb == "push":
        [tag] = rest
        ImageRegistry(Path(registry)).push(images, tag)
        return 0
    options = build_options() if verb == "bud" else []
    return subprocess.run(images.command(verb, *options, *rest), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
