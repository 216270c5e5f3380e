"""A release as a whole."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from release.artefacts import make
from tests.release.conftest import URL, Released


def test_it_has_every_artefact(released: Released) -> None:
    version = released.version
    chart = [f"intact-{version}.tgz"] if (released.repository / "deploy/chart").exists() else []
    assert sorted(path.name for path in released.dist.iterdir()) == sorted(
        [
            "SHA256SUMS",
            f"intact-{version}-py3-none-any.whl",
            f"intact-{version}.cdx.json",
            f"intact-{version}.tar.gz",
            "intact.pyz",
            "krew-intact.yaml",
            f"kubectl-intact-{version}.tar.gz",
            *chart,
        ]
    )


def test_the_sums_are_those_of_all_other_artefacts(released: Released) -> None:
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    said = subprocess.check_output(command, cwd=released.dist, text=True)
    others = {path.name for path in released.dist.iterdir()} - {"SHA256SUMS"}
    assert set(said.splitlines()) == {f"{name}: OK" for name in others}


def test_a_second_run_gives_the_same_bytes(released: Released, tmp_path: Path) -> None:
    """From another clone, with files from before in its dist/."""
    again = tmp_path / "clone"
    subprocess.check_call(["git", "clone", "--quiet", released.repository, again])
    (again / "dist").mkdir()
    (again / "dist/left.over").touch()
    made = {path.name: path.read_bytes() for path in make(again, URL)}
    assert made == {path.name: path.read_bytes() for path in released.dist.iterdir()}


def test_a_refusal_is_one_line_and_leaves_dist_alone(released: Released, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.check_call(["git", "clone", "--quiet", released.repository, clone])
    (clone / "dist").mkdir()
    (clone / "dist/kept").touch()
    (clone / "README.md").write_text("changed")
    command = [sys.executable, "-m", "release"]
    ran = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    expected = "no release: the tree has changes that are not committed: README.md\n"
    assert ran.stderr == expected
    assert [path.name for path in (clone / "dist").iterdir()] == ["kept"]


def test_wheel_and_sdist_have_the_package_and_nothing_of_this_machine(released: Released) -> None:
    with zipfile.ZipFile(released.artefact("*.whl")) as wheel:
        names = wheel.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"intact", f"intact-{released.version}.dist-info"}
    assert "intact/cli/main.py" in names
    with tarfile.open(released.artefact(f"intact-{released.version}.tar.gz")) as sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "src/intact/cli/main.py", "requirements/run.txt"} <= inside
    assert [name for name in inside if name.startswith((".git/", ".venv", "dist"))] == []
