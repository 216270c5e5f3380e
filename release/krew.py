"""The krew manifest, and the archive that it names: krew installs no bare files."""

import hashlib
from pathlib import Path

import msgspec

from release.archives import Member, write_tar

_ARCHITECTURES = ("amd64", "arm64")
_BINARY = "kubectl-intact"


def write_plugin(directory: Path, pyz: Path, licence: Path, version: str, epoch: int) -> Path:
    members = {
        _BINARY: Member(pyz.read_bytes(), executable=True),
        "LICENSE": Member(licence.read_bytes()),
    }
    return write_tar(directory / f"{_BINARY}-{version}.tar.gz", members, epoch)


def manifest(plugin: Path, url: str, version: str) -> bytes:
    """`url` is where the artefacts of this version will be published."""
    here = [
        {"key": "os", "operator": "In", "values": ["linux"]},
        {"key": "arch", "operator": "In", "values": list(_ARCHITECTURES)},
    ]
    return msgspec.yaml.encode(
        {
            "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
            "kind": "Plugin",
            "metadata": {"name": "intact"},
            "spec": {
                "version": f"v{version}",
                "shortDescription": "Drain, rehearse and explain with budgets that count groups",
                "description": "Intact keeps multi-pod replicas whole: its budgets count groups of "
                "pods that serve only together.\n`kubectl intact` drains nodes group by group, "
                "rehearses a maintenance, and says what holds a pod.\nThe commands also work in "
                "clusters that do not run Intact.\n",
                "caveats": "Needs python3 on the path: CPython 3.11, 3.12 or 3.13, with glibc.\n",
                "platforms": [
                    {
                        "selector": {"matchExpressions": here},
                        "uri": f"{url}/{plugin.name}",
                        "sha256": hashlib.sha256(plugin.read_bytes()).hexdigest(),
                        "files": [{"from": "*", "to": "."}],
                        "bin": _BINARY,
                    }
                ],
            },
        }
    )
