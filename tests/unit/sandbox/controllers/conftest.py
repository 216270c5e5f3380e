"""A cluster in which only the test itself acts."""

import pytest

from intact.sandbox import MemoryApi, wall_clock
from intact.sandbox.controllers.controller import Shared


@pytest.fixture
def shared(api: MemoryApi) -> Shared:
    return Shared(api, wall_clock())
