"""A reader who knows a module knows its test: tests/unit mirrors src/intact, one file a module."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/intact"
TESTS = ROOT / "tests/unit"
MOST_MODULES = 25
"""In one directory."""

VIEWS = "views without logic: model/test_views.py holds for every view"
WITHOUT_TESTS = {
    "budget/pub/subject.py": "what is known of a pod, as data",
    "cli/check/located.py": "a finding and a place",
    "cli/__main__.py": "one call; the demo on a real Kubernetes makes it",
    "kube/transport.py": "requests and answers as data; the two transports are tested",
    "model/places.py": VIEWS,
    "model/secret.py": VIEWS,
    "operator/errors.py": "one exception",
    "sandbox/controllers/resources.py": "constants",
    "operator/names.py": "constants",
    "operator/webhook/probe.py": "constants",
}
"""The modules that have no test file of their own, and why."""


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path.name != "__init__.py"]


def file_of(module: Path) -> Path:
    return TESTS / module.relative_to(SOURCE).with_name(f"test_{module.name}")


def name_of(path: Path) -> str:
    return str(path.relative_to(TESTS if path.is_relative_to(TESTS) else SOURCE))


TESTED = [module for module in modules() if name_of(module) not in WITHOUT_TESTS]


@pytest.mark.parametrize("module", TESTED, ids=name_of)
def test_every_module_has_a_test_file_of_its_name(module: Path) -> None:
    assert file_of(module).exists()


@pytest.mark.parametrize("name", WITHOUT_TESTS)
def test_every_exception_is_still_one(name: str) -> None:
    assert (SOURCE / name).exists()
    assert not file_of(SOURCE / name).exists()


@pytest.mark.parametrize("directory", sorted({module.parent for module in modules()}), ids=name_of)
def test_no_directory_is_crowded(directory: Path) -> None:
    assert sum(module.parent == directory for module in modules()) <= MOST_MODULES


@pytest.mark.parametrize(
    "directory", sorted({path.parent for path in TESTS.rglob("*.py")}), ids=name_of
)
def test_every_test_directory_has_a_source_directory(directory: Path) -> None:
    assert (SOURCE / directory.relative_to(TESTS) / "__init__.py").exists()
