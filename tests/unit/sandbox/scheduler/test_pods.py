"""What is parsed of a pod."""

from typing import Any

import pytest

from intact.sandbox.scheduler.pods import Chosen, Term, chosen
from tests.support.scheduling import info, near, spread, term


def test_host_ports_are_those_of_containers_and_of_the_host_network() -> None:
    ports = [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81}]
    containers = [{"name": "a", "ports": ports}]
    assert info("p", containers=containers).ports == (("TCP", "0.0.0.0", 8080),)
    assert [port[2] for port in info("p", containers=containers, hostNetwork=True).ports] == [
        8080,
        81,
    ]


def test_a_term_is_about_its_own_namespace_unless_it_says_otherwise() -> None:
    affinity = {"podAffinity": near(term({"app": "a"}))}
    (own,) = info("p", affinity=affinity).affinity.attracted
    assert own == Term(("ns",), b"", chosen({"matchLabels": {"app": "a"}, "matchExpressions": []}),
                       "kubernetes.io/hostname")  # fmt: skip
    for more, names, selects in (
        ({"namespaces": ["b", "a"]}, ("a", "b"), False),
        ({"namespaceSelector": {}}, (), True),
    ):
        affinity = {"podAffinity": near(term({"app": "a"}, **more))}
        (found,) = info("p", affinity=affinity).affinity.attracted
        assert (found.namespaces, bool(found.namespace_selector)) == (names, selects)


@pytest.mark.parametrize(
    ("more", "labels", "selected"),
    [
        ({"matchLabelKeys": ["hash"]}, {"app": "a", "hash": "1"}, True),
        ({"matchLabelKeys": ["hash"]}, {"app": "a", "hash": "2"}, False),
        ({"mismatchLabelKeys": ["hash"]}, {"app": "a", "hash": "1"}, False),
        ({"mismatchLabelKeys": ["hash"]}, {"app": "a", "hash": "2"}, True),
        ({"matchLabelKeys": ["unknown"]}, {"app": "a"}, True),
    ],
)
def test_label_keys_of_the_pod_itself_join_the_selector(
    more: dict[str, Any], labels: dict[str, str], selected: bool
) -> None:
    affinity = {"podAffinity": near(term({"app": "a"}, **more))}
    (found,) = info("p", labels={"hash": "1"}, affinity=affinity).affinity.attracted
    selector = found.pods.selector()
    assert selector is not None
    assert selector.selects(labels) == selected


def test_weights_of_anti_affinity_are_negative() -> None:
    affinity = {
        "podAffinity": near(term({"app": "a"}), weight=3),
        "podAntiAffinity": near(term({"app": "b"}), weight=2),
    }
    assert [weight for _, weight in info("p", affinity=affinity).affinity.preferred] == [3, -2]


def test_spread_constraints_have_the_defaults_of_the_api() -> None:
    constraint = spread({"app": "a"}, matchLabelKeys=["hash"])
    pod = info("p", labels={"hash": "1"}, topologySpreadConstraints=[constraint])
    (found,) = pod.spreads("DoNotSchedule")
    assert (found.least_domains, found.honors_affinity, found.honors_taints) == (1, True, False)
    selector = found.pods.selector()
    assert selector is not None
    assert selector.selects({"app": "a", "hash": "1"})
    assert not selector.selects({"app": "a", "hash": "2"})
    assert pod.spreads("ScheduleAnyway") == []


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert chosen(None).selector() is None
    assert chosen({}).is_everything
    assert not chosen({"matchLabels": {"a": "b"}}).is_everything
    assert Chosen.all_of([chosen({}), chosen(None)]) == chosen(None)
