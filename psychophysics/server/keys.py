"""The study server's secrets, and what is made with them: session tokens, pseudonyms, withdrawal codes, image names.

They lie in `secrets.json` of the study's folder, so that tokens and codes hold when the server starts again. Who has
only the store of answers can make none of these, and cannot link a recruiter's id to answers.
"""

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from psychophysics.errors import StudyError
from search.mongod.folder import write_private

_ALPHABET = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789ABCDEFGHJKMNPQRSTVWXYZ")  # none alike


@dataclass(frozen=True)
class Secrets:
    """`key` signs and names, `salt` is that of recruiters' hashes, `admin_token` opens the admin page."""

    key: str = field(repr=False)
    salt: str = field(repr=False)
    admin_token: str = field(repr=False)

    def token(self, participant: str) -> str:
        """The session token of a participant: always the same, so that a page may begin again with it."""
        return f"{participant}.{self._made('token', participant, 24)}"

    def participant_of(self, token: str) -> str | None:
        """Whose token this is; None: nobody's."""
        participant = token.partition(".")[0]
        return participant if _same(self.token(participant), token) else None

    def pseudonym(self, who: str) -> str:
        """The pseudonym of a recruiter's id or a page's request: random to all who lack the key."""
        return self._digest("pseudonym", who).hex()[:32]

    def recruiter_hash(self, recruiter: str) -> str:
        """The salted hash by which a recruiter's id is known again."""
        return hashlib.sha256(f"{self.salt}\0{recruiter}".encode()).hexdigest()

    def withdrawal_code(self, participant: str) -> str:
        """16 characters, such as `7K2M-...`, that erase a participant's answers: 80 bits."""
        text = base64.b32encode(self._digest("withdrawal", participant)[:10]).decode().translate(_ALPHABET)
        return "-".join(text[i : i + 4] for i in range(0, 16, 4))

    def withdrawal_hash(self, code: str) -> str:
        """By which a code is known; small letters, spaces, O for 0, I and L for 1 are forgiven."""
        plain = "".join(letter for letter in code.upper() if letter.isalnum())
        return self._made("code", plain.replace("O", "0").replace("I", "1").replace("L", "1"), 32)

    def image_name(self, file: str) -> str:
        """The name of a picture for browsers; it tells nothing about the picture."""
        return self._digest("image", file).hex()[:24]

    @property
    def fingerprint(self) -> str:
        """By which a store knows the secrets with which its participants joined."""
        return self._digest("fingerprint", self.salt).hex()

    def is_admin(self, token: str) -> bool:
        """Whether this is the admin token."""
        return _same(self.admin_token, token)

    def _digest(self, purpose: str, text: str) -> bytes:
        return hmac.digest(self.key.encode(), f"{purpose}\0{text}".encode("utf-8", "replace"), "sha256")

    def _made(self, purpose: str, text: str, length: int) -> str:
        return base64.urlsafe_b64encode(self._digest(purpose, text)).decode().rstrip("=")[:length]


def _same(one: str, other: str) -> bool:
    """In a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def read_secrets(path: Path) -> Secrets:
    """The secrets of a study, from a file that only its owner can read; made when the first server starts.

    Raises:
        StudyError: the file is damaged, or others can read it.
    """
    if not path.exists():
        made = Secrets(*(secrets.token_urlsafe(32) for _ in range(3)))
        write_private(path, json.dumps(asdict(made), indent=1))
        return made
    if mode := path.stat().st_mode & 0o077:
        raise StudyError(f"{path} can be read by others (mode {mode:03o} for them). Next: chmod 600 {path}")
    try:
        return Secrets(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise StudyError(f"{path} is damaged. Next: restore it from a copy") from None
