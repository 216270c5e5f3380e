"""What keeps the operator from running."""


class StartError(Exception):
    """The operator cannot start. The message says why, in one line, to the user."""
