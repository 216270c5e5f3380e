"""What can go wrong in a demonstration."""


class DemoError(Exception):
    """It cannot go on; the message says why."""
