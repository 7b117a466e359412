"""Where a server of this machine listens, and what to type where it cannot."""

import errno
import socket
from typing import Any

from search.errors import UsageError


def resolved(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """The family and the address of a socket for `--host` and `--port`. Raises `UsageError` for no address."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise UsageError(f"--host is {host!r}, which is no address of this machine: {error.strerror}") from None
    return family, address


def why_not_bound(host: str, port: int, error: OSError | OverflowError) -> str:
    """Why a server cannot listen there, and what to type instead."""
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return f"port {port} of {host} is taken by another program; take another: --port {port + 1}, or any: --port 0"
    if number == errno.EACCES:
        return f"port {port} is for the administrator; take one from 1024 on: --port 8080"
    if number == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine; all of its addresses: --host 0.0.0.0"
    return f"cannot listen on {host}, port {port}: {error}"
