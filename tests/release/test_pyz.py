"""The command in one file."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from release.requirements import parse
from release.wheels import TARGETS
from tests.release.conftest import Released
from tests.release.repository import ROOT

BUDGET = ROOT / "examples/pub-pods.yaml"


def start(
    released: Released, cache: Path, *arguments: str, python: str = sys.executable
) -> subprocess.Popen[str]:
    """With an interpreter that sees none of its own packages, nor this project's."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    return subprocess.Popen(
        [python, "-S", str(released.artefact("intact.pyz")), *arguments],
        env={k: v for k, v in os.environ.items() if k not in hidden}
        | {"XDG_CACHE_HOME": str(cache)},
        cwd=cache,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: subprocess.Popen[str]) -> str:
    said, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return said


def test_it_runs_as_a_file_on_a_python_without_packages(released: Released, tmp_path: Path) -> None:
    assert released.artefact("intact.pyz").stat().st_mode & 0o111
    assert output(start(released, tmp_path, "version")) == f"intact {released.version}\n"
    made = output(start(released, tmp_path, "manifests", "--image=example.test/intact:1"))
    assert "kind: CustomResourceDefinition" in made
    assert "nothing found" in output(start(released, tmp_path, "check", "-f", str(BUDGET)))


def test_the_compiled_modules_of_this_python_load(released: Released, tmp_path: Path) -> None:
    output(start(released, tmp_path, "version"))
    [place] = (tmp_path / "intact").iterdir()
    modules = "aiohttp._http_parser, cryptography.hazmat.bindings._rust, msgspec._core, yaml._yaml"
    code = f"import sys; sys.path.insert(0, sys.argv[1]); import {modules}, intact.cli.run"
    subprocess.run([sys.executable, "-S", "-I", "-c", code, place], check=True)


def test_it_unpacks_once_and_whole_though_several_start_together(
    released: Released, tmp_path: Path
) -> None:
    started = [start(released, tmp_path, "version") for _ in range(4)]
    assert {output(each) for each in started} == {f"intact {released.version}\n"}
    [place] = (tmp_path / "intact").iterdir()
    (place / "intact/__init__.py").write_text('__version__ = "unpacked before"\n')
    assert output(start(released, tmp_path, "version")) == "intact unpacked before\n"


def test_it_runs_where_nothing_can_be_kept(released: Released, tmp_path: Path) -> None:
    cache = tmp_path / "file"
    cache.touch()  # in the way of a directory, also for root
    process = subprocess.run(
        [sys.executable, "-S", released.artefact("intact.pyz"), "version"],
        env={"XDG_CACHE_HOME": str(cache), "TMPDIR": str(tmp_path), "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stdout) == (0, f"intact {released.version}\n")
    assert list(tmp_path.iterdir()) == [cache]


def test_a_python_that_it_does_not_serve_gets_a_message(released: Released, tmp_path: Path) -> None:
    """The wheels for this Python are taken out of the index."""
    index = index_of(released)
    index["wheels"] = {}
    with zipfile.ZipFile(released.artefact("intact.pyz")) as archive:
        start_module = archive.read("__main__.py")
    with zipfile.ZipFile(tmp_path / "intact.pyz", "w") as archive:
        archive.writestr("__main__.py", start_module)
        archive.writestr("index.json", json.dumps(index))
    ran = subprocess.run(
        [sys.executable, tmp_path / "intact.pyz", "version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "The file serves CPython 3.11, 3.12, 3.13 on Linux (x86_64, aarch64)" in ran.stderr
    assert "Traceback" not in ran.stderr


def index_of(released: Released) -> dict[str, dict[str, list[str]]]:
    with zipfile.ZipFile(released.artefact("intact.pyz")) as archive:
        found: dict[str, dict[str, list[str]]] = json.loads(archive.read("index.json"))
    return found


def test_it_has_a_wheel_of_every_locked_package_for_every_target(released: Released) -> None:
    wheels = index_of(released)["wheels"]
    assert set(wheels) == {target.key for target in TARGETS}
    locked = parse((ROOT / "requirements/run.txt").read_text())
    for target in TARGETS:
        names = [
            Path(each).name.partition("-")[0].lower().replace("_", "-")
            for each in wheels[target.key]
        ]
        wanted = [each.name for each in locked if each.holds_for(target.environment)]
        assert sorted(names) == sorted([*wanted, "intact"])


def test_compiled_wheels_are_those_of_their_target(released: Released) -> None:
    wheels = index_of(released)["wheels"]
    for target in TARGETS:
        for name in wheels[target.key]:
            python, abi, platform = name.removesuffix(".whl").rsplit("-", 3)[1:]
            assert platform == "any" or target.architecture in platform
            assert abi in ("none", "abi3", target.abi) or python == target.abi


def test_what_it_carries_is_what_the_lock_names(released: Released) -> None:
    allowed = {
        one for each in parse((ROOT / "requirements/run.txt").read_text()) for one in each.hashes
    }
    own = released.artefact("*.whl")
    allowed.add(hashlib.sha256(own.read_bytes()).hexdigest())
    with zipfile.ZipFile(released.artefact("intact.pyz")) as archive:
        wheels = [name for name in archive.namelist() if name.endswith(".whl")]
        others = [
            name for name in wheels if hashlib.sha256(archive.read(name)).hexdigest() not in allowed
        ]
    assert len(wheels) > len(TARGETS)
    assert others == []
