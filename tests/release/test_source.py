"""What is released, and what is refused."""

import subprocess
from pathlib import Path

import pytest

from release.errors import ReleaseError
from release.source import check_out
from tests.release.repository import WHEN, commit


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    (made / "src/intact").mkdir(parents=True)
    (made / "src/intact/__init__.py").write_text('"""Intact."""\n\n__version__ = "1.2.3"\n')
    (made / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3\n\n- New.\n\n## 1.2.2\n\n- Old.\n")
    (made / ".gitignore").write_text("dist/\n")
    commit(made)
    return made


def test_a_release_is_of_the_commit_alone(repository: Path, tmp_path: Path) -> None:
    (repository / "dist").mkdir()
    (repository / "dist/old").touch()
    source = check_out(repository, tmp_path / "tree")
    assert (source.version, source.epoch) == ("1.2.3", WHEN)
    assert sorted(path.name for path in source.directory.iterdir()) == [
        ".gitignore",
        "CHANGELOG.md",
        "src",
    ]


@pytest.mark.parametrize(("name", "stage"), [("CHANGELOG.md", False), ("new.py", True)])
def test_a_tree_with_changes_is_refused(
    repository: Path, tmp_path: Path, name: str, stage: bool
) -> None:
    (repository / name).write_text("changed")
    if stage:
        subprocess.run(["git", "-C", repository, "add", name], check=True)
    with pytest.raises(ReleaseError, match=f"changes that are not committed: {name}$"):
        check_out(repository, tmp_path / "tree")


def test_files_that_git_does_not_know_are_left_out_and_named(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "notes.txt").touch()
    source = check_out(repository, tmp_path / "tree")
    assert not (source.directory / "notes.txt").exists()
    assert capsys.readouterr().err == "not in the release, as git does not know it: notes.txt\n"


@pytest.mark.parametrize(
    ("changelog", "message"),
    [
        ("## 1.2.2\n\n- Old.\n", "has no entry for 1.2.3: add the heading '## 1.2.3'"),
        ("## 1.2.30\n\n- Another.\n", "has no entry for 1.2.3"),
        ("## Unreleased\n\n- New in 1.2.3.\n", "has no entry for 1.2.3"),
        ("## 1.2.3\n\n## 1.2.2\n\n- Old.\n", "entry for 1.2.3 in CHANGELOG.md is empty"),
    ],
)
def test_a_version_without_an_entry_in_the_changelog_is_refused(
    repository: Path, tmp_path: Path, changelog: str, message: str
) -> None:
    (repository / "CHANGELOG.md").write_text(f"# Changelog\n\n{changelog}")
    commit(repository)
    with pytest.raises(ReleaseError, match=message):
        check_out(repository, tmp_path / "tree")


def test_a_tree_without_a_version_is_refused(repository: Path, tmp_path: Path) -> None:
    (repository / "src/intact/__init__.py").write_text("version = 1\n")
    commit(repository)
    with pytest.raises(ReleaseError, match=r"src/intact/__init__\.py states no __version__"):
        check_out(repository, tmp_path / "tree")


def test_a_directory_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=f"git status failed in {tmp_path}"):
        check_out(tmp_path, tmp_path / "tree")
