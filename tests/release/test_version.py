"""The version has one place; where else it must stand, it is the same."""

import re

import intact
from release.source import version_of
from tests.release.repository import ROOT

STATED = {
    "CHANGELOG.md": r"\A# Changelog\n\n## (\S+)$",
    "deploy/chart/Chart.yaml": r'^(?:version|appVersion): "?([^"\s]+)"?$',
    "README.md": r"intact[:-](\d+\.\d+\.\d+)",
    "docs/**/*.md": r"intact[:-](\d+\.\d+\.\d+)|\bVERSION=(\d+\.\d+\.\d+)",
    "deploy/Containerfile": r"(?:VERSION|version)=\"?(\d[^\"\s]*)",
    "pyproject.toml": r'^version = "(.+)"$',
}
"""Where a version of Intact may be stated, and how. The newest entry of the changelog is that of
the version which is being made."""


def test_no_file_states_another_version() -> None:
    version = version_of(ROOT)
    found = {
        (str(path.relative_to(ROOT)), "".join(match))
        for pattern, expression in STATED.items()
        for path in ROOT.glob(pattern)
        for match in re.findall(expression, path.read_text(), re.MULTILINE)
    }
    assert {place for place, _ in found} >= {
        "CHANGELOG.md",
        "README.md",
        "docs/install.md",
        "deploy/Containerfile",
    }
    assert {(place, stated) for place, stated in found if stated != version} == set()


def test_the_package_is_of_that_version() -> None:
    assert intact.__version__ == version_of(ROOT)
