"""A RoleBasedGroup of the copy is rolled out by the operator itself."""

import asyncio
import json

import pytest

from intact.sandbox.loop import run
from intact.sandbox.rehearsal.rehearse import Outcome, rehearse
from intact.sandbox.rehearsal.report import Report
from intact.sandbox.rehearsal.rollout import changed, restarted, roll_out
from intact.sandbox.rehearsal.stage import Options, Stage, staged
from intact.sandbox.snapshot.anonymous import anonymized
from intact.sandbox.snapshot.document import Json, Snapshot
from tests.unit.sandbox.rehearsal.rbg_scene import llm, rbg_snapshot

RBGS = "rolebasedgroups.workloads.x-k8s.io"


def stored(snapshot: Snapshot) -> Json:
    [found] = snapshot.of(RBGS)
    return found


def rolled(snapshot: Snapshot, wanted: Json, options: Options | None = None) -> Report:
    async def work(stage: Stage) -> Outcome:
        return Outcome(await roll_out(stage, [wanted]))

    return rehearse(snapshot, "rollout", work, options or Options(), intact=True)


@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "anonymized"])
def test_a_snapshot_without_secrets_starts_no_rollout(hidden: bool) -> None:
    snapshot = anonymized(rbg_snapshot()) if hidden else rbg_snapshot()
    assert "hunter2" not in json.dumps(snapshot.objects)
    assert len(snapshot.of("pods")) == 6
    assert len(snapshot.of(RBGS)) == 1

    async def wait() -> None:
        async with staged(snapshot, Options(), intact=True) as stage:
            await asyncio.sleep(900)
            assert stage.observer.ended == []
            assert len(list(stage.api.objects("pods"))) == 6
            assert len(list(stage.api.objects("statefulsets.apps"))) == 2

    run(wait())


def test_a_restart_rolls_all_roles_in_the_order_of_the_plan() -> None:
    snapshot = rbg_snapshot()
    report = rolled(snapshot, restarted(stored(snapshot)))
    assert report.goes_through
    assert len(report.pods) == 6
    assert {each.source for each in report.start_times} == {"observed"}
    assert report.took > 2 * 20, "batch after batch, each as long as its pods take to start"


def test_the_templates_of_a_file() -> None:
    snapshot = rbg_snapshot()
    report = rolled(snapshot, changed(stored(snapshot), llm("engine:2")))
    assert report.goes_through
    assert len(report.pods) == 6


def test_roles_that_do_not_differ_stay() -> None:
    present = stored(rbg_snapshot())
    given = llm()
    given["spec"]["roles"][0]["template"]["spec"]["containers"][0]["image"] = "engine:2"
    made = changed(present, given)
    prefill, decode = made["spec"]["roles"]
    assert prefill["template"]["spec"]["containers"][0]["image"] == "engine:2"
    assert decode["template"] == present["spec"]["roles"][1]["template"]


def test_a_file_that_differs_in_nothing_that_is_known_rolls_everything() -> None:
    present = stored(rbg_snapshot())
    made = changed(present, llm())
    for old, new in zip(present["spec"]["roles"], made["spec"]["roles"], strict=True):
        assert old["template"] != new["template"]


def test_a_rollout_that_cannot_end() -> None:
    snapshot = rbg_snapshot()
    wanted = restarted(stored(snapshot))
    for role in wanted["spec"]["roles"]:
        role["template"]["spec"]["nodeSelector"] = {"pool": "away"}
    report = rolled(snapshot, wanted)
    assert (report.goes_through, report.ended) == (False, "still")
    assert report.unplaced
