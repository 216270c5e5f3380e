"""The CA that the API server trusts for the webhooks: when it ends, and whether it is the one in
Intact's Secret."""

import base64
import binascii
from datetime import datetime, timedelta

from cryptography import x509

from intact.cli.check.installation.found import Found
from intact.cli.check.installation.line import Line, fail, ok, skip, warn
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.operator.webhook.certificates import SECRET, SECRETS

NAME = "certificate"
SOON = timedelta(days=60)
"""Intact renews its CA a third of a year before its end."""
_BUNDLE = "ca.crt"


async def certificate(client: Client, found: Found, now: datetime) -> Line:
    bundles = {(each.get("clientConfig") or {}).get("caBundle") or "" for each in found.webhooks}
    if not bundles:
        return skip(NAME, "no webhook is registered")
    if len(bundles) > 1:
        return warn(NAME, "the webhooks are registered with several CAs: the leader corrects it")
    bundle = bundles.pop()
    try:
        pem = base64.b64decode(bundle)
        ends = max(ca.not_valid_after_utc for ca in x509.load_pem_x509_certificates(pem))
    except (binascii.Error, ValueError):
        return fail(NAME, "the caBundle of the webhooks is no certificate")
    line = judge(ends, now)
    try:
        secret = await client.get(SECRETS, SECRET, found.namespace)
    except KubeError:
        return line
    stored = secret.data.get(_BUNDLE)
    if stored is not None and stored != bundle:
        message = f"the webhooks trust another CA than the Secret {found.namespace}/{SECRET} has"
        return fail(NAME, f"{message}: the leader corrects it")
    return line


def judge(ends: datetime, now: datetime) -> Line:
    told = f"the CA is valid until {ends:%Y-%m-%d}"
    if ends <= now:
        return fail(NAME, f"{told}: the API server trusts no replica")
    if ends - now < SOON:
        return warn(NAME, f"{told}, and should have been renewed")
    return ok(NAME, told)
