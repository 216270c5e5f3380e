"""The registration of the webhooks."""

from copy import deepcopy
from typing import Any

import msgspec

from intact.cli.check.installation.found import Found
from intact.cli.check.installation.line import State
from intact.cli.check.installation.registered import registered
from intact.kube.errors import error_of_response
from intact.operator.install.deployment import deployment as made_deployment
from intact.operator.install.settings import Settings
from intact.operator.webhook.configuration import WebhookConfiguration
from tests.unit.cli.check.installation.cluster import HOME, configurations

OF_PUBS = (
    "pods.gate.intact.dev",
    "evictions.gate.intact.dev",
    "resizes.gate.intact.dev",
    "budgets.intact.dev",
    "evictions.pin.intact.dev",
)


def found(
    *, without: tuple[str, ...] = (), deployment: Settings | None = None, **changed: Any
) -> Found:
    """As it is registered, but for webhooks of these names; all others with these fields."""
    both = []
    for body in deepcopy(configurations()):
        body["webhooks"] = [
            each | changed for each in body["webhooks"] if each["name"] not in without
        ]
        both.append(msgspec.convert(body, WebhookConfiguration))
    made = made_deployment(deployment, HOME) if deployment is not None else None
    return Found(made, validating=both[0], mutating=both[1])


def test_all_are_registered() -> None:
    [line] = registered(found())
    assert line.state is State.OK
    assert line.message == "13 are registered, of the controllers pub, pdb, rbg"


def test_controllers_that_do_not_run_register_none() -> None:
    rbg = ("groups.intact.dev", "pods.place.intact.dev")
    [line] = registered(found(without=rbg))
    assert line.message == "11 are registered, of the controllers pub, pdb"


def test_the_deployment_says_which_controllers_run() -> None:
    [line] = registered(found(without=OF_PUBS, deployment=Settings(controllers=("pdb", "rbg"))))
    assert line.state is State.OK
    [line, _] = registered(found(without=OF_PUBS, deployment=Settings()))
    assert line.state is State.FAIL
    assert "lacks pods.gate.intact.dev" in line.message


def test_the_disruption_controller_registers_none() -> None:
    whole = found()
    none = tuple(each["name"] for each in whole.webhooks)
    [line] = registered(found(without=none, deployment=Settings(controllers=("disruption",))))
    assert line.state is State.OK


def test_a_webhook_that_is_missing() -> None:
    [line] = registered(found(without=("pods.gate.intact.dev",)))
    assert line.state is State.FAIL
    assert line.message.endswith("lacks pods.gate.intact.dev")


def test_a_configuration_that_is_missing() -> None:
    whole = found()
    [line] = registered(Found(mutating=whole.mutating))
    assert line.state is State.FAIL
    assert "ValidatingWebhookConfiguration intact does not exist" in line.message


def test_one_that_was_edited() -> None:
    lines = registered(found(failurePolicy="Ignore"))
    assert {line.state for line in lines} == {State.WARN}
    assert "pods.gate.intact.dev (failurePolicy)" in lines[0].message


def test_what_may_not_be_read_is_skipped() -> None:
    [line] = registered(Found(unread={"webhooks": error_of_response(403, b"{}")}))
    assert line.state is State.SKIP
