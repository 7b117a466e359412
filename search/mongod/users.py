"""Who uses the embedded server: processes by pid and start time, so that a killed one does not count."""

import json
import secrets
from pathlib import Path

from search.mongod.folder import write_private
from search.process_identity import ProcessIdentity


class Users:
    """The register of live users, one entry a `with` block; the caller holds the folder's lock."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self) -> str:
        """Enter the running process; returns the ticket that `remove` takes."""
        ticket = secrets.token_hex(8)
        self._write({**self.live(), ticket: ProcessIdentity.current()})
        return ticket

    def remove(self, ticket: str) -> int:
        """Strike a ticket out; returns how many users live on."""
        remaining = {key: user for key, user in self.live().items() if key != ticket}
        if remaining:
            self._write(remaining)
        else:
            # Not rewritten: the last user must be able to leave on a full disk too.
            self._path.unlink(missing_ok=True)
        return len(remaining)

    def live(self) -> dict[str, ProcessIdentity]:
        """Ticket -> process, without the dead."""
        stored = json.loads(self._path.read_text()) if self._path.exists() else {}
        users = {ticket: ProcessIdentity.from_dict(fields) for ticket, fields in stored.items()}
        return {ticket: user for ticket, user in users.items() if user is not None and user.alive()}

    def _write(self, users: dict[str, ProcessIdentity]) -> None:
        write_private(self._path, json.dumps({ticket: user.to_dict() for ticket, user in users.items()}))
