"""Registered webhooks: what the API server asks before it stores.

The registrations are objects of the API, as on a real server. A webhook is called while its
registration is there, also if nothing answers at its address: then its failurePolicy decides.
"""

from collections.abc import Mapping
from functools import partial

import msgspec

from intact.operator.webhook.server import Handler
from intact.sandbox.api.admission import Hook, Rule
from intact.sandbox.api.failures import internal_error
from intact.sandbox.api.objects import Json
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.match_conditions import CONDITIONS

_GROUP = "admissionregistration.k8s.io"


def address_of(client_config: Json) -> str:
    """Where a webhook is called."""
    service = client_config.get("service")
    if service is None:
        url: str = client_config["url"]
        return url
    port, path = service.get("port", 443), service.get("path", "")
    return f"https://{service['name']}.{service['namespace']}.svc:{port}{path}"


class Webhooks:
    def __init__(self, api: MemoryApi) -> None:
        self._api = api
        self._handlers: dict[str, Handler] = {}
        self._hooks: dict[tuple[bool, str], list[Hook]] = {}
        api.follow(f"mutatingwebhookconfigurations.{_GROUP}", partial(self._changed, True))
        api.follow(f"validatingwebhookconfigurations.{_GROUP}", partial(self._changed, False))

    def serve(self, handlers: Mapping[str, Handler]) -> None:
        """Answer at these addresses."""
        self._handlers.update(handlers)

    def close(self, handlers: Mapping[str, Handler]) -> None:
        """Answer at these addresses no more."""
        for address in handlers:
            del self._handlers[address]

    def _changed(self, mutating: bool, old: Json | None, new: Json | None) -> None:
        obj = new or old
        assert obj is not None
        key = mutating, obj["metadata"]["name"]
        for hook in self._hooks.pop(key, ()):
            self._api.withdraw(hook)
        if new is not None:
            webhooks = new.get("webhooks") or ()
            self._hooks[key] = [self._register(mutating, webhook) for webhook in webhooks]

    def _register(self, mutating: bool, webhook: Json) -> Hook:
        address = address_of(webhook["clientConfig"])
        fail_open = webhook["failurePolicy"] == "Ignore"
        names = [each["name"] for each in webhook.get("matchConditions") or ()]

        def matches(request: Json) -> bool:
            for name in names:
                if name not in CONDITIONS:
                    if fail_open:
                        return False
                    raise internal_error(
                        f'the sandbox does not know the match condition "{name}" of the webhook '
                        f'"{webhook["name"]}"'
                    )
                if not CONDITIONS[name](request):
                    return False
            return True

        async def call(request: Json) -> Json:
            handler = self._handlers.get(address)
            if handler is None:
                raise ConnectionRefusedError(f'Post "{address}": connect: connection refused')
            answer: Json = msgspec.to_builtins(
                await handler(msgspec.Raw(msgspec.json.encode(request)))
            )
            return answer

        return self._api.admit(
            webhook["name"],
            call,
            [_rule(each) for each in webhook["rules"]],
            mutating=mutating,
            object_selector=webhook["objectSelector"],
            namespace_selector=webhook["namespaceSelector"],
            condition=matches if names else None,
            fail_open=fail_open,
            timeout=webhook["timeoutSeconds"],
        )


def _rule(rule: Json) -> Rule:
    return Rule(
        tuple(rule["resources"]),
        tuple(rule["operations"]),
        tuple(rule["apiGroups"]),
        tuple(rule["apiVersions"]),
    )
