"""What a benchmark says while it runs, and its verdict."""

import sys


def progress(message: str) -> None:
    print(f"bench: {message}", file=sys.stderr, flush=True)


def conclude(*, passed: bool) -> int:
    """Print the verdict; the exit code."""
    print("\nPASS" if passed else "\nFAIL")
    return 0 if passed else 1
