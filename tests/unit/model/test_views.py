"""What is true of every view."""

import inspect
import pkgutil
from importlib import import_module

import msgspec
import pytest

import intact.model
from intact.model.base import View


def views() -> list[type[View]]:
    found: set[type[View]] = set()
    for module in pkgutil.iter_modules(intact.model.__path__):
        members = vars(import_module(f"intact.model.{module.name}")).values()
        found |= {each for each in members if inspect.isclass(each) and issubclass(each, View)}
    return sorted(found - {View}, key=lambda view: view.__name__)


@pytest.mark.parametrize("view", views())
def test_every_view_is_frozen_and_written_as_kubernetes_writes_it(view: type[View]) -> None:
    config = view.__struct_config__
    assert config.frozen
    assert config.omit_defaults
    assert not config.gc
    for field in msgspec.structs.fields(view):
        assert "_" not in field.encode_name
