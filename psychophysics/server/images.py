"""Pictures of a study under names that tell nothing, each compared with its hash whenever it is sent."""

import hashlib

from psychophysics.errors import StimuliError
from psychophysics.server.keys import Secrets
from psychophysics.stimuli.manifest import Manifest
from psychophysics.study_folder import StudyFolder


class Images:
    """The pictures that a manifest names."""

    def __init__(self, folder: StudyFolder, manifest: Manifest, secrets: Secrets) -> None:
        self._root = folder.root
        self._hashes = {file: sha256 for file, sha256 in manifest.files().items() if file.endswith(".png")}
        self._names = {file: secrets.image_name(file) for file in self._hashes}
        self._files = {name: file for file, name in self._names.items()}

    def url(self, file: str) -> str:
        """The address of a picture of the manifest."""
        return f"/images/{self._names[file]}.png"

    def read(self, name: str) -> bytes | None:
        """The PNG file of a name; None: there is none.

        Raises:
            StimuliError: it is missing or changed since the study was frozen.
        """
        file = self._files.get(name)
        if file is None:
            return None
        try:
            content = (self._root / file).read_bytes()
        except OSError as error:
            raise StimuliError(
                f"{self._root / file} cannot be read ({error.strerror}): restore it from a copy"
            ) from None
        if hashlib.sha256(content).hexdigest() != self._hashes[file]:
            raise StimuliError(f"{self._root / file} was changed while the study ran: restore it from a copy")
        return content
