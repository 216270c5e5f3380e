"""How many runs, or which one."""

import logging
from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, help="run the simulation with this seed alone")


@pytest.fixture
def quiet() -> Iterator[None]:
    """What replicas log about their troubles is of no use by the thousand."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)
