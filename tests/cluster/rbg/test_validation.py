"""RoleBasedGroups that a real API server accepts or refuses, by the CRD or by our webhook."""

from intact.kube.errors import Invalid
from tests.support.namespace_under_test import NamespaceUnderTest
from tests.support.rbg_cases import ACCEPTED, REFUSED, Case
from tests.support.rbg_objects import group, role
from tests.support.rbg_waiting import GROUPS


async def test_valid_groups_are_accepted(ns: NamespaceUnderTest) -> None:
    for case in ACCEPTED:
        await ns.client.create(GROUPS, case.body, ns.name, dry_run=True)


async def test_invalid_groups_are_refused_at_their_field(ns: NamespaceUnderTest) -> None:
    wrong = []
    for case in REFUSED:
        try:
            await ns.client.create(GROUPS, case.body, ns.name, dry_run=True)
        except Invalid as error:
            if not _says(error, case):
                wrong.append((case.name, str(error)))
        else:
            wrong.append((case.name, "stored"))
    assert wrong == []


def _says(error: Invalid, case: Case) -> bool:
    return any(
        cause.field.removeprefix("<nil>").startswith(case.field) and case.message in cause.message
        for cause in error.causes
    )


async def test_kubectl_shows_the_field_and_the_reason_of_a_refusal(ns: NamespaceUnderTest) -> None:
    body = group("llm", role("prefill"), role("decode", dependencies=["encode"]))
    code, said = await ns.kubectl("apply", "-f", "-", stdin=body)
    assert code == 1
    assert (
        'The RoleBasedGroup "llm" is invalid: spec.roles[1].dependencies[0]: '
        'Invalid value: "encode": there is no role of this name'
    ) in said
