import socket

import pytest

from search.serve.guard import Guard, from_another_site

LOCAL = Guard("127.0.0.1", "127.0.0.1", 8080, token=False)
OPEN = Guard("0.0.0.0", "0.0.0.0", 8080, token=False)


def test_a_token_is_asked_for_wherever_others_can_connect_and_where_it_is_wanted():
    assert LOCAL.token is None and LOCAL.admits([], [])
    assert Guard("localhost", "127.0.0.1", 1, token=True).token
    tokens = {Guard(host, host, 1, token=False).token for host in ("0.0.0.0", "::", "192.168.1.7")}
    assert None not in tokens and len(tokens) == 3 and all(len(token) >= 43 for token in tokens)


def test_only_the_right_token_is_let_in_by_query_or_cookie():
    assert not OPEN.admits([], []) and not OPEN.admits(["", "x", OPEN.token[:-1], OPEN.token + "x", "ü"], [])
    assert OPEN.admits([OPEN.token], [])
    cookie, *flags = OPEN.cookie().split("; ")
    assert sorted(flags) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    # Cookies of other programs on this host, of whatever form, stand before and behind it.
    assert OPEN.admits([], [f'odd={{"a": [1]}}; =; other; {cookie}; last=1'])
    assert not OPEN.admits([], [cookie.replace("hms-serve-8080", "hms-serve-8081"), cookie[:-1]])


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9000", "127.0.0.1:1", "[::1]:8080", "192.168.1.7", "localhost."]
)
def test_names_of_this_machine_are_known(host):
    assert LOCAL.known_host(host)


@pytest.mark.parametrize("host", [None, "", "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "[", "::1]"])
def test_a_name_that_somebody_pointed_here_is_not(host):
    assert not LOCAL.known_host(host) and not OPEN.known_host(host)


def test_the_machines_own_name_counts_where_a_token_does():
    name = socket.gethostname().partition(".")[0]
    for host in (f"{name}.some.domain:80", f"{name.upper()}.other"):
        assert OPEN.known_host(host) and not LOCAL.known_host(host)
    assert not OPEN.known_host(f"{name}0.some.domain")


def test_requests_of_other_sites_are_told_by_the_browser():
    assert [from_another_site(site) for site in (None, "none", "same-origin", "same-site", "cross-site", "x")] == [
        *[False] * 3,
        *[True] * 3,
    ]
