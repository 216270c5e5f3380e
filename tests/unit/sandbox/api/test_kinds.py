"""Kinds, and the registry of those that are served."""

from intact.sandbox.api.kinds import Kind, Registry, Scale

POD = Kind("", "v1", "pods", "Pod", custom=False, status=True, resize=True)
WIDGET = Kind("example.com", "v1", "widgets", "Widget", more_versions=("v1beta1",), scale=Scale())
NODE = Kind("", "v1", "nodes", "Node", namespaced=False, custom=False)


def test_names() -> None:
    assert (POD.full_name, POD.group_kind, POD.list_kind) == ("pods", "Pod", "PodList")
    assert (WIDGET.full_name, WIDGET.group_kind) == ("widgets.example.com", "Widget.example.com")
    assert (POD.api_version(), WIDGET.api_version()) == ("v1", "example.com/v1")
    assert WIDGET.api_version("v1beta1") == "example.com/v1beta1"


def test_keys() -> None:
    assert (POD.key("ns", "p"), NODE.key("", "n")) == ("ns/p", "n")
    assert POD.storage_key("ns/p") == "/registry/pods/ns/p"
    assert WIDGET.storage_key("ns/w") == "/registry/example.com/widgets/ns/w"


def test_subresources() -> None:
    assert POD.subresources == ("status", "resize", "eviction", "binding")
    assert WIDGET.subresources == ("scale",)


def test_a_kind_is_found_in_each_version_that_is_served() -> None:
    registry = Registry((POD, WIDGET))
    assert registry.find("example.com", "v1beta1", "widgets") is WIDGET
    assert registry.find("example.com", "v2", "widgets") is None
    assert registry.find("", "v1", "nodes") is None
    registry.add(NODE)
    assert registry.find("", "v1", "nodes") is NODE
    assert registry.named("widgets.example.com") is WIDGET
    assert (registry.serves("example.com"), registry.serves("apps")) == (True, False)
