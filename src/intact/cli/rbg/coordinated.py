"""Which roles a pause holds: those whose rollout Intact coordinates."""

from collections.abc import Collection

from intact.model.rbg import RoleBasedGroup
from intact.rollout.coordinations import ROLLING_UPDATE, of_type


def coordinated(group: RoleBasedGroup) -> list[str]:
    """The roles in a RollingUpdate coordination, in the order of the spec."""
    named = {role for each in of_type(group.spec, ROLLING_UPDATE) for role in each.roles}
    return [role.name for role in group.spec.roles if role.name in named]


def others(group: RoleBasedGroup) -> list[str]:
    """The roles that update by themselves."""
    held = coordinated(group)
    return [role.name for role in group.spec.roles if role.name not in held]


def held_until_resumed(group: RoleBasedGroup, roles: Collection[str] | None = None) -> str:
    """The end of a sentence about new templates (of these roles); empty unless a pause holds
    them."""
    held = [name for name in coordinated(group) if roles is None or name in roles]
    if not group.spec.paused or not held:
        return ""
    said = f"; it is paused: {', '.join(held)} wait for `intact rbg resume {group.metadata.name}`"
    return said if len(held) > 1 else said.replace(" wait ", " waits ")
