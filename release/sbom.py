"""The software bill of materials, as CycloneDX JSON: Intact, and what it is locked to."""

import json
import uuid
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name, parse_wheel_filename

from release.requirements import Requirement, purl

Json = dict[str, Any]
_SPEC = "1.6"


def licences(wheels: Iterable[Path]) -> dict[str, str]:
    """What wheels state as SPDX expressions, by the names of the packages."""
    found = {}
    for wheel in wheels:
        name, *_ = parse_wheel_filename(wheel.name)
        with zipfile.ZipFile(wheel) as archive:
            [path] = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
            metadata = BytesHeaderParser().parsebytes(archive.read(path))
        if expression := metadata["License-Expression"]:
            found[str(name)] = str(expression)
    return found


def sbom(
    version: str, requirements: Sequence[Requirement], licences: Mapping[str, str], epoch: int
) -> bytes:
    own = {
        "type": "application",
        "bom-ref": purl("intact", version),
        "name": "intact",
        "version": version,
        "purl": purl("intact", version),
        "licenses": [{"expression": "Apache-2.0"}],
    }
    bom: Json = {
        "$schema": f"http://cyclonedx.org/schema/bom-{_SPEC}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": _SPEC,
        "version": 1,
        "metadata": {"timestamp": datetime.fromtimestamp(epoch, UTC).isoformat(), "component": own},
        "components": [_component(each, licences) for each in requirements],
        "dependencies": _dependencies(version, requirements),
    }
    # Made from the content, so that the same content has the same number.
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom, sort_keys=True))
    return json.dumps(bom | {"serialNumber": f"urn:uuid:{serial}"}, indent=2).encode() + b"\n"


def _component(requirement: Requirement, licences: Mapping[str, str]) -> Json:
    found: Json = {
        "type": "library",
        "bom-ref": requirement.purl,
        "name": requirement.name,
        "version": requirement.version,
        "purl": requirement.purl,
        "externalReferences": [
            {
                "type": "distribution",
                "url": requirement.purl,
                "comment": "the files that requirements/run.txt accepts",
                "hashes": [{"alg": "SHA-256", "content": one} for one in requirement.hashes],
            }
        ],
    }
    if expression := licences.get(canonicalize_name(requirement.name)):
        found["licenses"] = [{"expression": expression}]
    return found


def _dependencies(version: str, requirements: Sequence[Requirement]) -> list[Json]:
    references = {"intact": purl("intact", version)}
    references |= {each.name: each.purl for each in requirements}
    return [
        {"ref": reference, "dependsOn": [each.purl for each in requirements if name in each.via]}
        for name, reference in references.items()
    ]
