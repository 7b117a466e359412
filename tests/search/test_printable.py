"""What stands in a database must not steer a terminal."""

import pytest

from search.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\tand\nlines, HMS ρ = 0.1", "plain\tand\nlines, HMS ρ = 0.1"),
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("title\x1b]0;x\x07", r"title\x1b]0;x\x07"),
        ("back\rover", r"back\rover"),
        ("undecodable \udcff", r"undecodable \udcff"),
    ],
)
def test_control_characters_are_shown_not_sent(text: str, shown: str) -> None:
    assert printable(text) == shown
