"""One answer of the page's server, and how it is packed for the browser."""

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

PACKED_FROM = 1024
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"
TYPES = {
    ".html": HTML,
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".json": JSON,
    ".tex": TEXT,
    ".txt": TEXT,
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
}
PLAIN = ("text/", "application/json", "image/svg")


@dataclass
class Response:
    """Status, type and body. One that is sent often may be kept: it is packed once."""

    status: int = 200
    type: str = TEXT
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def etag(self) -> str:
        """Equal for equal bodies."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:24]}"'

    @cached_property
    def packed(self) -> bytes | None:
        """The body by gzip; None where that is not worth it."""
        worth = len(self.body) >= PACKED_FROM and self.type.startswith(PLAIN)
        return gzip.compress(self.body, 6, mtime=0) if worth else None


def text(message: str, status: int = 200) -> Response:
    """A message for a person, in plain text."""
    return Response(status, TEXT, (message + "\n").encode("utf-8", "replace"))


def as_json(value: Any) -> Response:
    """A value as JSON."""
    return Response(200, JSON, json.dumps(value, separators=(",", ":"), allow_nan=False).encode())
