"""The metrics of a queue, under client-go's names."""

import pytest
from prometheus_client import CollectorRegistry

from intact.kube.queue import Queue
from intact.operator.workqueue_metrics import WorkqueueMetrics


class Shown:
    def __init__(self, queue: Queue[str]) -> None:
        self.registry = CollectorRegistry()
        metrics = WorkqueueMetrics(self.registry)
        self.registry.register(metrics)
        metrics.show(queue)
        self._name = queue.name

    def value(self, metric: str) -> float | None:
        return self.registry.get_sample_value(f"workqueue_{metric}", {"name": self._name})


@pytest.fixture
def queue() -> Queue[str]:
    return Queue("disruption")


@pytest.fixture
def shown(queue: Queue[str]) -> Shown:
    return Shown(queue)


async def test_keys_that_wait_are_counted(queue: Queue[str], shown: Shown) -> None:
    for key in ("a", "b", "a"):
        queue.add(key)
    assert (shown.value("depth"), shown.value("adds_total")) == (2, 2)
    await queue.get()
    assert (shown.value("depth"), shown.value("queue_duration_seconds_count")) == (1, 1)


async def test_work_is_timed_once_it_is_done(queue: Queue[str], shown: Shown) -> None:
    queue.add("a")
    key = await queue.get()
    assert shown.value("work_duration_seconds_count") == 0
    assert (shown.value("unfinished_work_seconds") or 0) > 0
    assert (shown.value("longest_running_processor_seconds") or 0) > 0
    queue.done(key)
    assert shown.value("work_duration_seconds_count") == 1
    assert shown.value("unfinished_work_seconds") == 0
    assert shown.value("longest_running_processor_seconds") == 0


async def test_keys_that_failed_are_counted(queue: Queue[str], shown: Shown) -> None:
    queue.add("a")
    key = await queue.get()
    queue.retry(key)
    queue.done(key)
    assert shown.value("retries_total") == 1
