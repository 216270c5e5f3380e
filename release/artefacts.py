"""All artefacts of a release, in their order."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from devcluster.pins import cache_directory
from release import krew, requirements, wheels
from release.chart import write_chart
from release.errors import ReleaseError
from release.pyz import write_pyz
from release.sbom import licences, sbom
from release.source import Source, check_out

DIST = "dist"
SUMS = "SHA256SUMS"


def make(repository: Path, url: str) -> list[Path]:
    """Replace `dist/` by the artefacts of the commit that is checked out."""
    with tempfile.TemporaryDirectory(prefix="intact-release-") as name:
        place = Path(name)
        source = check_out(repository, place / "tree")
        made = place / DIST
        made.mkdir()
        _make(source, made, url)
        dist = repository / DIST
        if dist.exists():
            shutil.rmtree(dist)
        shutil.copytree(made, dist)
    return sorted(dist.iterdir())


def _make(source: Source, dist: Path, url: str) -> None:
    version, epoch, tree = source.version, source.epoch, source.directory
    _build(source, dist)
    [own] = dist.glob("*.whl")
    locked = requirements.parse((tree / "requirements/run.txt").read_text())
    fetched = wheels.fetch(locked, cache_directory() / "wheels")
    pyz = write_pyz(dist / "intact.pyz", own, fetched, epoch)
    plugin = krew.write_plugin(dist, pyz, tree / "LICENSE", version, epoch)
    manifest = krew.manifest(plugin, url.replace("{version}", version), version)
    (dist / "krew-intact.yaml").write_bytes(manifest)
    stated = licences(wheel for found in fetched.values() for wheel in found)
    (dist / f"intact-{version}.cdx.json").write_bytes(sbom(version, locked, stated, epoch))
    write_chart(dist, tree, version, epoch)
    _write_sums(dist)


def _build(source: Source, dist: Path) -> None:
    """Wheel and sdist."""
    ran = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(dist)],
        cwd=source.directory,
        env=os.environ | {"SOURCE_DATE_EPOCH": str(source.epoch)},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        raise ReleaseError(f"hatchling cannot build the package: {ran.stderr.strip()}")


def _write_sums(dist: Path) -> None:
    """For `sha256sum --check`."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(dist.iterdir())
    ]
    (dist / SUMS).write_text("".join(lines))
