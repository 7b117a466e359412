import pytest

from search.serve.tids import parse_tids


def test_numbers_and_ranges():
    assert parse_tids("0-2,7") == {0, 1, 2, 7}
    assert parse_tids("") == set() and parse_tids("5-4") == set()


@pytest.mark.parametrize("text", ["x", "1-", "-1", "1;2", "1-2-3", "0-99999999", "1234567890"])
def test_anything_else_is_named(text):
    with pytest.raises(ValueError, match="tid is"):
        parse_tids(text)
