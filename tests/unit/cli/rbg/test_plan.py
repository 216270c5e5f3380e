import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from intact.cli.main import main
from tests.support.rbg_objects import Json, batches, group, kind, role, rolling


def body(prefill: int = 40, decode: int = 20, **strategy: str) -> Json:
    rules = {"maxSkew": "10%", "maxUnavailableRatio": "10%"} | strategy
    together = rolling("prefill", "decode", **rules)
    return group("llm", role("prefill", prefill), role("decode", decode), coordination=[together])


def plan(source: Json | str, *options: str) -> Result:
    text = source if isinstance(source, str) else yaml.safe_dump(source)
    return CliRunner().invoke(main, ["rbg", "plan", "-", *options], input=text)


def rounds(source: Json) -> list[Json]:
    result = plan(source, "-o", "json")
    assert result.exit_code == 0, result.output
    [found] = json.loads(result.output)
    return list(found["rounds"])


def test_the_plan_has_a_line_for_each_round() -> None:
    lines = plan(body()).output.splitlines()
    assert lines[0] == "coordination together: maxSkew 10%, maxUnavailableRatio 10%"
    assert lines[1].split() == ["round", "prefill", "decode", "skew"]
    assert lines[2].split() == ["1", "4/40", "(+4)", "2/20", "(+2)", "0.0%"]
    assert lines[-1] == "10 rounds, if every started replica becomes ready"


def test_one_round_is_one_round() -> None:
    said = plan(body(maxSkew="100%", maxUnavailableRatio="100%")).output
    assert said.splitlines()[-1] == "1 round, if every started replica becomes ready"


@pytest.mark.parametrize(
    ("source", "most"),
    [
        (body(40, 20), 10),
        (body(200, 100, maxSkew="5%", maxUnavailableRatio="5%"), 20),
    ],
)
def test_all_roles_move_at_once(source: Json, most: int) -> None:
    assert len(rounds(source)) <= most


def test_the_plan_says_what_holds_a_role() -> None:
    said = plan(body(partition="80%")).output
    assert "then prefill is held: partition: 32 of 40 stay old" in said


def test_batches_move_whole() -> None:
    both = body(6, 3, maxUnavailableRatio="34%")
    both["spec"]["coordination"].append(batches({"prefill": 2, "decode": 1}))
    assert [one["started"] for one in rounds(both)] == [{"decode": 1, "prefill": 2}] * 3


def test_a_deployment_may_run_one_ahead() -> None:
    source = body(3, 20)
    source["spec"]["roles"][0] |= kind("Deployment")
    assert rounds(source)[-1]["updated"] == {"decode": 20, "prefill": 3}


def test_a_file_may_hold_other_objects(tmp_path: Path) -> None:
    file = tmp_path / "llm.yaml"
    file.write_text(yaml.safe_dump_all([{"kind": "ConfigMap"}, body()]))
    result = CliRunner().invoke(main, ["rbg", "plan", str(file)])
    assert "10 rounds" in result.output


def test_without_a_coordination_there_is_nothing_to_plan() -> None:
    assert "each role updates by itself" in plan(group("llm", role("a", 3))).output


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (body(maxSkew="110%"), 'spec.coordination[0].strategy.maxSkew: Invalid value: "110%"'),
        (body(3, 3), "spec.coordination[0].strategy.maxUnavailableRatio"),
        ("kind: Pod", "has 0 objects of kind RoleBasedGroup"),
        ("a: [", "while parsing"),
        ({"kind": "RoleBasedGroup", "metadata": {}, "spec": {"roles": "x"}}, "$.spec.roles"),
    ],
)
def test_an_invalid_file_is_refused_with_its_error(source: Json | str, problem: str) -> None:
    result = plan(source)
    assert result.exit_code == 1
    assert problem in result.output


def test_a_file_that_is_not_there_is_named() -> None:
    result = CliRunner().invoke(main, ["rbg", "plan", "nowhere.yaml"])
    assert result.exit_code == 1
    assert "nowhere.yaml" in result.output
