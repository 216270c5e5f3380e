"""What is read for a verdict on one pod."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from intact.cli.why.around import needed, read_around, selector_text
from intact.kube.errors import NotFound
from intact.model.meta import LabelSelector
from intact.picture.objects import Objects
from tests.support.pictures import group_pdb, pdb, pod, pub
from tests.unit.cli.inhabited import inhabited

POD = pod("a")
LWS = "leaderworkerset.sigs.k8s.io"
IN_SET = pod("a", labels={f"{LWS}/name": "llm", f"{LWS}/group-key": "k"})
IN_GROUP = pod("a", spec={"nodeName": "n", "schedulingGroup": {"podGroupName": "g"}})
OTHER = {"matchLabels": {"app": "db"}}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
UNREAD = msgspec.structs.replace(pub(), problems=["spec: no object"])


@pytest.mark.parametrize(
    ("found", "asked", "selectors"),
    [
        (Objects(), POD, []),
        (Objects(pdbs=[pdb()], pubs=[pub()]), POD, ["app=llm"]),
        (Objects(pubs=[pub(selector=OTHER)]), POD, []),
        (Objects(pubs=[pub(targetRef=TARGET, selector=None)]), POD, [""]),
        (Objects(pubs=[UNREAD]), POD, [""]),
        (Objects(pdbs=[group_pdb()]), IN_SET, ["app=llm", f"{LWS}/group-key=k"]),
        (Objects(), IN_GROUP, [""]),
    ],
    ids=["none", "both kinds", "another", "a target", "unreadable", "a set", "a PodGroup"],
)
def test_only_pods_that_count_are_asked_for(
    found: Objects, asked: Any, selectors: list[str]
) -> None:
    assert needed(found, asked) == selectors


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({}, ""),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]},
            "a in (x,y)",
        ),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, "a notin (x)"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a"),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, "!a"),
        ({"matchExpressions": [{"key": "a", "operator": "Odd"}]}, ""),
    ],
)
def test_a_selector_is_written_as_a_query(selector: Any, text: str) -> None:
    assert selector_text(msgspec.convert(selector, LabelSelector)) == text


async def test_other_pods_are_not_read(tmp_path: Path) -> None:
    others = [pod("b"), pod("c", labels={"app": "x"})]
    async with inhabited(tmp_path, POD, *others, pdbs=[pdb()]) as cluster:
        found, objects = await read_around(cluster.client, "a", "llm")
        with pytest.raises(NotFound):
            await read_around(cluster.client, "nope", "llm")
    assert found.metadata.name == "a"
    assert sorted(one.metadata.name for one in objects.pods) == ["a", "b"]
