"""Every match condition that Intact registers is known here, and says what its expression says."""

from typing import Any

import pytest

from intact.budget.pdb.scope import SCOPE_LABEL
from intact.budget.pub.availability import UNAVAILABLE_LABEL_PREFIX
from intact.operator.install import budgets
from intact.operator.webhook import cel, probe
from intact.operator.webhook.configuration import (
    ServiceAddress,
    mutating_configuration,
    validating_configuration,
)
from intact.sandbox.match_conditions import CONDITIONS
from tests.support.objects import Json, pod

ADDRESS = ServiceAddress("ns", "name")


def test_every_condition_that_is_registered_is_known() -> None:
    registered = [
        condition["name"]
        for configuration in (validating_configuration, mutating_configuration)
        for webhook in configuration(ADDRESS, b"")["webhooks"]
        for condition in webhook.get("matchConditions", ())
    ]
    assert {*registered, budgets._NOT_OURS["name"]} == set(CONDITIONS)


def review(new: Json | None = None, old: Json | None = None, **more: Any) -> Json:
    user = {"username": "someone"}
    request = {"operation": "UPDATE", "object": new, "oldObject": old, "userInfo": user}
    return request | more


def changed(**spec: Any) -> Json:
    found = pod("p")
    found["spec"] |= spec
    return found


def container(image: str = "registry.example/main:1", cpu: str = "", policy: str = "") -> Json:
    found: Json = {"name": "main", "image": image}
    if cpu:
        found["resources"] = {"requests": {"cpu": cpu}}
    if policy:
        found["resizePolicy"] = [{"resourceName": "cpu", "restartPolicy": policy}]
    return found


def budget(scope: str | None = None, **more: Any) -> Json:
    labels = {} if scope is None else {SCOPE_LABEL: scope}
    return {"metadata": {"name": "b", "labels": labels}, "spec": {}} | more


def eviction(uid: str | None = None) -> Json:
    options = {} if uid is None else {"deleteOptions": {"preconditions": {"uid": uid}}}
    return {"metadata": {"name": "p"}, **options}


DELETED: Json = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
ENDED = pod("p") | {"status": {"phase": "Failed"}}
MARKED = pod("p", labels={f"{UNAVAILABLE_LABEL_PREFIX}x": "true"})
UPGRADED = changed(containers=[container("registry.example/main:2")])
OTHER_CONTAINER = changed(containers=[container() | {"name": "other"}])
OF_NAMESPACE = {"username": "system:serviceaccount:kube-system:namespace-controller"}
DROP = changed(containers=[container(cpu="2", policy="RestartContainer")])
STAY = changed(containers=[container(cpu="2", policy="NotRequired")])
BEFORE = changed(containers=[container(cpu="1")])


KEP = {"disruptionsAllowedReplicas": 0}


@pytest.mark.parametrize(
    ("condition", "request_", "matches"),
    [
        (cel.PRESENT, review(pod("p"), pod("p")), True),
        (cel.PRESENT, review(None, pod("p", **DELETED)), False),
        (cel.PRESENT, review(None, ENDED), False),
        (cel.NOT_OF_ITS_NAMESPACE, review(), True),
        (cel.NOT_OF_ITS_NAMESPACE, review(userInfo=OF_NAMESPACE), False),
        (cel.DISRUPTIVE_UPDATE, review(pod("p"), pod("p")), False),
        (cel.DISRUPTIVE_UPDATE, review(None, pod("p"), operation="DELETE"), True),
        (cel.DISRUPTIVE_UPDATE, review(UPGRADED, pod("p")), True),
        (cel.DISRUPTIVE_UPDATE, review(OTHER_CONTAINER, pod("p")), False),
        (cel.DISRUPTIVE_UPDATE, review(MARKED, pod("p")), True),
        (cel.DISRUPTIVE_UPDATE, review(MARKED, MARKED), False),
        (cel.DISRUPTIVE_UPDATE, review(changed(activeDeadlineSeconds=5), pod("p")), True),
        (
            cel.DISRUPTIVE_UPDATE,
            review(changed(activeDeadlineSeconds=5), changed(activeDeadlineSeconds=4)),
            False,
        ),
        (cel.DISRUPTIVE_UPDATE, review(DROP, BEFORE), True),
        (cel.DISRUPTIVE_UPDATE, review(STAY, BEFORE), False),
        (cel.RESTARTING_RESIZE, review(DROP, BEFORE), True),
        (cel.RESTARTING_RESIZE, review(DROP, DROP), False),
        (cel.RESTARTING_RESIZE, review(STAY, BEFORE), False),
        (cel.NOT_PINNED, review(eviction()), True),
        (cel.NOT_PINNED, review(eviction("")), True),
        (cel.NOT_PINNED, review(eviction(probe.UID)), True),
        (cel.NOT_PINNED, review(eviction("1")), False),
        (cel.STAYS, review(budget()), True),
        (cel.STAYS, review({"metadata": DELETED}), False),
        (cel.COUNTS_GROUPS, review(budget("Workload")), True),
        (cel.COUNTS_GROUPS, review(budget("Pod")), False),
        (cel.COUNTS_GROUPS, review(budget()), False),
        (cel.COUNTED_GROUPS, review(budget(), budget("Workload")), True),
        (cel.COUNTED_GROUPS, review(budget(), budget("Pod")), False),
        (cel.STOPS_COUNTING_GROUPS, review(budget("Pod"), budget("PodGroup")), True),
        (cel.STOPS_COUNTING_GROUPS, review(budget("Workload"), budget("PodGroup")), False),
        (cel.NOT_LABELLED, review(budget(), operation="CREATE"), True),
        (cel.NOT_LABELLED, review(budget(), budget("Pod")), True),
        (cel.NOT_LABELLED, review(budget(), budget("Workload")), False),
        (cel.NOT_LABELLED, review(budget("Pod"), budget()), False),
        (cel.HAS_OWN_KEYS, review(budget("Pod")), True),
        (cel.HAS_OWN_KEYS, review(budget()), False),
        (
            cel.HAS_OWN_KEYS,
            review({"metadata": {"annotations": {"intact.dev/replicas": "{}"}}}),
            False,
        ),
        (cel.SCOPED_BY_FIELD, review(budget(spec={"budgetScope": "Workload"})), True),
        (cel.SCOPED_BY_FIELD, review(budget(spec={"budgetScope": "Pod"})), False),
        (cel.SCOPED_BY_FIELD, review(budget("Pod", spec={"budgetScope": "Workload"})), True),
        (cel.SCOPED_BY_FIELD, review(budget("PodGroup", spec={"budgetScope": "Workload"})), False),
        (cel.INTACT_DECIDES, review(budget("Workload")), True),
        (cel.INTACT_DECIDES, review(budget(spec={"budgetScope": "Workload"})), True),
        (cel.INTACT_DECIDES, review(budget(spec={"budgetScope": "Pod"}, status=KEP)), True),
        (cel.INTACT_DECIDES, review(budget(spec={"budgetScope": "Workload"}, status=KEP)), False),
        (budgets._NOT_OURS, review(options={}), True),
        (budgets._NOT_OURS, review(options={"fieldManager": budgets.MANAGER}), False),
    ],
)
def test_a_condition(condition: cel.Condition, request_: Json, matches: bool) -> None:
    assert CONDITIONS[condition["name"]](request_) is matches
