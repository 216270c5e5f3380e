"""The bill of materials: valid, complete, and the same for the same content."""

import json

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from release.requirements import parse
from release.sbom import sbom
from tests.release.conftest import Released
from tests.release.repository import ROOT, WHEN

REQUIREMENTS = parse((ROOT / "requirements/run.txt").read_text())


def invalid(bom: bytes) -> object:
    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(bom.decode())


def test_the_released_bill_is_valid(released: Released) -> None:
    text = released.artefact("*.cdx.json").read_bytes()
    assert invalid(text) is None
    assert invalid(text.replace(b'"library"', b'"book"')) is not None


def test_it_has_intact_and_every_locked_package_with_its_hashes(released: Released) -> None:
    bom = json.loads(released.artefact("*.cdx.json").read_bytes())
    own = bom["metadata"]["component"]
    assert (own["name"], own["version"]) == ("intact", released.version)
    found = {
        each["purl"]: {one["content"] for one in each["externalReferences"][0]["hashes"]}
        for each in bom["components"]
    }
    assert found == {each.purl: set(each.hashes) for each in REQUIREMENTS}


def test_it_has_the_licences_that_wheels_state(released: Released) -> None:
    bom = json.loads(released.artefact("*.cdx.json").read_bytes())
    found = {each["name"]: each.get("licenses") for each in bom["components"]}
    assert found["cryptography"] == [{"expression": "Apache-2.0 OR BSD-3-Clause"}]


def test_it_says_who_needs_what() -> None:
    bom = json.loads(sbom("1.2.3", REQUIREMENTS, {}, WHEN))
    needs = {each["ref"]: each["dependsOn"] for each in bom["dependencies"]}
    direct = {each.purl for each in REQUIREMENTS if "intact" in each.via}
    assert set(needs["pkg:pypi/intact@1.2.3"]) == direct
    reached, waiting = set(), ["pkg:pypi/intact@1.2.3"]
    while waiting:
        reached.add(reference := waiting.pop())
        waiting += [each for each in needs[reference] if each not in reached]
    assert reached == set(needs)


@pytest.mark.parametrize(("version", "same"), [("1.2.3", True), ("1.2.4", False)])
def test_its_serial_number_is_that_of_its_content(version: str, same: bool) -> None:
    one = json.loads(sbom("1.2.3", REQUIREMENTS, {}, WHEN))
    two = json.loads(sbom(version, REQUIREMENTS, {}, WHEN))
    assert (one["serialNumber"] == two["serialNumber"]) is same
