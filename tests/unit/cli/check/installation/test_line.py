"""One line about the installation."""

from intact.cli.check.installation.line import State, not_asked
from intact.kube.errors import Unreachable, error_of_response


def test_what_may_not_be_read_is_skipped_and_what_fails_fails() -> None:
    forbidden = error_of_response(403, b"{}")
    assert not_asked("leader", forbidden).state is State.SKIP
    assert not_asked("leader", Unreachable("no answer")).state is State.FAIL
