"""What a user does not say is what kubectl would take."""

from intact.cli.drain.options import Options


def test_without_a_grace_period_each_pod_has_its_own() -> None:
    assert Options().grace_period_seconds is None
    assert Options(grace_period=0).grace_period_seconds == 0
    assert Options(grace_period=30).grace_period_seconds == 30
