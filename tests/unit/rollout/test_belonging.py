"""The role of a workload, its revision, and the workload of a pod."""

import msgspec
import pytest

from intact.model.pod import Pod
from intact.model.role_workload import RoleWorkload
from intact.rollout.belonging import revision_of_role, role_of, workload_of
from intact.rollout.names import ROLE, role_revision_label
from tests.support.objects import Json

ROLES = ("web", "web-a", "decode")
HASH = "0123456789"


def workload(name: str = "llm-web", label: str = "evil", **spec: Json) -> RoleWorkload:
    labels = {ROLE: label, role_revision_label("web"): "evil"} if label else {}
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "spec": spec}, RoleWorkload
    )


@pytest.mark.parametrize(
    ("found", "role"),
    [
        (workload("x", selector={"matchLabels": {ROLE: "web"}}), "web"),
        (workload(selector={"matchLabels": {ROLE: "removed"}}), "removed"),
        (workload("llm-web"), "web"),
        (workload("llm-web-a"), "web-a"),
        (workload(f"llm-web-{HASH}"), "web"),
        (workload(f"llm-web-a-{HASH}"), "web-a"),
        (workload("llm-removed", label="removed"), "removed"),
        (workload("llm-web-other", label=""), ""),
    ],
)
def test_the_role_is_that_of_selector_or_name(found: RoleWorkload, role: str) -> None:
    assert role_of("llm", found, ROLES) == role


def test_the_revision_is_that_of_the_template() -> None:
    template = {"metadata": {"labels": {role_revision_label("web"): HASH}}}
    assert revision_of_role(workload(template=template), "web") == HASH
    assert (
        revision_of_role(workload(leaderWorkerTemplate={"workerTemplate": template}), "web") == HASH
    )
    assert revision_of_role(workload(), "web") == "evil"
    assert revision_of_role(workload(label=""), "web") == ""


@pytest.mark.parametrize(
    ("owner", "labels", "expected"),
    [
        (("ReplicaSet", "llm-web-abc"), {"pod-template-hash": "abc"}, ("Deployment", "llm-web")),
        (("ReplicaSet", "llm-web-abc"), {}, None),
        (("StatefulSet", "llm-web"), {}, ("StatefulSet", "llm-web")),
        (("StatefulSet", "llm-web"), {"leaderworkerset.sigs.k8s.io/group-index": "0"}, None),
        (("LeaderWorkerSet", "llm-web"), {}, ("LeaderWorkerSet", "llm-web")),
        (("Job", "x"), {}, None),
        (None, {}, None),
    ],
)
def test_the_workload_of_a_pod_is_that_of_its_controller(
    owner: tuple[str, str] | None, labels: dict[str, str], expected: tuple[str, str] | None
) -> None:
    references = []
    if owner is not None:
        kind, name = owner
        references = [
            {"apiVersion": "v1", "kind": kind, "name": name, "uid": "u", "controller": True}
        ]
    meta = {"name": "p", "namespace": "ns", "labels": labels, "ownerReferences": references}
    assert workload_of(msgspec.convert({"metadata": meta}, Pod)) == expected
