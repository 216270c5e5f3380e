"""The words and reasons of a verdict. docs/why.md has a line for each reason."""

from enum import StrEnum


class Word(StrEnum):
    MAY_GO = "may go"
    WAITS = "waits"
    """It goes when something changes that changes by itself: pods become ready, a budget is
    counted."""
    NEVER = "never"
    """It does not go until someone changes a budget, the pod or its workload."""


_STRICTNESS = (Word.MAY_GO, Word.WAITS, Word.NEVER)


def strictness(word: Word) -> int:
    return _STRICTNESS.index(word)


class Reason(StrEnum):
    # Of pods that may go.
    NO_BUDGET = "NoBudget"
    ALLOWED = "Budget"
    NOT_AVAILABLE = "NotAvailable"
    GROUP_UNAVAILABLE = "GroupUnavailable"
    SURPLUS = "Surplus"
    RECORDED = "AlreadyRecorded"
    RELEASED = "Released"
    NODE_DEADLINE = "NodeDeadline"
    EXEMPT = "Exempt"
    NOT_ENFORCED = "NotEnforced"
    NOT_HELD = "NotHeld"
    FINISHED = "Finished"
    # Of pods that do not go.
    EXHAUSTED = "BudgetExhausted"
    NEVER_ALLOWS = "NeverAllows"
    TWO_BUDGETS = "TwoBudgets"
    NOT_PROCESSED = "NotProcessed"
    NOT_COUNTED = "NotCounted"
    UNREADABLE = "BudgetUnreadable"
    INVALID = "InvalidConfig"
    UNHEALTHY = "BudgetUnhealthy"
    NEED_NOT_REACHED = "NeedNotReached"
    GROUP_UNKNOWN = "GroupUnknown"
    NOT_GONE = "NotGone"
    FINALIZER = "HeldByFinalizer"
    NODE_NOT_READY = "NodeNotReady"
    TERMINATING = "Terminating"
    DAEMON_SET = "DaemonSet"
    MIRROR = "MirrorPod"
    INTACT_DOWN = "IntactDown"
