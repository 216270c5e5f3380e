"""Who was refused lately."""

import asyncio

from intact.cli.why.events import Refused, refused_by, refused_document, refused_lines
from intact.kube.client import Client
from intact.kube.events import EventRecorder
from intact.kube.resources import untyped
from intact.model.event import ObjectReference
from intact.operator.webhook.denials import Denial, Denials
from intact.sandbox import MemoryApi, wall_clock
from tests.support.pictures import NOW, ago, pdb, picture, pub

EVENTS = untyped("", "v1", "events", "Event")
BUDGET = picture(pubs=[pub()]).budgets[0]


async def test_denials_of_the_very_budget_are_found_the_latest_first() -> None:
    client = Client(MemoryApi())
    await client.create(
        untyped("", "v1", "namespaces", "Namespace", namespaced=False),
        {"metadata": {"name": "llm"}},
    )

    async def add(name: str, reason: str, last: str, uid: str = "uid-llm") -> None:
        about = {"kind": "PodUnavailableBudget", "name": "llm", "namespace": "llm", "uid": uid}
        body = {"metadata": {"name": name}, "involvedObject": about, "reason": reason}
        await client.create(
            EVENTS, {**body, "message": name, "count": 3, "lastTimestamp": last}, "llm"
        )

    await add("old", "DisruptionDenied", ago(minutes=2))
    await add("new", "DisruptionWouldBeDenied", ago(minutes=1))
    await add("other", "Unreadable", ago(minutes=1))
    await add("before", "DisruptionDenied", ago(minutes=1), uid="another")
    found = await refused_by(client, BUDGET)
    assert [(one.message, one.times) for one in found] == [("new", 3), ("old", 3)]
    assert await refused_by(client, picture(pdbs=[pdb()]).budgets[0]) == []


def test_the_lines_say_how_often_and_when() -> None:
    found = [Refused("Pod a cannot go now", 1, ago(seconds=5))] * 7
    lines = refused_lines(found, NOW)
    assert lines[:2] == ["refused lately:", "  1 time, last 5s ago: Pod a cannot go now"]
    assert lines[-1] == "  and 2 more"
    assert refused_lines([], NOW) == []


def test_a_document() -> None:
    assert refused_document(Refused("a", 2, "")) == {"message": "a", "count": 2, "last": None}


def test_who_asked_and_for_what() -> None:
    user = "system:serviceaccount:ops:drainer"
    found = Refused(f"eviction, requested by {user}, bob: 2 of 3: no: not now", 1, "")
    assert (found.operation, found.users) == ("eviction", f"{user}, bob")
    assert found.text == "2 of 3: no: not now"
    other = Refused("something else", 1, "")
    assert (other.operation, other.users, other.text) == ("", "", "something else")


async def test_denials_are_told_in_these_words() -> None:
    api = MemoryApi()
    recorder = EventRecorder(Client(api), "intact", "i", now=wall_clock())
    about = ObjectReference(kind="PodUnavailableBudget", namespace="default", name="b")
    gone = ObjectReference(kind="Pod", namespace="default", name="p")
    denial = Denial(about, gone, "Exhausted", "2 of 3 groups are available", "DELETE", "alice")
    Denials(recorder).tell(denial)
    sending = asyncio.create_task(recorder.run())
    await recorder.flush()
    sending.cancel()
    events = list(api.objects("events"))
    for event in events:
        found = Refused(event["message"], 1, "")
        assert (found.operation, found.users) == ("DELETE", "alice")
        assert found.text == "2 of 3 groups are available"
    assert len(events) == 2
