"""`intact rehearse`: from a snapshot or the cluster itself, with an exit code that tells."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from intact.cli.main import main
from intact.kube.errors import Unreachable
from intact.sandbox import MemoryApi
from intact.sandbox.rehearsal.film import read_film
from intact.sandbox.rehearsal.load import load
from intact.sandbox.snapshot.document import Unreadable, write
from tests.support.small_clusters import SmallCluster
from tests.unit.cli.loopback import invoked, served
from tests.unit.sandbox.rehearsal.rbg_scene import llm, rbg_snapshot


def web() -> SmallCluster:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-0", "node-1"])
    made.pdb("web", {"app": "web"}, maxUnavailable=1)
    return made


def rehearsed(made: SmallCluster, directory: Path, *arguments: str) -> Result:
    file = directory / "snapshot.json"
    write(made.snapshot(), file)
    return CliRunner().invoke(main, ["rehearse", *arguments, "--from", str(file)])


def test_a_drain_that_goes_through(tmp_path: Path) -> None:
    result = rehearsed(web(), tmp_path, "drain", "node-0")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("drain goes through")


def test_a_drain_that_does_not_go_through(tmp_path: Path) -> None:
    made = web()
    made.pod("bare", "node-0")
    result = rehearsed(made, tmp_path, "drain", "node-0", "-o", "json")
    assert result.exit_code == 3
    found = json.loads(result.output)
    assert [each["pod"] for each in found["never"]] == ["bare"]
    assert rehearsed(made, tmp_path, "drain", "node-0", "--force").exit_code == 0


def test_nodes_by_their_labels(tmp_path: Path) -> None:
    selector = "kubernetes.io/hostname in (node-0,node-1)"
    result = rehearsed(web(), tmp_path, "drain", "-l", selector, "--parallel", "2", "-o", "json")
    assert result.exit_code == 0
    assert [each["name"] for each in json.loads(result.output)["nodes"]] == ["node-0", "node-1"]


def test_start_times_that_are_given(tmp_path: Path) -> None:
    arguments = ("drain", "node-0", "--ready-after", "web=90s", "--gone-after", "10s", "-o", "json")
    found = json.loads(rehearsed(web(), tmp_path, *arguments).output)
    [start] = found["startTimes"]
    assert (start["seconds"], start["source"]) == (90, "given")
    assert found["took"] > 90


def test_a_time_for_a_workload_that_is_not_there(tmp_path: Path) -> None:
    arguments = ("drain", "node-0", "--ready-after", "wbe=90s", "--ready-after", "web=9s")
    output = rehearsed(web(), tmp_path, *arguments).output
    assert "No workload with pods is named wbe, for which a time is given." in output
    assert "named web" not in output


def test_the_horizon_ends_it_and_the_nodes_are_shown(tmp_path: Path) -> None:
    arguments = ("drain", "node-0", "--ready-after", "2000h", "--horizon", "10s", "-o", "json")
    result = rehearsed(web(), tmp_path, *arguments)
    assert result.exit_code == 3
    found = json.loads(result.output)
    assert [each["name"] for each in found["nodes"]] == ["node-0"]
    assert (found["ended"], found["nodes"][0]["empty"]) == ("horizon", None)
    assert found["recovered"] <= 10


def test_a_cluster_without_nodes(tmp_path: Path) -> None:
    result = rehearsed(SmallCluster(nodes=0), tmp_path, "upgrade", "--batch", "1")
    assert (result.exit_code, result.output) == (1, "Error: the cluster has no nodes\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("drain",), 2, "name the nodes, or select them"),
        (("drain", "node-0", "-l", "a=b"), 2, "name the nodes, or select them"),
        (("drain", "node-9"), 1, "there is no node node-9"),
        (("drain", "-l", "pool=gpu"), 1, "no node has the labels"),
        (("drain", "-l", "a in b"), 2, "cannot be read"),
        (("drain", "node-0", "--ready-after", "web=soon"), 2, "is not a duration"),
        (("upgrade",), 2, "--batch"),
        (("rollout", "llm"), 1, "there is no RoleBasedGroup llm in namespace default"),
        (("rollout", "away.yaml"), 1, "No such file"),
    ],
)
def test_mistakes(tmp_path: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    result = rehearsed(web(), tmp_path, *arguments)
    assert (result.exit_code, said in result.output) == (code, True), result.output


def test_a_file_that_is_no_snapshot(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    for name, said in (("other.json", "no snapshot"), ("away.json", "No such file")):
        arguments = ["rehearse", "drain", "node-0", "--from", str(tmp_path / name)]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 1
        assert said in result.output


@pytest.mark.parametrize(
    "kind",
    ["nodes", "pods", "poddisruptionbudgets.policy", "podunavailablebudgets.policy.kruise.io"],
)
def test_without_nodes_pods_and_budgets_nothing_can_be_told(tmp_path: Path, kind: str) -> None:
    found = web().snapshot()
    found.unreadable.append(Unreadable(kind, "forbidden"))
    write(found, tmp_path / "some.json")
    arguments = ["rehearse", "drain", "node-0", "--from", str(tmp_path / "some.json")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert f"without {kind}" in result.output


def test_a_daemon_set_that_may_not_be_read_is_taken_to_be_there(tmp_path: Path) -> None:
    made = web()
    agent = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a", "uid": "a"}}
    made.pod("agent", "node-0", agent)
    assert rehearsed(made, tmp_path, "drain", "node-0").exit_code == 3
    found = made.snapshot()
    found.unreadable.append(Unreadable("daemonsets.apps", "forbidden"))
    write(found, tmp_path / "some.json")
    arguments = ["rehearse", "drain", "node-0", "--from", str(tmp_path / "some.json")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output


def test_what_could_not_be_read_is_a_note(tmp_path: Path) -> None:
    found = web().snapshot()
    found.intact = None
    found.unreadable.append(Unreadable("jobs.batch", "forbidden"))
    write(found, tmp_path / "some.json")
    arguments = ["rehearse", "drain", "node-0", "--from", str(tmp_path / "some.json")]
    output = CliRunner().invoke(main, arguments).output
    assert "jobs.batch could not be read" in output
    assert "Intact is taken not to run here" in output


def test_without_intact_it_says_what_would_differ(tmp_path: Path) -> None:
    made = SmallCluster(intact=False)
    for number in range(3):
        made.pod_group(f"shard-{number}", ["node-0", "node-0", "node-1"])
    made.pdb("llm", {"app": "llm"}, maxUnavailable=2)
    result = rehearsed(made, tmp_path, "drain", "node-0")
    assert "This cluster does not run Intact. With Intact:" in result.output
    assert "default/llm would count groups" in result.output


def test_pubs_hold_nothing_without_intact(tmp_path: Path) -> None:
    made = SmallCluster(intact=False)
    made.deployment("web", ["node-0"])
    made.pub("web", {"app": "web"}, maxUnavailable=0)
    result = rehearsed(made, tmp_path, "drain", "node-0")
    assert result.exit_code == 0
    assert "1 PodUnavailableBudgets hold nothing here" in result.output


def test_an_upgrade_of_all_nodes(tmp_path: Path) -> None:
    arguments = ("upgrade", "--batch", "2", "--back-after", "1m", "-o", "json")
    result = rehearsed(web(), tmp_path, *arguments)
    assert result.exit_code == 0
    nodes = json.loads(result.output)["nodes"]
    assert len(nodes) == 3
    assert nodes[2]["begun"] > 60


async def test_the_cluster_itself(tmp_path: Path) -> None:
    api = MemoryApi()
    load(web().snapshot(), api)
    async with served(api, tmp_path) as kubeconfig:
        result = await invoked("rehearse", "drain", "node-0", "--kubeconfig", kubeconfig)
    assert result.exit_code == 0, result.output
    assert "PDB default/web" in result.output


def test_the_rollout_of_a_group(tmp_path: Path) -> None:
    file, changed = tmp_path / "snapshot.json", tmp_path / "llm.yaml"
    write(rbg_snapshot(), file)
    changed.write_text(yaml.safe_dump(llm("engine:2")))
    for source in ("llm", "default/llm", str(changed)):
        arguments = ["rehearse", "rollout", source, "--from", str(file), "-o", "json"]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert len(json.loads(result.output)["pods"]) == 6


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("kind: Pod", "has no object of kind RoleBasedGroup"),
        ("kind: RoleBasedGroup\nmetadata: {name: other}", "no RoleBasedGroup other"),
    ],
)
def test_a_file_without_the_group(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "one.yaml").write_text(content)
    result = rehearsed(web(), tmp_path, "rollout", str(tmp_path / "one.yaml"))
    assert (result.exit_code, said in result.output) == (1, True), result.output


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"spec": None}, "spec"),
        ({"spec": "x"}, "$.spec"),
        ({"spec": {"roles": "x"}}, "$.spec.roles"),
        ({"spec": {"roles": [None]}}, "$.spec.roles[0]"),
        ({"spec": {"roles": [{"replicas": 1}]}}, "name"),
        ({"metadata": "llm"}, "$.metadata"),
    ],
)
def test_a_malformed_group_is_one_line(
    tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    file, changed = tmp_path / "snapshot.json", tmp_path / "llm.yaml"
    write(rbg_snapshot(), file)
    changed.write_text(yaml.safe_dump(llm() | changes))
    arguments = ["rehearse", "rollout", str(changed), "--from", str(file)]
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.output.count("\n")) == (1, 1), result.output
    assert said in result.output


def test_what_the_file_leaves_out_is_removed(tmp_path: Path) -> None:
    file, changed = tmp_path / "snapshot.json", tmp_path / "llm.yaml"
    write(rbg_snapshot(), file)
    body = llm("engine:2")
    del body["spec"]["coordination"], body["spec"]["roles"][1:]
    changed.write_text(yaml.safe_dump(body))
    arguments = ["rehearse", "rollout", str(changed), "--from", str(file)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output


def test_a_group_that_admission_refuses_is_one_line(tmp_path: Path) -> None:
    file, changed = tmp_path / "snapshot.json", tmp_path / "llm.yaml"
    write(rbg_snapshot(), file)
    body = llm("engine:2")
    body["spec"]["coordination"][0]["strategy"]["maxSkew"] = "-1%"
    changed.write_text(yaml.safe_dump(body))
    arguments = ["rehearse", "rollout", str(changed), "--from", str(file)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert result.output.startswith("Error: admission webhook")


def test_a_drain_that_the_copy_refuses_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_given: object, **_options: object) -> None:
        raise Unreachable("no answer")

    monkeypatch.setattr("intact.sandbox.rehearsal.drain.cordon", refused)
    result = rehearsed(web(), tmp_path, "drain", "node-0")
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")


@pytest.mark.parametrize("intact", [True, False])
def test_a_film_of_a_drain(tmp_path: Path, *, intact: bool) -> None:
    made, file = web(), tmp_path / "film.json.gz"
    made.intact = intact
    result = rehearsed(made, tmp_path, "drain", "node-0", "-o", "json", "--film", str(file))
    assert result.exit_code == 0, result.output
    film = read_film(file)
    assert f"{film.length} frames" in result.stderr
    assert json.loads(result.stdout)["goesThrough"]
    assert (film.action, film.intact) == ("drain", intact)
    last = film.at(film.length - 1).objects
    assert "node-0" not in {each.spec.node_name for each in last.pods}


def test_a_film_of_an_upgrade_also_of_one_that_does_not_go_through(tmp_path: Path) -> None:
    made, file = web(), tmp_path / "film.json"
    made.pod("bare", "node-0")
    result = rehearsed(made, tmp_path, "upgrade", "--batch", "1", "--film", str(file))
    assert result.exit_code == 3
    film = read_film(file)
    last = film.at(film.length - 1).objects
    assert "bare" in {each.metadata.name for each in last.pods}


def test_a_film_of_a_rollout(tmp_path: Path) -> None:
    snapshot, file = tmp_path / "snapshot.json", tmp_path / "film.json"
    write(rbg_snapshot(), snapshot)
    arguments = ["rehearse", "rollout", "llm", "--from", str(snapshot), "--film", str(file)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    film = read_film(file)
    first, last = film.at(0).objects, film.at(film.length - 1).objects
    [before], [after] = first.rbgs, last.rbgs
    assert after.metadata.generation > before.metadata.generation
    assert not {each.metadata.uid for each in first.pods} & {
        each.metadata.uid for each in last.pods
    }


def test_a_film_that_cannot_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    for film, code, said in (
        (tmp_path / "away" / "film.json", 1, "there is no directory"),
        (tmp_path, 2, "is a directory"),
    ):
        result = rehearsed(web(), tmp_path, "drain", "node-0", "--film", str(film))
        assert (result.exit_code, said in result.output) == (code, True), result.output
        assert "goes through" not in result.output


def test_a_film_whose_disk_is_full_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("intact.sandbox.rehearsal.recording.write_file", full)
    result = rehearsed(web(), tmp_path, "drain", "node-0", "--film", str(tmp_path / "film.json"))
    assert result.exit_code == 1
    assert result.output.endswith("film.json: No space left on device\n")
