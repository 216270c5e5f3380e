"""`intact translate`: files in, files out."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from intact.cli.main import main
from tests.support.kep_stories import STORY_1

LABEL = "  labels:\n    intact.dev/budget-scope: Workload\n"
FIELD = "  budgetScope: Workload  # <-- New field to enable group counting\n"
STOCK = STORY_1.replace(FIELD, "").replace(
    "  name: my-training-job-workers-pdb\n", f"  name: my-training-job-workers-pdb\n{LABEL}"
)
OTHER = '# a note\nkind: ConfigMap\ndata: {a: "yes", b: 012}\n'


def translate(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["translate", *arguments], input=stdin)


def translated(*arguments: str, stdin: str = "") -> str:
    result = translate(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_only_the_lines_of_the_field_change() -> None:
    assert translated("-f", "-", stdin=STORY_1) == STOCK


def test_other_documents_and_their_comments_stay_byte_for_byte() -> None:
    text = f"%YAML 1.1\n---\n{OTHER}--- # second\n{STORY_1}---\n# nothing\n---\n{OTHER}"
    assert translated("-f", "-", stdin=text) == text.replace(STORY_1, STOCK)
    assert translated("-f", "-", stdin=OTHER) == OTHER


def test_back_it_says_what_it_said() -> None:
    back = translated("-f", "-", "--to", "kep", stdin=STOCK)
    assert yaml.safe_load(back) == yaml.safe_load(STORY_1)
    assert "      # Assuming pods are labeled\n" in back
    assert translated("-f", "-", stdin=back) == STOCK


def test_several_files_are_joined(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(STORY_1.rstrip("\n"))
    two.write_text(f"---\n{OTHER}")
    assert translated("-f", str(one), "-f", str(two)) == f"{STOCK}---\n{OTHER}"
    assert translated("-f", str(two), "-f", str(one)) == f"---\n{OTHER}---\n{STOCK}"


def test_json_comes_out_as_json_and_as_yaml_where_that_is_asked_for() -> None:
    kep, stock = yaml.safe_load(STORY_1), yaml.safe_load(STOCK)
    stream = json.dumps(kep) + "\n" + json.dumps({"kind": "List", "items": [kep]})
    found = translated("-f", "-", stdin=stream)
    decoder = json.JSONDecoder()
    first, end = decoder.raw_decode(found)
    second, _ = decoder.raw_decode(found[end:].lstrip())
    assert (first, second) == (stock, {"kind": "List", "items": [stock]})
    assert list(yaml.safe_load_all(translated("-f", "-", "-o", "yaml", stdin=stream))) == [
        stock,
        {"kind": "List", "items": [stock]},
    ]
    text = translated("-f", "-", "-o", "json", stdin=f"{STORY_1}---\n# nothing\n")
    assert json.loads(text) == stock
    # What comes out as JSON can be read again.
    assert translated("-f", "-", stdin=found) == found


def test_the_ends_of_lines_stay(tmp_path: Path) -> None:
    file = tmp_path / "from-windows.yaml"
    text = f"{OTHER}---\n{STORY_1}"
    file.write_bytes(text.replace("\n", "\r\n").encode())
    result = translate("-f", str(file))
    wanted = text.replace(STORY_1, STOCK).replace("\n", "\r\n")
    assert result.stdout_bytes == wanted.encode()
    assert translate("-f", "-", stdin=OTHER.replace("\n", "\r\n")).stdout_bytes.count(b"\r\n") == 3


def test_a_field_that_is_merged_from_elsewhere() -> None:
    text = (
        "defaults: &defaults\n  budgetScope: Workload\n  maxUnavailable: 1\n"
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: b\n"
        "spec:\n  <<: *defaults\n  selector: {}\n"
    )
    found = yaml.safe_load(translated("-f", "-", stdin=text))
    assert found["metadata"]["labels"] == {"intact.dev/budget-scope": "Workload"}
    assert found["spec"] == {"maxUnavailable": 1, "selector": {}}


def test_a_flow_style_document_is_written_anew() -> None:
    text = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: 1, budgetScope: Pod}}"  # noqa: E501
    result = translated("-f", "-", stdin=f"{text}\n---\n{text}\n")
    assert not result.startswith("\n")
    for found in yaml.safe_load_all(result):
        assert found["metadata"]["labels"] == {"intact.dev/budget-scope": "Pod"}
        assert found["spec"] == {"minAvailable": 1}


WRONG = {
    "an unknown word": (
        f"{OTHER}---\n{STORY_1.replace('Scope: Workload', 'Scope: Group')}",
        "-: document 2: spec.budgetScope: Invalid value: \"Group\": 'Group' is not one of ",
    ),
    "no YAML": ("a: [", "-: while parsing a flow node"),
    "no number": ('a: !!int "x"', "-: invalid literal for int()"),
    "it contains itself": ("a: &a\n- *a\n", "-: it is nested too deeply, or contains itself"),
    "deep JSON": ("[" * 100_000, "-: it is nested too deeply, or contains itself"),
    "a tag": ("!!python/object:os.system {}", "-: could not determine a constructor"),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_an_error_names_file_document_field_and_value(text: str, said: str) -> None:
    result = translate("-f", "-", stdin=text)
    assert result.exit_code == 1
    assert f"Error: {said}" in result.stderr
    assert result.stdout == ""


def test_nothing_is_printed_if_any_file_is_wrong(tmp_path: Path) -> None:
    result = translate("-f", "-", "-f", str(tmp_path / "missing.yaml"), stdin=STORY_1)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "missing.yaml" in result.stderr


def test_a_file_must_be_given() -> None:
    assert translate().exit_code == 2


def test_notes_go_to_standard_error() -> None:
    text = "apiVersion: scheduling.k8s.io/v1alpha1\nkind: Workload\n"
    result = translate("-f", "-", stdin=text)
    assert result.stdout == text
    assert result.stderr.startswith("-: document 1: scheduling.k8s.io/v1alpha1 Workload: ")
