"""Who may see the page: the address that a browser was given, a token where others can connect, no other site's page.

On the loopback address everybody on this machine may look, unless a token is asked for; bound elsewhere one always is.
A page of another site that is open in the same browser could reach the loopback address, too, by a name that it points
there (DNS rebinding) or by a plain request: names that are not this machine's are refused, and so are requests that the
browser says come from another site.
"""

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
"""Of every response."""

_COMMON = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src 'self' data: blob:"
PAGE_POLICY = f"{_COMMON}; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'"
"""plotly writes style elements."""
REPORT_POLICY = (
    f"{_COMMON}; script-src 'unsafe-inline'; style-src 'self' 'unsafe-inline'; font-src data:; media-src 'self'"
)
"""A report is one file that holds its scripts, and pages of trials that share a style; they may ask nobody else."""


class Guard:
    """Decides by a request's headers and its query; `token` is None where none is asked for.

    `host` is the name or address that the server was told to listen on, `address` and `port` where it does.
    """

    def __init__(self, host: str, address: str, port: int, *, token: bool) -> None:
        asked = token or not ipaddress.ip_address(address).is_loopback
        self.token = secrets.token_urlsafe(32) if asked else None
        self._cookie = f"hms-serve-{port}"
        self._names = {"localhost", host.lower()}
        self._machine = socket.gethostname().partition(".")[0].lower()

    def known_host(self, header: str | None) -> bool:
        """Whether a `Host` header names this machine: an address, which nobody can point elsewhere, or its name.

        The name may have any domain where a token is asked for, which a page of another site would not have.
        """
        host = (header or "").strip().lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        try:
            ipaddress.ip_address(name)
        except ValueError:
            own = self.token is not None and name.partition(".")[0] == self._machine
            return own or name.rstrip(".") in self._names
        return True

    def admits(self, given: Iterable[str], cookies: Iterable[str]) -> bool:
        """Whether one of the tokens `given` in the query, or of the `Cookie` headers, is the right one."""
        if self.token is None:
            return True
        pairs = (cookie.strip().partition("=") for header in cookies for cookie in header.split(";"))
        return any(map(self._right, (*given, *(value for name, _, value in pairs if name == self._cookie))))

    def cookie(self) -> str:
        """The `Set-Cookie` header that spares the token on the next visit, until the browser is closed."""
        return f"{self._cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"

    def _right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self.token or "").encode())


def from_another_site(fetch_site: str | None) -> bool:
    """Whether a browser says (`Sec-Fetch-Site`) that a page of another site makes the request."""
    return fetch_site not in (None, "same-origin", "none")
