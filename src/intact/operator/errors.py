"""What keeps the operator from running."""


class StartError(Exception):
    """It cannot start; the message says why, in one line, for the person who started it."""
