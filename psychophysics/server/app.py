"""The addresses of the study server. Each is a few lines that call `Sessions`."""

import sys
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from psychophysics.errors import StimuliError, StudyError
from psychophysics.server.admin import router as admin_router
from psychophysics.server.headers import BodyLimit, Guarded, bearer
from psychophysics.server.limits import Limits, TooMany
from psychophysics.server.overview import Overview
from psychophysics.server.requests import Events, Joining, Withdrawing
from psychophysics.server.running import RunningStudy
from psychophysics.server.sessions import Conflict, ConsentChanged, RecruiterMissing, Sessions, UnknownSession
from psychophysics.server.store.contract import AlreadyTookPart, NoPlaceFree
from psychophysics.server.views import View, study_view
from search.errors import StoreError, StoreFull

NOT_BUILT = (
    "The page of this study is not built yet. Whoever runs the server: hms study build-page, then start again.\n"
)
_ANSWERS: dict[type[Exception], tuple[int, str | None]] = {
    UnknownSession: (401, None),
    ConsentChanged: (409, "consent_changed"),
    AlreadyTookPart: (409, "took_part"),
    NoPlaceFree: (410, None),
    RecruiterMissing: (422, None),
}
_FAILURES: dict[type[Exception], tuple[int, str]] = {
    StoreFull: (507, "the server's disk is full"),
    StimuliError: (503, "an image is missing on the server"),
}
FOREVER = {"Cache-Control": "private, max-age=31536000, immutable"}


def make_app(study: RunningStudy, page: Path | None, limits: Limits | None = None) -> FastAPI:
    """The application.

    Args:
        study: that is served.
        page: folder of the built page, with `index.html` and `assets/`; None: it is not built.
        limits: of requests; None: the usual ones.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.study, app.state.sessions = study, Sessions(study)
    app.state.limits, app.state.overview = limits or Limits(), Overview(study)
    app.add_middleware(BodyLimit)
    app.add_middleware(Guarded)
    app.include_router(router)
    app.include_router(admin_router)
    _add_errors(app)
    _add_page(app, page)
    return app


def sessions_of(request: Request) -> Sessions:
    """The sessions of the study."""
    return request.app.state.sessions


def sender_of(request: Request) -> str:
    """The address of the sender, for rate limits; it is written nowhere."""
    return request.client.host if request.client else ""


def participant_of(request: Request) -> str:
    """The participant whose token the request shows."""
    identifier = sessions_of(request).study.secrets.participant_of(bearer(request))
    if identifier is None:
        raise UnknownSession("this session is not known: the token is missing or wrong")
    return identifier


Participant = Annotated[str, Depends(participant_of)]
Known = Annotated[Sessions, Depends(sessions_of)]
router = APIRouter()


@router.get("/health")
def health() -> View:
    """Whether the server answers."""
    return {"ok": True}


@router.get("/api/study")
def study(sessions: Known) -> View:
    """The study, before consent."""
    return study_view(sessions.study.config, rehearsal=sessions.study.folder.rehearsal)


@router.post("/api/sessions")
def join(joining: Joining, request: Request, response: Response, sessions: Known) -> View:
    """Consent was given: a place, or the session that was begun before."""
    request.app.state.limits.joining.take(sender_of(request))
    view, new = sessions.join(joining)
    response.status_code = 201 if new else 200
    return view


@router.get("/api/session")
def session(participant: Participant, request: Request, sessions: Known) -> View:
    """The session, to begin with or to go on."""
    request.app.state.limits.sending.take(participant)
    return sessions.view(participant)


@router.post("/api/session/events")
def send(events: Events, participant: Participant, request: Request, sessions: Known) -> View:
    """Something happened on the page."""
    request.app.state.limits.sending.take(participant)
    return sessions.send(participant, events.events)


@router.post("/api/withdraw")
def withdraw(withdrawing: Withdrawing, request: Request, sessions: Known) -> Response:
    """Erase the answers of a code."""
    request.app.state.limits.withdrawing.take(sender_of(request))
    if sessions.withdraw(withdrawing.code):
        return JSONResponse({"erased": True})
    return JSONResponse({"error": "no answers have this code"}, 404)


@router.get("/images/{name}.png")
def image(name: str, sessions: Known) -> Response:
    """A picture."""
    content = sessions.study.images.read(name)
    if content is None:
        return JSONResponse({"error": "there is no such image"}, 404)
    return Response(content, media_type="image/png", headers=FOREVER)


def _add_page(app: FastAPI, page: Path | None) -> None:
    if page is not None:
        app.mount("/assets", StaticFiles(directory=page / "assets"))

    @app.get("/")
    def index() -> Response:
        if page is None:
            return PlainTextResponse(NOT_BUILT, 503)
        return FileResponse(page / "index.html", headers={"Cache-Control": "no-cache"})


def _add_errors(app: FastAPI) -> None:
    """Our exceptions as answers: {error: words}, and what else a page needs to go on."""

    def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, Conflict):
            return JSONResponse({"error": str(error), **error.view}, 409)
        if isinstance(error, TooMany):
            return JSONResponse({"error": str(error)}, 429, {"Retry-After": str(error.retry_after)})
        status, reason = _ANSWERS.get(type(error), (500, None))
        return JSONResponse({"error": str(error), **({"reason": reason} if reason else {})}, status)

    def failed(request: Request, error: Exception) -> Response:
        """The person at the server reads why; a participant's page keeps what it could not send, and tries again."""
        print(f"hms: {request.method} {request.url.path}: {error}", file=sys.stderr, flush=True)
        status, words = _FAILURES.get(type(error), (503, "the server cannot store answers now"))
        return JSONResponse({"error": words}, status)

    def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        return JSONResponse({"error": f"{where or 'body'}: {first['msg']}"}, 422)

    def plain(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    app.add_exception_handler(StudyError, answer)
    app.add_exception_handler(StimuliError, failed)
    app.add_exception_handler(StoreError, failed)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, plain)
