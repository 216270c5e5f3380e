"""Finding out whether the API server already calls our webhooks.

A registration takes effect some time after it was written. A dry run that only Intact's gate
refuses shows whether it has: the refusal carries the cause `CAUSE`.
"""

NAME = "intact-probe"
"""Name of a pod that does not exist, and of the field manager of a status write."""
CAUSE = "IntactProbe"
MESSAGE = "the gate is here"
