"""What users do to the RoleBasedGroup: templates, replicas, roles, kinds, rules, pauses, undo."""

import copy
import random
from collections.abc import Callable

import msgspec

from intact.cli.rbg.undo import undo_in
from intact.kube.client import PatchType
from intact.kube.errors import ApiError, KubeError, NotFound
from intact.model.rbg import RoleBasedGroup
from intact.rollout.spec.validation import validate
from tests.simulation.rbg.course import (
    CHANGE_KIND,
    GROUP,
    NAMESPACE,
    ROLES,
    coordination,
    is_stateful,
    some_rules,
)
from tests.simulation.rbg.kubelet import is_bad
from tests.simulation.rbg.world import World
from tests.support.objects import Json
from tests.support.rbg_objects import kind, role, template
from tests.support.rbg_waiting import ADAPTERS, GROUPS

Edit = Callable[[random.Random, Json], str]
"""Changes the spec, and says how in words; empty if it cannot."""


class Users:
    def __init__(self, world: World) -> None:
        self._world = world
        self._rng = world.rng("users")
        self._images = 1
        edits: dict[Edit, int] = {
            self._one_template: 4,
            self._all_templates: 5,
            self._replicas: 4,
            _rules: 3,
            _coordination: 3,
            _paused: 2,
            self._add_role: 2,
            _remove_role: 1,
            _rename_role: 1,
            _kind: 2,
            _min_ready: 1,
        }
        if world.course.only_templates:
            edits = {self._one_template: 1, self._all_templates: 2}
        elif CHANGE_KIND in world.course.without:
            del edits[_kind]
        self._edits, self._weights = list(edits), list(edits.values())

    async def act(self) -> None:
        """One act, which the API server accepts."""
        number = self._rng.random()
        if number < 0.12:
            await self._undo()
            return
        if number < 0.18 and not self._world.course.only_templates:
            await self._scale_adapter()
            return
        for _ in range(20):
            spec = copy.deepcopy(self._world.group["spec"])
            [edit] = self._rng.choices(self._edits, self._weights)
            said = edit(self._rng, spec)
            if said and await self.write(spec, said):
                return

    async def write(self, spec: Json, said: str) -> bool:
        """False if it is not valid."""
        before = self._world.group
        old = msgspec.convert(before, RoleBasedGroup)
        new = msgspec.convert({**before, "spec": spec}, RoleBasedGroup)
        if validate(new, old):
            return False
        patch = [{"op": "replace", "path": "/spec", "value": spec}]
        self._world.say(f"user: {said}")
        self._world.trace.count(f"edits: {said.partition(' ')[0]}")
        await self._world.user.patch(GROUPS, patch, GROUP, NAMESPACE, type=PatchType.JSON)
        return True

    async def heal(self) -> None:
        """In the end: no pause, and only images of which pods become ready."""
        spec = copy.deepcopy(self._world.group["spec"])
        # What a pause or a partition keeps old stays as it is, also pods of an earlier image that
        # are never ready: only who set it can tell that these are to move.
        keep_paused = self._rng.random() < 0.1
        if not keep_paused or self._world.course.bad_images:
            spec.pop("paused", None)
        for one in spec["roles"]:
            if is_bad(_image(one)):
                one["template"] = template(self._new_image(good=True))
        for each in spec.get("coordination", ()):
            # With it, an update of a StatefulSet waits for good, as its status says.
            waits = each["strategy"].get("maxUnavailableRatio") == "0%" and any(
                is_stateful(one) for one in spec["roles"] if one["name"] in each["roles"]
            )
            keeps = self._world.course.bad_images and "partition" in each["strategy"]
            if waits or keeps:
                each["strategy"] = some_rules(self._rng, spec["roles"])
            if self._world.course.bad_images:
                each["strategy"].pop("partition", None)
        if spec != self._world.group["spec"]:
            assert await self.write(spec, "heals the spec")

    async def _undo(self) -> None:
        try:
            said = await undo_in(self._world.user, NAMESPACE, GROUP, None)
        except (KubeError, Exception) as error:  # there is no earlier revision
            if not isinstance(error, ApiError) and type(error).__name__ != "ClickException":
                raise
            return
        self._world.say(f"user: undo: {said}")
        self._world.trace.count("edits: undo")

    async def _scale_adapter(self) -> None:
        one = self._rng.choice(self._world.group["spec"]["roles"])["name"]
        number = self._rng.choice((1, 2, 3, 4, 6, 8))
        try:
            await self._world.user.patch(
                ADAPTERS, {"spec": {"replicas": number}}, f"{GROUP}-{one}", NAMESPACE
            )
        except NotFound:
            return
        self._world.say(f"user: scales the adapter of {one} to {number}")
        self._world.trace.count("edits: adapter")

    def _new_image(self, *, good: bool = False) -> str:
        self._images += 1
        bad = self._world.course.bad_images and not good and self._rng.random() < 0.3
        return f"engine:{self._images}{'-bad' if bad else ''}"

    def _one_template(self, rng: random.Random, spec: Json) -> str:
        one = rng.choice(spec["roles"])
        one["template"] = template(self._new_image())
        return f"template of {one['name']} is {_image(one)}"

    def _all_templates(self, _rng: random.Random, spec: Json) -> str:
        image = self._new_image()
        for one in spec["roles"]:
            one["template"] = template(image)
        return f"templates of all roles are {image}"

    def _replicas(self, rng: random.Random, spec: Json) -> str:
        one = rng.choice(spec["roles"])
        one["replicas"] = rng.choice((0, 1, 2, 3, 4, 5, 6, 8, 9))
        return f"replicas of {one['name']} are {one['replicas']}"

    def _add_role(self, rng: random.Random, spec: Json) -> str:
        free = [name for name in ROLES if name not in _names(spec)]
        if not free or len(spec["roles"]) > 2:
            return ""
        kinds = rng.choice(("StatefulSet", "Deployment"))
        made = role(free[0], rng.choice((1, 2, 4)), image=self._new_image(), **kind(kinds))
        if rng.random() < 0.3:
            made["dependencies"] = [rng.choice(_names(spec))]
        spec["roles"].append(made)
        return f"role {free[0]} is added: {kinds}, {made['replicas']} replicas, {_image(made)}"


