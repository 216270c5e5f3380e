"""What may be sent again, and after how long."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.kube.errors import ConfigError, KubeError, Undecodable, Unreachable, error_of_status
from intact.kube.retry import Backoff, may_retry
from intact.model.status import Status

READS = ("GET",)
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def answered(code: int, retry_after: float | None = None) -> KubeError:
    return error_of_status(Status(code=code), retry_after)


@pytest.mark.parametrize(
    ("error", "reads", "writes"),
    [
        (Unreachable("refused", sent=False), True, True),
        (Unreachable("broke", sent=True), True, False),
        (answered(429, retry_after=1.0), True, True),
        (answered(429, retry_after=0.0), True, True),
        (answered(429), False, False),
        (answered(500), True, False),
        (answered(500, retry_after=1.0), True, False),
        (answered(502), True, False),
        (answered(503), True, False),
        (answered(504), True, False),
        (answered(501), False, False),
        (answered(400), False, False),
        (answered(401), False, False),
        (answered(403), False, False),
        (answered(404), False, False),
        (answered(409), False, False),
        (answered(410), False, False),
        (answered(422), False, False),
        (ConfigError("no credentials"), False, False),
        (Undecodable("no JSON"), False, False),
    ],
    ids=lambda value: f"{value!r}",
)
def test_which_failures_may_be_repeated(error: KubeError, reads: bool, writes: bool) -> None:
    assert {method: may_retry(method, error) for method in READS} == dict.fromkeys(READS, reads)
    assert {method: may_retry(method, error) for method in WRITES} == dict.fromkeys(WRITES, writes)


@given(failures=st.integers(1, 10**9), seed=st.integers(0, 2**32))
def test_a_delay_is_never_nothing_and_never_too_much(failures: int, seed: int) -> None:
    backoff = Backoff(first=0.1, most=30.0)
    delay = backoff.delay(failures, random.Random(seed))
    ceiling = min(30.0, 0.1 * 2.0 ** min(failures - 1, 20))
    assert ceiling / 2 <= delay <= ceiling


def test_delays_differ_between_processes() -> None:
    delays = {Backoff().delay(5, random.Random(seed)) for seed in range(20)}
    assert len(delays) == 20
