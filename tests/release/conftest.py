"""One release of the project for all tests of a run."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from devcluster.locks import FileLock
from release.artefacts import make
from release.source import version_of
from tests.release.repository import copy_of_the_project

URL = "https://releases.test/v{version}"


@dataclass(frozen=True)
class Released:
    repository: Path
    version: str

    @property
    def dist(self) -> Path:
        return self.repository / "dist"

    def artefact(self, pattern: str) -> Path:
        [found] = self.dist.glob(pattern)
        return found


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Released:
    place = tmp_path_factory.getbasetemp()
    if worker_id != "master":  # the workers of one run share it
        place = place.parent
    with FileLock(place / "release.lock"):
        repository = place / "released"
        if not repository.exists():
            make(copy_of_the_project(repository), URL)
    return Released(repository, version_of(repository))
