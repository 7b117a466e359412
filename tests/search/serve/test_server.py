"""The page's server over HTTP: what it answers, what it refuses, and what each answer carries."""

import gzip
import io
import json
import socket
import time

import pandas as pd
import pytest

from search.errors import UsageError
from search.export import epochs_table, trials_table
from search.serve.server import LiveServer
from search.store import new_job_document

PATHS = ("/", "/plotly.js", "/web/main.js", "/web/style.css", "/api/changes", "/log/0", "/download/trials.csv", "/none")


@pytest.fixture
def page(search, serve):
    with serve(search) as page:
        yield page


def changes(page, since=""):
    answer = page.get(f"/api/changes?since={since}")
    assert answer.status == 200
    return json.loads(answer.body)


def test_changes_are_whole_at_first_and_then_only_what_changed(page, search):
    first = changes(page)
    assert first["whole"] and [trial["tid"] for trial in first["trials"]] == list(range(6))
    assert first["curves"]["1"]["hms"][:2] == [0.1, 0.15000000000000002] and first["curves"]["5"]["epoch"] == []
    summary = first["summary"]
    assert summary["counts"] == {"NEW": 2, "RUNNING": 1, "DONE": 2, "ERROR": 1, "CANCEL": 0}
    assert (summary["planned"], summary["finished"], summary["driver"]) == (6, False, None)
    assert [(worker["condition"], worker["tid"]) for worker in summary["workers"]] == [("works", 3)]
    assert summary["command"] == "hms run x.yaml --name s" and summary["troubles"] == [
        "trial 2: ValueError: <b>no</b> such layer"
    ]

    nothing = changes(page, first["revision"])
    assert not nothing["whole"] and nothing["trials"] == [] and nothing["curves"] == {}
    job = search.reserve("s", {"host": "h", "pid": 1})
    search.record(job, 0, {"hms": 0.5})
    time.sleep(1.1)  # the store is asked once a second at most
    news = changes(page, first["revision"])
    assert [trial["tid"] for trial in news["trials"]] == [4] and news["curves"]["4"]["hms"] == [0.5]
    # A revision of another server, as after a restart, is none of this one's.
    endless = f"{first['revision']}{'0' * 5000}"
    assert all(changes(page, since)["whole"] for since in ("other.1", "5", "x.y", f"{first['revision']}0", endless))


def test_a_tab_of_a_search_that_was_made_again_under_its_name_gets_all_of_the_new_one(page, search):
    first = changes(page)
    config = dict(search.search("s")["config"])
    search.remove_search("s")
    search.create_or_resume("s", config=config, hashes={"space": "a", "training": "b"}, provenance={})
    search.insert([new_job_document("s", 0, params={"lr": 1.0}, seed=0)])
    time.sleep(1.1)
    news = changes(page, first["revision"])
    assert news["whole"] and [trial["tid"] for trial in news["trials"]] == [0] and list(news["curves"]) == ["0"]
    assert not changes(page, news["revision"])["whole"]


