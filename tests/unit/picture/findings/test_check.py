"""All findings together, and their order."""

from intact.picture.findings.check import check, in_order, worst
from intact.picture.findings.finding import Severity
from tests.support.findings import codes, facts, pdb, pods, pub


def test_findings_are_by_object_and_the_worst_first() -> None:
    found = check(
        facts(
            pdb("b", maxUnavailable=0, annotations={"intact.dev/gatd": "true"}),
            pdb("a", maxUnavailable=3, selector={"matchLabels": {"app": "none"}}),
            pods(3),
        )
    )
    assert [(one.about.name, one.code) for one in found] == [
        ("a", "IB201"),
        ("b", "IB101"),
        ("b", "IB002"),
    ]
    assert in_order(reversed(found)) == found


def test_a_good_budget_has_no_findings() -> None:
    assert codes(check(facts(pub(maxUnavailable=1), pods(3)))) == []


def test_the_worst_severity() -> None:
    found = check(facts(pdb(maxUnavailable=0), pods(3)))
    assert worst(found) is Severity.ERROR
    assert worst([]) is None
