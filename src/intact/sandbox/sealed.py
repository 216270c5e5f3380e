"""An event loop without an outside: no sockets, threads, processes or signals."""

import asyncio
from typing import Any, NoReturn


def _refuse(_loop: asyncio.AbstractEventLoop, *_args: Any, **_options: Any) -> NoReturn:
    raise NotImplementedError("a simulated loop has no sockets, threads, processes or signals")


_no_outside: Any = _refuse


class SealedLoop(asyncio.AbstractEventLoop):
    add_reader = _no_outside
    remove_reader = _no_outside
    add_writer = _no_outside
    remove_writer = _no_outside
    add_signal_handler = _no_outside
    remove_signal_handler = _no_outside
    call_soon_threadsafe = _no_outside
    run_in_executor = _no_outside
    set_default_executor = _no_outside
    getaddrinfo = _no_outside
    getnameinfo = _no_outside
    connect_accepted_socket = _no_outside
    connect_read_pipe = _no_outside
    connect_write_pipe = _no_outside
    create_connection = _no_outside
    create_datagram_endpoint = _no_outside
    create_server = _no_outside
    create_unix_connection = _no_outside
    create_unix_server = _no_outside
    sendfile = _no_outside
    sock_accept = _no_outside
    sock_connect = _no_outside
    sock_recv = _no_outside
    sock_recv_into = _no_outside
    sock_recvfrom = _no_outside
    sock_recvfrom_into = _no_outside
    sock_sendall = _no_outside
    sock_sendfile = _no_outside
    sock_sendto = _no_outside
    start_tls = _no_outside
    subprocess_exec = _no_outside
    subprocess_shell = _no_outside
    set_task_factory = _no_outside
