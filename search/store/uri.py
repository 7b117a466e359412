"""MongoDB URIs: their parts, the secrets in them, and texts without those secrets. The driver alone interprets them."""

from urllib.parse import parse_qsl, unquote, unquote_plus

SCHEMES = ("mongodb://", "mongodb+srv://")
SECRET_OPTIONS = ("tlscertificatekeyfilepassword", "authmechanismproperties")


def is_uri(text: str) -> bool:
    """Whether a text begins as a MongoDB URI does."""
    return text.startswith(SCHEMES)


def user(uri: str) -> str:
    """The user of a URI, decoded; empty where none is given."""
    return unquote(_login(uri)[0])


def hosts(uri: str) -> str:
    """The hosts of a URI, as they stand there."""
    return _authority(uri).rpartition("@")[2].partition("/")[0] or "(no host)"


def options(uri: str) -> dict[str, str]:
    """The options of a URI, their names in lower case."""
    pairs = parse_qsl(uri.partition("?")[2].replace(";", "&"), keep_blank_values=True)
    return {key.lower(): value for key, value in pairs}


def holds_secret(uri: str) -> bool:
    """Whether a URI holds what nobody else may see: a password, also that of a key file, or a session token."""
    return bool(_login(uri)[1]) or stray_at(uri) or any(options(uri).get(option) for option in SECRET_OPTIONS)


def stray_at(uri: str) -> bool:
    """Whether an `@` follows a `?`, as where a password was not percent-encoded: the driver would mistake its parts."""
    return "@" in uri.partition("?")[2]


def redacted(text: str, uri: str) -> str:
    """A text in which the password of `uri`, as written or decoded, does not occur."""
    password = _login(uri)[1]
    for secret in {password, unquote(password), unquote_plus(password)} - {""}:
        text = text.replace(secret, "***")
    return text


def _authority(uri: str) -> str:
    return uri.partition("://")[2].partition("?")[0]


def _login(uri: str) -> tuple[str, str]:
    """(user, password) as they stand in the URI."""
    login = _authority(uri).rpartition("@")[0]
    name, _, password = login.partition(":")
    return name, password
