"""The live view."""

from intact.cli.drain.events import Event, What
from intact.cli.drain.progress import Progress


def pod(what: What, name: str, node: str = "node-0", message: str = "") -> Event:
    return Event(what, node=node, namespace="ns", pod=name, uid=name, message=message)


def shown(*events: tuple[float, Event], now: float = 10) -> list[str]:
    progress = Progress(0)
    for at, event in events:
        progress.add(event, at)
    return progress.picture(now)


def test_a_bar_for_each_node_and_what_is_waited_for() -> None:
    waiting = Event(What.WAITING, namespace="ns", budget="pub/llm", message="3 of 4 groups")
    again = Event(What.WAITING, namespace="ns", budget="pub/llm", message="2 of 4 groups")
    assert shown(
        (0, Event(What.CORDONED, node="node-0")),
        (0, Event(What.CORDONED, node="node-1")),
        (0, Event(What.BEGUN, node="node-0", pods=4)),
        (1, pod(What.EVICTING, "a")),
        (1, pod(What.EVICTING, "b")),
        (2, waiting),
        (3, pod(What.EVICTED, "a")),
        (4, again),
    ) == [
        "node-0  ██████▒▒▒▒▒▒░░░░░░░░░░░░  1 of 4 pods gone, 1 leaving",
        "node-1  ························  cordoned, waits for its turn",
        "waiting for pub/llm in ns: 2 of 4 groups (for 8s)",
        "10s so far",
    ]


def test_what_is_no_longer_waited_for_is_not_shown() -> None:
    waiting = Event(What.WAITING, namespace="ns", budget="pub/llm", message="x")
    resumed = Event(What.RESUMED, namespace="ns", budget="pub/llm")
    assert shown((0, waiting), (1, resumed)) == ["10s so far"]


def test_errors_stay_until_the_pod_goes() -> None:
    begun = (0.0, Event(What.BEGUN, node="node-0", pods=1))
    failed = (1.0, pod(What.FAILED, "a", message="no"))
    lines = shown(begun, failed)
    assert lines[0].endswith("0 of 1 pod gone, 1 error")
    assert 'error when evicting pods/"a" -n "ns": no' in lines
    lines = shown(
        begun, failed, (2, pod(What.EVICTED, "a")), (2, Event(What.DRAINED, node="node-0"))
    )
    assert lines == ["node-0  ████████████████████████  1 of 1 pod gone, drained", "10s so far"]


def test_a_pause_counts_down() -> None:
    assert shown((4, Event(What.PAUSING, seconds=60)))[0] == "pausing, 54s to go"


def test_the_end_says_what_is_left() -> None:
    lines = shown(
        (1, pod(What.LEFT, "a", message="refused")),
        (1, Event(What.ENDED, result="timeout", message="not drained in time\npdb/b")),
    )
    assert lines[-3:] == ["  ns/a on node-0: refused", "not drained in time", "pdb/b"]
