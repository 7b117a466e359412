"""The addresses of the page's server and what each answers; nothing here changes the search."""

import re
import secrets
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from urllib.parse import quote

from plotly.offline import get_plotlyjs

from search.errors import HmsError
from search.logs import show_trial_log
from search.paths import RunFolder
from search.serve.follower import Follower, Moment
from search.serve.guard import PAGE_POLICY, REPORT_POLICY
from search.serve.page import WEB, render, style
from search.serve.report_copy import PAGE, ReportCopy
from search.serve.response import HTML, TYPES, Response, as_json, text
from search.serve.tids import parse_tids
from search.serve.views import summary_view
from search.store import Store

LOG_LINES = 400
NUMBER = re.compile(r"\d{1,9}")

Query = Mapping[str, str]


class Site:
    """Answers requests that were let in. Safe to use from many threads."""

    def __init__(self, store: Store, name: str, folder: RunFolder, follower: Follower, report: ReportCopy) -> None:
        self._store, self._name, self._folder = store, name, folder
        self._follower, self._report = follower, report
        self._instance = secrets.token_hex(8)
        self._exact: dict[str, Callable[[Query], Response]] = {
            "/": self._page,
            "/plotly.js": lambda query: plotly(),
            "/api/changes": self._changes,
            "/report": self._new_report,
            "/report/wait": self._wait_for_report,
        }
        self._patterns: list[tuple[re.Pattern[str], Callable[[str, Query], Response]]] = [
            (re.compile(r"/web/([a-z_]+\.(?:js|css))"), lambda file, query: _web(file)),
            (re.compile(r"/log/(\d{1,9})"), lambda tid, query: self._log(int(tid))),
            (re.compile(r"/download/(trials|epochs)\.csv"), self._table),
            (re.compile(r"/report/(.+)"), lambda file, query: self._report_file(file)),
        ]

    def answer(self, path: str, query: Query) -> Response:
        """What stands at a path of the address; 404 where nothing does."""
        if path in self._exact:
            return self._exact[path](query)
        for pattern, call in self._patterns:
            if match := pattern.fullmatch(path):
                return call(match[1], query)
        return text("nothing is here; the page is at /", 404)

    def _page(self, query: Query) -> Response:
        moment, _ = self._follower.now()
        return Response(200, HTML, render(moment.status).encode(), {"Content-Security-Policy": PAGE_POLICY})

    def _changes(self, query: Query) -> Response:
        """Trials and curves that changed after the revision `since` of this server; all for one that it never gave."""
        moment, trouble = self._follower.now()
        known = _revision(query.get("since", ""), self._instance)
        whole = known is None or not moment.begun <= known <= moment.revision
        since = 0 if known is None or whole else known
        changed = [tid for tid, revision in moment.changed.items() if revision > since]
        body = {
            "revision": f"{self._instance}.{moment.revision}",
            "whole": whole,
            "trouble": trouble,
            "age": round(self._follower.age) if trouble else 0,
            "summary": summary_view(moment.status),
        }
        return _with_texts(body, moment, changed)

    def _log(self, tid: int) -> Response:
        lines: list[str] = []
        try:
            show_trial_log(self._store, self._name, tid, self._folder, lines.append, lines=LOG_LINES)
        except (HmsError, OSError) as error:
            lines.append(str(error))
        return text("\n".join(lines))

    def _table(self, which: str, query: Query) -> Response:
        """A table as `hms export --format csv` writes it, of the trials that are named by `tid`, or all."""
        from search.export import epochs_table, trials_table

        try:
            tids = parse_tids(query["tid"]) if "tid" in query else None
        except ValueError as error:
            return text(str(error), 400)
        table = (trials_table if which == "trials" else epochs_table)(self._store, self._name)
        if tids is not None:
            table = table[table["tid"].isin(tids)]
        name = f"{self._name}-{which}.csv"
        named = f"attachment; filename=\"{which}.csv\"; filename*=UTF-8''{quote(name, safe='')}"
        return Response(200, TYPES[".csv"], table.to_csv(index=False).encode(), {"Content-Disposition": named})

    def _new_report(self, query: Query) -> Response:
        return Response(303, headers={"Location": f"/report/wait?number={self._report.request()}"})

    def _wait_for_report(self, query: Query) -> Response:
        """A page that asks again until the report is there."""
        making, built, number = self._report.making, self._report.built, query.get("number", "")
        wanted = int(number) if NUMBER.fullmatch(number) else 1
        if built is None or built.number < wanted:
            if not making:  # asked for before this server was started
                return Response(303, headers={"Location": "/report"})
            return _waiting_page("Making the report", "It takes some seconds, more for many trials.", again=True)
        if built.error is not None:
            title = "There is no newer report" if built.files else "There is no report"
            return _waiting_page(title, built.error, again=False, before=bool(built.files))
        return Response(303, headers={"Location": f"/report/{PAGE}"})

    def _report_file(self, file: str) -> Response:
        path = self._report.built.files.get(file) if self._report.built is not None else None
        try:
            body = path.read_bytes() if path is not None else None
        except FileNotFoundError:  # a newer one took its place
            body = None
        if path is None or body is None:
            return text("no such file of a report; make one: /report", 404)
        policy = {"Content-Security-Policy": REPORT_POLICY}
        return Response(200, TYPES.get(path.suffix, "application/octet-stream"), body, policy)


@cache
def plotly() -> Response:
    """plotly.js, as reports hold it; packed once."""
    return Response(200, TYPES[".js"], get_plotlyjs().encode())


def _web(file: str) -> Response:
    path = WEB / file
    if file == "style.css":
        return Response(200, TYPES[".css"], style().encode())
    if not path.is_file():
        return text("nothing is here", 404)
    return Response(200, TYPES[path.suffix], path.read_bytes())


def _with_texts(body: dict[str, object], moment: Moment, tids: list[int]) -> Response:
    """The body with the trials' and curves' ready JSON put in: it is made once a change, not once a request."""
    trials = ",".join(moment.trials[tid] for tid in tids)
    curves = ",".join(f'"{tid}":{moment.curves[tid]}' for tid in tids)
    head = as_json(body)
    head.body = head.body[:-1] + f',"trials":[{trials}],"curves":{{{curves}}}}}'.encode()
    return head


def _revision(given: str, instance: str) -> int | None:
    owner, _, number = given.partition(".")
    return int(number) if owner == instance and NUMBER.fullmatch(number) else None


def _waiting_page(title: str, message: str, *, again: bool, before: bool = False) -> Response:
    refresh = '<meta http-equiv="refresh" content="1">' if again else ""
    more = "" if again else '<p><a href="/report">Try again</a></p>'
    more += f'<p><a href="/report/{PAGE}">The report before</a></p>' if before else ""
    body = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{refresh}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="/web/style.css"></head>'
        f'<body><main class="alone"><h1>{title}</h1><p role="status">{escape(message)}</p>{more}</main></body></html>'
    )
    return Response(200, HTML, body.encode(), {"Content-Security-Policy": PAGE_POLICY})
