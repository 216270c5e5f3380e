"""The role of a workload, and its revision, by what nobody overwrites by mistake."""

import msgspec
import pytest

from intact.model.role_workload import RoleWorkload
from intact.rollout.belonging import revision_of_role, role_of
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
