"""The krew manifest, and the archive that it names."""

import hashlib
import subprocess
import tarfile
from pathlib import Path

import msgspec

from tests.release.conftest import Released


def test_the_manifest_names_the_archive_with_its_hash(released: Released) -> None:
    manifest = msgspec.yaml.decode(released.artefact("krew-intact.yaml").read_bytes())
    archive = released.artefact("kubectl-intact-*.tar.gz")
    assert manifest["metadata"]["name"] == "intact"
    assert manifest["spec"]["version"] == f"v{released.version}"
    [platform] = manifest["spec"]["platforms"]
    assert platform["uri"] == f"https://releases.test/v{released.version}/{archive.name}"
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()


def test_the_archive_has_the_plugin_and_the_licence(released: Released, tmp_path: Path) -> None:
    manifest = msgspec.yaml.decode(released.artefact("krew-intact.yaml").read_bytes())
    with tarfile.open(released.artefact("kubectl-intact-*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LICENSE", "kubectl-intact"]
    plugin = tmp_path / manifest["spec"]["platforms"][0]["bin"]
    assert plugin.read_bytes() == released.artefact("intact.pyz").read_bytes()
    help_text = subprocess.check_output([plugin, "--help"], text=True)
    assert help_text.startswith("Usage: kubectl intact [OPTIONS] COMMAND")
