"""The HTTP server: what is asked for is let in by `guard`, answered by `site`, and sent with care for its headers."""

import sys
import traceback
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from search.errors import HmsError, UsageError
from search.listening import resolved, why_not_bound
from search.serve.guard import HEADERS, Guard, from_another_site
from search.serve.response import Response, text
from search.serve.site import Site

IDLE_SECONDS = 60.0
GONE = (ConnectionError, TimeoutError)
NO_TOKEN = "this page asks for its token: open the whole address that `hms serve` printed, with ?token=... at its end"
NO_SCRIPT = "default-src 'none'; frame-ancestors 'none'"


class LiveServer(ThreadingMixIn, TCPServer):
    """A thread a connection. `guard` and `site` are given before it serves."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    guard: Guard
    site: Site

    def __init__(self, host: str, port: int) -> None:
        """Bind to an address. Raises `UsageError` where that cannot be, with what to do."""
        self.address_family, address = resolved(host, port)
        try:
            super().__init__(cast(Any, address[:2]), Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(why_not_bound(host, port, error)) from None

    @property
    def address(self) -> str:
        """The address that it listens on."""
        return str(self.server_address[0])

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away in the middle is no error."""
        if not isinstance(sys.exception(), GONE):
            traceback.print_exc()


class Handler(BaseHTTPRequestHandler):
    """Only reads: GET and HEAD."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS

    def parse_request(self) -> bool:
        """See the base class; other methods are refused here."""
        if not super().parse_request():
            return False
        if self.command in ("GET", "HEAD"):
            return True
        self.close_connection = True  # what follows may be the body of the request
        self._send(Response(405, text("").type, b"this page can only be read\n", {"Allow": "GET, HEAD"}))
        return False

    def do_GET(self) -> None:
        """Answer."""
        try:
            self._send(self._answer())
        except GONE:
            self.close_connection = True

    def do_HEAD(self) -> None:
        """Answer, without the body."""
        self.do_GET()

    def _answer(self) -> Response:
        guard, site = cast(LiveServer, self.server).guard, cast(LiveServer, self.server).site
        if not guard.known_host(self.headers.get("Host")):
            return text("this address is not one of the machine that shows the page", 421)
        try:
            parts = urlsplit(self.path)
            path, query = unquote(parts.path, errors="strict"), parse_qs(parts.query, True)
        except ValueError:
            return text("this is no address", 400)
        if path != "/" and from_another_site(self.headers.get("Sec-Fetch-Site")):
            return text("another site asks for this", 403)
        tokens = query.get("token", [])
        if not guard.admits(tokens, self.headers.get_all("Cookie", [])):
            return text(NO_TOKEN, 401)
        try:
            response = site.answer(path, {key: values[-1] for key, values in query.items()})
        except HmsError as error:
            return text(str(error), 503)
        except Exception:
            traceback.print_exc()
            return text("an error of the program, which `hms serve` printed where it runs", 500)
        if tokens and guard.token is not None:
            response.headers = {**response.headers, "Set-Cookie": guard.cookie()}
        return response

    def _send(self, response: Response) -> None:
        """Headers and body; packed, or nothing, where the browser has the same already."""
        known = [tag.strip().removeprefix("W/") for tag in self.headers.get("If-None-Match", "").split(",")]
        unchanged = response.status == 200 and response.etag in known
        accepts = "gzip" in self.headers.get("Accept-Encoding", "")
        packed = response.packed if accepts and not unchanged else None
        body = b"" if unchanged else response.body if packed is None else packed
        self.send_response(304 if unchanged else response.status)
        headers = {"Content-Security-Policy": NO_SCRIPT, **HEADERS, **response.headers}
        if response.status == 200:
            headers |= {"ETag": response.etag, "Vary": "Accept-Encoding"}
        if not unchanged:
            headers |= {"Content-Type": response.type, "Content-Length": str(len(body))}
        if packed is not None:
            headers["Content-Encoding"] = "gzip"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def version_string(self) -> str:
        """The `Server` header: no versions."""
        return "hms"

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """A request that is none: in plain text."""
        self.close_connection, self.request_version = True, self.protocol_version
        self.command = getattr(self, "command", None) or "GET"
        if not hasattr(self, "headers"):
            self.headers = cast(Any, self.MessageClass())
        self._send(text(message or "this is no request", code))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: an address may hold the token."""
