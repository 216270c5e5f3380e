"""The Status of a request that failed."""

import msgspec

from intact.model.status import Status


def test_the_details_of_a_status() -> None:
    body = b"""{"kind": "Status", "code": 429, "reason": "TooManyRequests",
        "details": {"retryAfterSeconds": 10, "causes": [{"reason": "DisruptionBudget"}]}}"""
    status = msgspec.json.decode(body, type=Status)
    assert status.details is not None
    assert status.details.retry_after_seconds == 10
    assert status.details.causes[0].reason == "DisruptionBudget"
