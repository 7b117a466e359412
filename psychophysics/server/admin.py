"""The pages beside the task: /admin for the experimenter, behind a token, and /withdraw for participants."""

import gzip
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from psychophysics.server.headers import bearer
from psychophysics.server.overview import Overview

WEB = Path(__file__).parent / "web"
AGAIN = {"Cache-Control": "no-cache"}
DAY = {"Cache-Control": "private, max-age=86400"}
router = APIRouter()


def overview_of(request: Request) -> Overview:
    """That of the study that is served."""
    return request.app.state.overview


@router.get("/admin")
def admin() -> Response:
    """The page of the running study; it holds nothing before it has the token."""
    return FileResponse(WEB / "admin.html", headers=AGAIN)


@router.get("/api/admin/summary")
def summary(request: Request) -> Response:
    """What the page shows, for who has the admin token."""
    study = request.app.state.study
    if not study.secrets.is_admin(bearer(request)):
        return JSONResponse({"error": "this asks for the admin token that hms study serve printed"}, 401)
    content: dict[str, Any] = request.app.state.overview.summary(study.now())
    return JSONResponse(content)


@router.get("/withdraw")
def withdraw() -> Response:
    """Where participants take back their consent."""
    return FileResponse(WEB / "withdraw.html", headers=AGAIN)


@router.get("/web/{file}")
def web(file: str) -> Response:
    """Scripts and styles of these pages."""
    if file == "style.css":
        return Response(_style(), media_type="text/css", headers=AGAIN)
    if file == "plotly.js":
        return Response(_plotly(), media_type="text/javascript", headers={**DAY, "Content-Encoding": "gzip"})
    path = WEB / file
    if path.parent != WEB or path.suffix not in (".js", ".css") or not path.is_file():
        return JSONResponse({"error": "nothing is here"}, 404)
    return FileResponse(path, headers=AGAIN)


@cache
def _style() -> str:
    from search.report.templates import style  # the report imports what a server does not need to start

    return f"{style()}\n{(WEB / 'web.css').read_text(encoding='utf-8')}"


@cache
def _plotly() -> bytes:
    """plotly.js, packed once: every browser that runs it reads gzip."""
    from plotly.offline import get_plotlyjs

    return gzip.compress(get_plotlyjs().encode(), 6, mtime=0)
