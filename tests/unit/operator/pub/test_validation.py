"""The admission of budgets: the rules of `budget.pub.validation`, as answers to reviews."""

import msgspec
import pytest

from intact.budget.pub.conditions import HOLDS_NOTHING_HERE
from intact.kube.client import Client
from intact.kube.resources import PUBS
from intact.kube.store import Store
from intact.model.admission import AdmissionResponse
from intact.model.pub import PodUnavailableBudget
from intact.operator.pub.targets import Targets
from intact.operator.pub.validation import PubValidation
from intact.operator.watch.owners import Workloads
from intact.sandbox import Kind, MemoryApi
from tests.support.objects import NAMESPACES
from tests.support.pub_cases import SELECTOR, Json, amount, budget
from tests.unit.kube.simulated import simulated


async def admit(
    new: Json | msgspec.Raw,
    *,
    old: Json | None = None,
    others: tuple[Json, ...] = (),
    largest_group: int = 0,
    selected: bool = True,
) -> AdmissionResponse:
    """The answer, while the namespace has these budgets already, and groups of at most so many
    pods."""
    store: Store[PodUnavailableBudget] = Store({"namespace": lambda pub: [pub.metadata.namespace]})
    request = {
        "uid": "u",
        "operation": "UPDATE" if old else "CREATE",
        "namespace": "ns",
        "name": "web" if isinstance(new, msgspec.Raw) else new["metadata"]["name"],
        "object": new,
        "oldObject": old,
    }
    api = MemoryApi()
    api.register(KIND)
    client = Client(api)
    for namespace in ("ns", "elsewhere"):
        await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    for other in others:
        name, namespace = other["metadata"]["name"], other["metadata"]["namespace"]
        await client.create(PUBS, other | {"metadata": {"name": name}}, namespace)
    watches = Workloads(client, Store())
    validation = PubValidation(
        client,
        store,
        Targets(client, watches),
        lambda _budget, _namespace: largest_group,
        lambda _namespace: selected,
    )
    return await validation.review(msgspec.Raw(msgspec.json.encode(request)))


KIND = Kind(PUBS.group, PUBS.version, PUBS.plural, PUBS.kind, status=True)


@simulated
async def test_a_good_budget_is_allowed() -> None:
    assert await admit(budget(amount(1))) == AdmissionResponse(allowed=True)


@simulated
async def test_a_budget_that_will_hold_nothing_is_warned_of() -> None:
    answer = await admit(budget(amount(1)), selected=False)
    assert answer.allowed
    assert answer.warnings == [HOLDS_NOTHING_HERE]


@simulated
async def test_a_denial_names_the_budget_and_each_bad_field() -> None:
    bad = amount("all") | {"podGroupPolicy": {"groupLabelKey": ""}}
    answer = await admit(budget(bad, "web"))
    assert not answer.allowed
    assert answer.status is not None
    assert (answer.status.code, answer.status.reason) == (422, "Invalid")
    assert answer.status.message.startswith('PodUnavailableBudget "web" is invalid: ')
    assert answer.status.details is not None
    assert [cause.field for cause in answer.status.details.causes] == [
        "spec.maxUnavailable",
        "spec.podGroupPolicy.groupLabelKey",
    ]
    assert answer.audit_annotations == {
        "decision": "denied",
        "budget": "PodUnavailableBudget/ns/web",
        "reason": "Invalid",
    }


@simulated
async def test_a_new_budget_is_compared_with_the_others_of_its_namespace() -> None:
    for namespace, allowed in (("ns", False), ("elsewhere", True)):
        other = budget(amount(1), "other", namespace=namespace)
        assert (await admit(budget(amount(1)), others=(other,))).allowed == allowed


@simulated
async def test_an_update_is_not_compared_with_its_own_earlier_version() -> None:
    stored = budget(amount(1), namespace="ns")
    answer = await admit(budget(amount(2)), old=stored, others=(stored,))
    assert answer == AdmissionResponse(allowed=True)


@simulated
async def test_an_update_that_changes_the_selector_is_denied() -> None:
    other = {"selector": {"matchLabels": {"app": "db"}}, "maxUnavailable": 1}
    assert not (await admit(budget(other), old=budget(amount(1)))).allowed


@simulated
async def test_an_allowed_budget_may_come_with_warnings() -> None:
    both = {"selector": SELECTOR, "maxUnavailable": 1, "minAvailable": 1}
    answer = await admit(budget(both))
    assert answer.allowed
    assert len(answer.warnings) == 1


@simulated
async def test_a_new_budget_is_warned_of_what_is_wrong_and_no_error() -> None:
    target = {"apiVersion": "apps/v1", "kind": "StatfulSet", "name": "web"}
    spec = {"targetRef": target, "minAvailable": "100%"}
    answer = await admit(budget(spec, annotations={"intact.dev/enforcment": "Audit"}))
    assert answer.allowed
    never, key, kind = answer.warnings
    assert "no pod can ever go" in never
    assert "did you mean intact.dev/enforcement?" in key
    assert "did you mean StatefulSet?" in kind


@simulated
async def test_a_need_that_no_group_reaches_is_a_warning_with_both_numbers() -> None:
    new = budget(amount(1) | {"podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": 8}})
    for old in (None, budget(amount(1))):
        answer = await admit(new, old=old, largest_group=4)
        assert answer.allowed
        [warning] = answer.warnings
        assert "minReadyReplicas is 8, but no group has more than 4 pods" in warning
    # Without pods nothing is known; with enough of them nothing is wrong.
    for largest in (0, 8):
        assert not (await admit(new, largest_group=largest)).warnings
    assert not (await admit(budget(amount(1)), largest_group=4)).warnings


@simulated
async def test_a_budget_of_a_wrong_shape_is_refused_with_its_field() -> None:
    answer = await admit(budget(amount(1) | {"podGroupPolicy": {"groupLabelKey": 5}}))
    assert answer.status is not None
    assert answer.status.code == 422
    assert "spec.podGroupPolicy: Expected `str`" in answer.status.message


@simulated
async def test_a_budget_that_cannot_be_read_can_be_corrected_and_annotated() -> None:
    broken = budget(amount(1) | {"maxUnavailable": 1.5})
    assert (await admit(budget(amount(1)), old=broken)).allowed
    note = broken | {"metadata": broken["metadata"] | {"annotations": {"note": "x"}}}
    assert (await admit(note, old=broken)).allowed


@pytest.mark.parametrize("text", ["null", "5", "[]", '"x"', "true"])
@simulated
async def test_what_is_no_object_is_of_another_shape(text: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `object`"):
        await admit(msgspec.Raw(text.encode()))