def _image(one: Json) -> str:
    image: str = one["template"]["spec"]["containers"][0]["image"]
    return image


def _names(spec: Json) -> list[str]:
    return [one["name"] for one in spec["roles"]]


def _rules(rng: random.Random, spec: Json) -> str:
    if not spec.get("coordination"):
        return ""
    spec["coordination"][0]["strategy"] = some_rules(rng, spec["roles"])
    return f"rules are {spec['coordination'][0]['strategy']}"


def _coordination(rng: random.Random, spec: Json) -> str:
    if spec.get("coordination"):
        gone = spec["coordination"].pop()
        return f"coordination of {gone['roles']} is taken away"
    names = _names(spec)
    if len(names) < 2:
        return ""
    chosen = rng.sample(names, rng.randint(2, len(names)))
    spec["coordination"] = [coordination(chosen, some_rules(rng, spec["roles"]))]
    return f"coordination is added: {spec['coordination'][0]}"


def _paused(_rng: random.Random, spec: Json) -> str:
    spec["paused"] = not spec.get("paused", False)
    return f"paused is {spec['paused']}"


def _remove_role(rng: random.Random, spec: Json) -> str:
    if len(spec["roles"]) < 2:
        return ""
    name = rng.choice(_names(spec))
    spec["roles"] = [one for one in spec["roles"] if one["name"] != name]
    _forget(spec, name)
    return f"role {name} is removed"


def _rename_role(rng: random.Random, spec: Json) -> str:
    free = [name for name in ROLES if name not in _names(spec)]
    if not free:
        return ""
    one = rng.choice(spec["roles"])
    old, one["name"] = one["name"], rng.choice(free)
    for each in spec.get("coordination", ()):
        each["roles"] = [one["name"] if name == old else name for name in each["roles"]]
    for each in spec["roles"]:
        each["dependencies"] = [name for name in each.get("dependencies", ()) if name != old]
    return f"role {old} is renamed to {one['name']}"


def _forget(spec: Json, name: str) -> None:
    for one in spec["roles"]:
        one["dependencies"] = [each for each in one.get("dependencies", ()) if each != name]
    for each in spec.get("coordination", ()):
        each["roles"] = [one for one in each["roles"] if one != name]
    spec["coordination"] = [one for one in spec.get("coordination", ()) if len(one["roles"]) > 1]


def _kind(rng: random.Random, spec: Json) -> str:
    one = rng.choice(spec["roles"])
    old = one.get("workload", {}).get("kind", "StatefulSet")
    new = "Deployment" if old == "StatefulSet" else "StatefulSet"
    one |= kind(new)
    return f"kind of {one['name']} is {new}"


def _min_ready(rng: random.Random, spec: Json) -> str:
    one = rng.choice(spec["roles"])
    one["minReadySeconds"] = rng.choice((0, 2, 5))
    return f"minReadySeconds of {one['name']} is {one['minReadySeconds']}"
