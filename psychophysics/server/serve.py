"""`hms study serve`: a frozen study on a port of this machine, until Ctrl-C."""

import ipaddress
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from psychophysics.errors import PageError, StudyError
from psychophysics.page_build import built_page
from psychophysics.server.app import make_app
from psychophysics.server.assignment import standing
from psychophysics.server.keys import Secrets, read_secrets
from psychophysics.server.limits import Limits
from psychophysics.server.running import RESERVED_SECONDS, RunningStudy
from psychophysics.server.store.contract import AnswerStore
from psychophysics.server.store.opening import open_answers
from psychophysics.stimuli.freeze import open_frozen
from psychophysics.study_folder import StudyFolder
from search.errors import UsageError
from search.listening import resolved, why_not_bound

PROLIFIC = "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
ANYWHERE = ("0.0.0.0", "::")
FAREWELL_SECONDS = 5
IDLE_SECONDS = 75  # a page is silent for as long as a person looks at a trial


@dataclass(frozen=True)
class ServeOptions:
    """How a study is served.

    Attributes:
        host, port: to listen on; port 0: any that is free.
        public_url: the address that participants open, where a reverse proxy stands before the server.
        store: see `open_answers`.
        reservation: how long a place is kept for somebody who is not seen any more, seconds.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    public_url: str | None = None
    store: str | None = None
    reservation: float = RESERVED_SECONDS


def serve_study(folder: StudyFolder, options: ServeOptions, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM, which end in KeyboardInterrupt once requests under way are answered.

    Args:
        folder: of the study.
        options: how.
        say: prints a line.

    Raises:
        StimuliError: the study is not frozen, or its files are not those that were frozen.
        UsageError: the port is taken, or a wrong address.
        StoreError: the store cannot be used.
    """
    frozen, manifest = open_frozen(folder)
    page, why_none = _page()
    folder.taken.mkdir(exist_ok=True)
    with _listening(options.host, options.port) as listener:
        _refuse_other_store(folder, options.store)
        store = open_answers(folder, frozen, options.store)
        try:
            secrets = _secrets(folder, store)
            study = RunningStudy(folder, frozen, manifest, store, secrets, options.reservation)
            url = _url(options, listener)
            study.verdicts.update(store, store.participants())  # not while the first newcomer waits
            folder.store.write_text(_kind(options.store) + "\n", encoding="utf-8")
            for line in _told(study, url):
                say(line)
            if why_none:
                say(why_none)
            if options.public_url is None and not ipaddress.ip_address(listener.getsockname()[0]).is_loopback:
                say("others can reach this port, and the connection is not encrypted: see docs/howto/study_server.md")
            say("Ctrl-C ends this; nothing that was answered is lost")
            for number in (signal.SIGTERM, signal.SIGHUP):  # uvicorn raises again what it was ended by
                signal.signal(number, signal.default_int_handler)
            limits = Limits.of_rehearsal() if folder.rehearsal else Limits()
            uvicorn.Server(uvicorn_config(make_app(study, page, limits))).run(sockets=[listener])
            raise StudyError("the server ended by itself; its last lines say why")
        finally:
            store.close()


def uvicorn_config(app: FastAPI) -> uvicorn.Config:
    """No log of requests, which would hold addresses; behind a proxy on this machine the sender is whom it names."""
    return uvicorn.Config(
        app,
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=FAREWELL_SECONDS,
    )


def _kind(store: str | None) -> str:
    return "SQLite" if store is None else "MongoDB"


def _refuse_other_store(folder: StudyFolder, store: str | None) -> None:
    """In another store nobody would be known: people could not go on, and could take part twice."""
    before = folder.store.read_text(encoding="utf-8").strip() if folder.store.is_file() else _kind(store)
    if before != _kind(store):
        option = "without --store" if before == "SQLite" else "with --store URI or --store FILE"
        raise UsageError(
            f"the answers of this study lie in {before}, not in {_kind(store)}. Next: the same command {option}; "
            f"or remove {folder.store}, if none of those answers count"
        )


def _secrets(folder: StudyFolder, store: AnswerStore) -> Secrets:
    secrets = read_secrets(folder.secrets)
    if not store.knows(secrets.fingerprint):
        raise StudyError(
            f"{folder.secrets} is not the file with which this study began: with other keys nobody could go on or "
            "withdraw, and people could take part twice. Next: restore it from a copy"
        )
    return secrets


def _listening(host: str, port: int) -> socket.socket:
    family, address = resolved(host, port)
    # With the protocol named, asyncio switches Nagle's algorithm off; else every answer waits 40 ms for an ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(256)
    except (OSError, OverflowError) as error:
        listener.close()
        raise UsageError(why_not_bound(host, port, error)) from None
    return listener


def _url(options: ServeOptions, listener: socket.socket) -> str:
    if options.public_url is None:
        host = socket.gethostname() if options.host in ANYWHERE else options.host
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{listener.getsockname()[1]}"
    if not options.public_url.startswith(("https://", "http://")):
        raise UsageError(
            f"--public-url is {options.public_url!r}: it begins with https://, such as https://study.lab.org"
        )
    return options.public_url.rstrip("/")


def _page() -> tuple[Path | None, str | None]:
    """The built page; or None and why there is none: the other addresses work without it."""
    try:
        return built_page(), None
    except PageError as error:
        return None, str(error)


def _told(study: RunningStudy, url: str) -> list[str]:
    design, kind = study.config.design, study.config.recruitment.kind
    count = len(design.conditions) * design.sets * design.participants_per_cell
    people = study.store.participants()
    filled = sum(standing(who, study.verdicts.accepted, study.now(), study.reservation) == "accepted" for who in people)
    lines = [
        f"`{study.frozen.study}`, frozen as {study.frozen.sha256[:12]}, {count} places, {filled} filled; "
        f"answers: {study.store}"
    ]
    if study.folder.rehearsal:
        lines.append("a rehearsal: its answers are kept apart from those of the study, and are not for publication")
    lines.append(f"participants: {url}/" + (PROLIFIC if kind == "prolific" else ""))
    lines.append(f"withdrawal:   {url}/withdraw")
    return [*lines, f"admin:        {url}/admin#token={study.secrets.admin_token}"]
