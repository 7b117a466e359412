"""Documents as lines of text and back: MongoDB's canonical extended JSON, which keeps every type."""

from datetime import UTC
from typing import Any

from bson import json_util
from bson.errors import BSONError
from bson.json_util import CANONICAL_JSON_OPTIONS, JSONMode, JSONOptions

READING: JSONOptions = JSONOptions(json_mode=JSONMode.CANONICAL, tz_aware=True, tzinfo=UTC)


def to_line(value: Any) -> bytes:
    """One line of UTF-8, its end included."""
    return json_util.dumps(value, json_options=CANONICAL_JSON_OPTIONS, ensure_ascii=False).encode() + b"\n"


def from_line(line: bytes) -> Any:
    """What `to_line` was given. Raises `ValueError` for a line that is none of its own."""
    try:
        return json_util.loads(line.decode(), json_options=READING)
    except (BSONError, KeyError, TypeError) as error:
        raise ValueError(f"no extended JSON: {error}") from None
