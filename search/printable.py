"""Text for a terminal."""


def printable(text: str) -> str:
    """`text` with control characters shown as escapes: what stands in a database must not steer a terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else repr(c)[1:-1] for c in text)
