"""What stops a release."""


class ReleaseError(Exception):
    """The message says what is wrong and what to do."""
