"""Listening on an address, with a message for people where that cannot be."""

import os
import ssl

from aiohttp import web

from intact.operator.errors import StartError


async def listen(
    runner: web.AppRunner,
    host: str,
    port: int,
    *,
    context: ssl.SSLContext | None = None,
    shared: bool = False,
) -> list[str]:
    """Returns the addresses, as port 0 takes any that is free. A shared port may be listened on by
    several processes, among which the kernel spreads connections."""
    site = web.TCPSite(runner, host, port, ssl_context=context, reuse_port=shared or None)
    try:
        await site.start()
    except OSError as error:
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else str(error)
        raise StartError(f"cannot listen on {host}:{port}: {reason}") from error
    return [f"{address[0]}:{address[1]}" for address in runner.addresses]
