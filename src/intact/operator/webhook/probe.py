"""Finding out whether the API server already calls our webhooks.

A registration takes effect some time after it was written. A dry run that only Intact's gate
refuses shows whether it has: the refusal carries the cause `CAUSE`.
"""

NAME = "intact-probe"
"""Name of the pod whose eviction is asked for, and of the field manager of a status write. A pod
may have this name: the UID tells the probe from an eviction of that pod."""
UID = "intact-probe"
"""The UID in the probe of evictions. No pod has it."""
PINNED = "intact-probe-pinned"
"""What the webhook that pins evictions makes of that UID. The gate answers only this one: then the
API server calls both."""
CAUSE = "IntactProbe"
MESSAGE = "the gate is here"
