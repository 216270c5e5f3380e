"""The lock as data."""

import pytest

from release.errors import ReleaseError
from release.requirements import parse
from tests.release.repository import ROOT

ONE, TWO = "1" * 64, "2" * 64
TEXT = f"""\
cffi==2.1.1 ; platform_python_implementation != 'PyPy' \\
    --hash=sha256:{ONE} \\
    --hash=sha256:{TWO}
    # via
    #   cryptography
    #   intact (pyproject.toml)
click==8.5.1 \\
    --hash=sha256:{ONE}
    # via intact (pyproject.toml)
"""


def test_a_pin_has_its_hashes_its_marker_and_those_that_need_it() -> None:
    cffi, click = parse(TEXT)
    assert (cffi.name, cffi.version, cffi.hashes) == ("cffi", "2.1.1", (ONE, TWO))
    assert (cffi.via, click.via) == (("cryptography", "intact"), ("intact",))
    assert (cffi.purl, click.purl) == ("pkg:pypi/cffi@2.1.1", "pkg:pypi/click@8.5.1")


@pytest.mark.parametrize(("implementation", "holds"), [("CPython", True), ("PyPy", False)])
def test_a_marker_is_evaluated_for_the_target(implementation: str, holds: bool) -> None:
    cffi, click = parse(TEXT)
    environment = {"platform_python_implementation": implementation}
    assert cffi.holds_for(environment) is holds
    assert click.holds_for(environment)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("click>=8\n", "line 1 is not a pin: 'click>=8'"),
        ("--index-url x\n", "line 1 is not a pin"),
        ("click==8.5.1\n", "has no hash for click"),
        (f"{TEXT}./local\n", "line 10 is not a pin: './local'"),
    ],
)
def test_what_is_not_locked_is_refused(text: str, message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        parse(text)


def test_every_package_of_the_lock_is_needed_by_intact_or_by_another_one() -> None:
    found = parse((ROOT / "requirements/run.txt").read_text())
    names = {each.name for each in found}
    assert {"aiohttp", "cryptography", "msgspec"} <= names
    assert [each for each in found if not each.via or not set(each.via) <= names | {"intact"}] == []
