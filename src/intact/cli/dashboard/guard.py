"""Who may read the page: a browser of this machine that has the token, asked by no other page.

The server listens on loopback only. Another page of the browser can still send requests there, so
the token is in the address, and Host and Origin must be ours: a foreign name that leads to this
machine is refused.
"""

import hmac
from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def problem_of(headers: Mapping[str, str], token: str, expected: str) -> str:
    """Why a request is refused; empty if it is not."""
    host = headers.get("Host", "")
    name, _colon, port = host.rpartition(":")
    if host not in NAMES and (name not in NAMES or not port.isdecimal()):  # none is port 80
        return f"this page is not served for the host {host!r}"
    origin = headers.get("Origin")
    if origin is not None and origin != f"http://{host}":
        return f"the origin {origin!r} is another page"
    if headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return "another page has asked for this one"
    if not hmac.compare_digest(token.encode(), expected.encode()):
        return "the token is wrong: open the address that `intact dashboard` has printed"
    return ""


def guarded(expected: str) -> Middleware:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        token = request.path.partition("/")[2].partition("/")[0]  # `OPTIONS *` has none
        if problem := problem_of(request.headers, token, expected):
            return web.Response(status=403, text=f"{problem}\n", headers=HEADERS)
        if request.method not in ("GET", "HEAD"):
            text = "this page only shows: it takes no other method than GET\n"
            return web.Response(status=405, text=text, headers=HEADERS)
        try:
            return await handler(request)
        except web.HTTPException as answer:
            answer.headers.update(HEADERS)
            raise

    return guard
