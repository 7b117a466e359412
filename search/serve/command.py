"""`hms serve`: follow one search in a browser until Ctrl-C."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from search.paths import RunFolder
from search.place import Place, Server
from search.serve.follower import Follower
from search.serve.guard import Guard
from search.serve.report_copy import ReportCopy, Source
from search.serve.server import LiveServer
from search.serve.site import Site
from search.store import Store

ANYWHERE = ("0.0.0.0", "::")


def serve(place: Place, name: str, host: str, port: int, *, token: bool, say: Callable[[str], None]) -> None:
    """Serve the page of the search `name`; returns by KeyboardInterrupt only.

    Raises:
        UsageError, UnknownSearch: the address is taken or is none; there is no such search.
        StoreError: no store answers. One that goes away later is waited for, and the page says so.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    with LiveServer(host, port) as server, place.server() as at, Store.connect(at.uri) as store:
        server.guard = Guard(host, server.address, server.port, token=token)
        with _site(place, name, store, at) as server.site:
            say(f"`{name}` is shown at {_address(host, server.port, server.guard.token)}")
            say("Ctrl-C ends this; the search goes on")
            server.serve_forever()


@contextmanager
def _site(place: Place, name: str, store: Store, at: Server) -> Iterator[Site]:
    folder = RunFolder.of(place.results, name)
    # The embedded server is brought back where it died; what stands in the way is on the page, as the outage is.
    follower = Follower(store, name, on_outage=lambda: at.revive(lambda reason: None))
    report = ReportCopy(Source(at.uri, name, folder))
    try:
        yield Site(store, name, folder, follower, report)
    finally:
        report.close()


def _address(host: str, port: int, token: str | None) -> str:
    shown = socket.gethostname() if host in ANYWHERE else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + (f"?token={token}" if token is not None else "")
