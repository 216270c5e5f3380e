"""Files with objects, as commands take them."""

from pathlib import Path

import click
import pytest

from intact.cli.files import is_file, objects, read


@pytest.mark.parametrize(
    ("source", "is_one"),
    [("-", True), ("llm.yaml", True), ("llm.yml", True), ("llm.json", True), ("llm", False)],
)
def test_files_are_known_by_their_ending(source: str, is_one: bool) -> None:
    assert is_file(source) is is_one


def test_a_file_that_is_there_needs_no_ending(tmp_path: Path) -> None:
    (tmp_path / "llm").write_text("")
    assert is_file(str(tmp_path / "llm"))
    assert not is_file(str(tmp_path / "other"))


def test_objects_of_one_kind(tmp_path: Path) -> None:
    file = tmp_path / "llm.yaml"
    file.write_text("kind: Pod\n---\nkind: Job\nname: a\n---\n- kind: Job\n---\n")
    assert objects(str(file), "Job") == [{"kind": "Job", "name": "a"}]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "llm.yaml"
    with pytest.raises(click.ClickException, match=r"llm\.yaml: .*No such file"):
        read(str(file))
    file.write_bytes(b"\xff")
    with pytest.raises(click.ClickException, match=r"llm\.yaml: .*codec"):
        read(str(file))
    file.write_text("a: [")
    with pytest.raises(click.ClickException, match=r"llm\.yaml: "):
        objects(str(file), "Job")
