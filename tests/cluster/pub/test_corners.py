"""Corners in which a budget must neither open nor stay shut, with real controllers."""

import asyncio

from intact.kube.resources import PUBS
from tests.cluster.pub.test_counting import selecting
from tests.support.namespace_under_test import NamespaceUnderTest

TOTAL = "pub.kruise.io/protect-total-replicas"
OPERATIONS = "kruise.io/pub-protect-operations"


async def annotate(ns: NamespaceUnderTest, **annotations: str) -> None:
    change = {"metadata": {"annotations": annotations}}
    await ns.client.patch(PUBS, change, "budget", ns.name)


async def test_an_edit_of_annotations_is_counted_before_another_pod_goes(
    ns: NamespaceUnderTest,
) -> None:
    await ns.pods(*"abcd", labels={"app": "web"})
    spec = selecting(maxUnavailable="50%")
    await ns.budget(spec, annotations={TOTAL: "4"}, unavailable_allowed=2)
    await annotate(ns, **{TOTAL: "8"})
    answers = await asyncio.gather(*(ns.delete(name) for name in "abcd"))
    assert [answer.code for answer in answers] == [429] * 4
    await ns.counted(total_replicas=8, desired_available=4, unavailable_allowed=0)
    await annotate(ns, **{OPERATIONS: "EVICT"})
    await ns.counted(unavailable_allowed=0)
    await annotate(ns, **{OPERATIONS: "EVICT,DELETE"})
    answers = await asyncio.gather(*(ns.delete(name) for name in "abcd"))
    assert [answer.code for answer in answers] == [429] * 4