def test_every_answer_carries_its_protection(page):
    for path in PATHS:
        headers = page.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], path
        assert headers["Server"] == "hms" and "Set-Cookie" not in headers
    policy = page.get("/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy


def test_equal_answers_are_not_sent_again_and_texts_are_packed(page):
    plain = page.get("/web/main.js")
    again = page.get("/web/main.js", If_None_Match=f'"x", W/{plain.headers["ETag"]}')
    assert (again.status, again.body) == (304, b"")
    packed = page.get("/plotly.js", Accept_Encoding="gzip, br")
    assert packed.headers["Content-Encoding"] == "gzip" and len(packed.body) < 2_000_000
    assert gzip.decompress(packed.body) == page.get("/plotly.js").body
    head = page.get("/web/main.js", method="HEAD")
    assert head.body == b"" and head.headers["Content-Length"] == plain.headers["Content-Length"]


def test_nothing_can_be_written(page):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"):
        answer = page.get("/api/changes", method=method)
        assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD", method


def test_no_path_leads_out(page):
    for path in (
        *("/../../etc/passwd", "/web/../page.py", "/web/%2e%2e/page.py", "/web/..%2fpage.py", "/web/page.html.j2"),
        *("/report/../report.html", "/report/%2e%2e/tables/trials.csv", "/report//etc/passwd", "/log/../0", "/log/x"),
        *("/download/../trials.csv", "/download/jobs.csv", "/web/", "/web/none.js"),
    ):
        assert page.get(path).status == 404, path


def test_what_is_no_request_is_answered_and_harms_nothing(page):
    for line in (b"GET\r\n\r\n", b"GET /%ff HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\r\n\r\n"):
        with socket.create_connection((page.server.address, page.server.port), timeout=10) as connection:
            connection.sendall(line)
            assert connection.recv(65536).startswith(b"HTTP/1.1 400 "), line
        assert page.get("/").status == 200


def test_another_name_or_another_site_sees_nothing(page):
    for path in PATHS:
        assert page.get(path, Host="evil.example").status == 421
        if path != "/":
            assert page.get(path, Sec_Fetch_Site="cross-site").status == 403
    assert page.get("/", Sec_Fetch_Site="cross-site").status == 200  # a link in a mail


def test_without_the_token_nothing_is_shown_and_its_cookie_stands_for_it(search, serve):
    with serve(search, token=True) as page:
        for path in (*PATHS, "/report", "/?token=", "/?token=wrong"):
            answer = page.get(path)
            assert (
                answer.status == 401
                and b"?token=" in answer.body
                and page.server.guard.token.encode() not in answer.body
            )
        first = page.get(f"/?token={page.server.guard.token}")
        assert first.status == 200
        cookie, *flags = first.headers["Set-Cookie"].split("; ")
        assert {"HttpOnly", "SameSite=Strict"} <= set(flags)
        for path in PATHS[:-1]:
            answer = page.get(path, Cookie=f"theirs=1; {cookie}")
            assert answer.status == 200 and "Set-Cookie" not in answer.headers


def test_tables_are_those_of_the_export_as_far_as_they_are_asked_for(page, search):
    for which, table in (("trials", trials_table), ("epochs", epochs_table)):
        whole = page.get(f"/download/{which}.csv")
        assert f'filename="{which}.csv"' in whole.headers["Content-Disposition"]
        assert whole.body.decode() == table(search, "s").to_csv(index=False)
        some = pd.read_csv(io.BytesIO(page.get(f"/download/{which}.csv?tid=1,3-5").body))
        assert set(some["tid"]) == ({1, 3, 4, 5} if which == "trials" else {1, 3})
        assert len(page.get(f"/download/{which}.csv?tid=").body.splitlines()) == 1
    assert page.get("/download/trials.csv?tid=1-x").status == 400


def test_a_log_is_shown_as_text_with_its_attempts_and_error(page, search, tmp_path):
    folder = tmp_path / "results" / "s" / "trials" / "000002"
    folder.mkdir(parents=True)
    (folder / "log.txt").write_text("epoch 5\n<script>alert(1)</script>\n")
    answer = page.get("/log/2")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    lines = answer.body.decode().splitlines()
    assert "<script>alert(1)</script>" in lines and "ValueError: no such layer" in lines
    assert "not on this machine" in page.get("/log/0").body.decode()
    assert "has no trial 77" in page.get("/log/77").body.decode()


def made(page, where):
    """What stands at the address of a report once it was made, or could not be."""
    deadline = time.monotonic() + 120
    while b'http-equiv="refresh"' in (answer := page.get(where)).body:
        assert time.monotonic() < deadline
        time.sleep(0.3)
    return answer


def test_the_report_is_made_when_it_is_asked_for(page, search, tmp_path):
    logs = tmp_path / "results" / "s" / "trials" / "000001"
    logs.mkdir(parents=True)
    (logs / "log.txt").write_text("what trial 1 said\n")
    assert page.get("/report/report.html").status == 404
    for number in ("1", "7", "9" * 5000):  # of a server before this one
        assert page.get(f"/report/wait?number={number}").headers["Location"] == "/report"
    first = page.get("/report")
    assert first.status == 303 and page.get("/report").headers["Location"] == first.headers["Location"]
    waiting = page.get(first.headers["Location"])
    assert waiting.status == 200 and b'http-equiv="refresh"' in waiting.body
    answer = made(page, first.headers["Location"])
    assert answer.headers.get("Location") == "/report/report.html", answer.body
    report = page.get("/report/report.html")
    assert report.status == 200 and b"<title>s" in report.body
    assert "script-src 'unsafe-inline'" in report.headers["Content-Security-Policy"]
    assert "connect-src" not in report.headers["Content-Security-Policy"]
    assert page.get("/report/tables/trials.csv").headers["Content-Type"].startswith("text/csv")
    assert b"what trial 1 said" in page.get("/report/trials/000001.html").body

    # One that cannot be made leaves the one before.
    search.remove_search("s")
    second = page.get("/report").headers["Location"]
    assert second != first.headers["Location"]
    failed = made(page, second)
    assert failed.status == 200 and b"no newer report" in failed.body and b"no search named" in failed.body
    assert page.get("/report/report.html").body == report.body and (logs / "log.txt").is_file()


def test_a_page_of_2000_trials_costs_little(store, serve):
    config = {"search": {"name": "s", "max_trials": 2000}}
    store.create_or_resume("s", config=config, hashes={"space": "a", "training": "b"}, provenance={})
    store.insert(new_job_document("s", tid, params={"lr": tid / 1000}, seed=tid) for tid in range(2000))
    rows = [
        {"exp_key": "s", "tid": tid, "epoch": epoch, "hms": epoch / 300, "mse": 0.01, "accuracy": 0.3}
        for tid in range(2000)
        for epoch in range(0, 150, 5)
    ]
    store._metrics.insert_many(rows)
    with serve(store) as page:
        whole = page.get("/api/changes", Accept_Encoding="gzip")
        assert len(whole.body) < 1_000_000
        answer = json.loads(gzip.decompress(whole.body))
        assert len(answer["trials"]) == 2000 and len(answer["curves"]["1999"]["hms"]) == 30
        job = store.reserve("s", {"host": "h", "pid": 1})
        store.heartbeat(job, {"epoch": 1})
        time.sleep(1.1)
        began = time.monotonic()
        news = page.get(f"/api/changes?since={answer['revision']}")
        assert time.monotonic() - began < 1.0
        assert len(news.body) < 3000 and [trial["tid"] for trial in json.loads(news.body)["trials"]] == [job.tid]


def test_an_address_that_cannot_be_had_is_named_with_what_to_do():
    with LiveServer("127.0.0.1", 0) as taken, pytest.raises(UsageError, match=f" is taken .*--port {taken.port + 1}"):
        LiveServer("127.0.0.1", taken.port)
    with pytest.raises(UsageError, match="no address of this machine"):
        LiveServer("192.0.2.1", 0)
    with pytest.raises(UsageError, match="--host is 'no such host'"):
        LiveServer("no such host", 0)


def test_ipv6_works_where_the_machine_has_it(search, serve):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    with serve(search, host="::1") as page:
        assert page.server.guard.token is None and page.get("/").status == 200
