"""The CA whose clients may send reviews, from a file that may change."""

import logging
import ssl
from pathlib import Path

from intact.operator.errors import StartError

log = logging.getLogger(__name__)


class ClientCa:
    def __init__(self, file: str) -> None:
        """Raises `StartError` if the file cannot be used."""
        self._file = Path(file)
        self.error: str | None = None
        """Why the file cannot be used now; what it had before holds."""
        try:
            self.pem = self._read()
        except (OSError, ValueError) as error:
            raise StartError(f"--webhook-client-ca {file}: {error}") from error

    def reload(self) -> bool:
        """Look at the file again. Returns whether there is another CA in it."""
        try:
            found = self._read()
        except (OSError, ValueError) as error:
            if self.error != str(error):
                log.warning("%s cannot be used, the CA that was in it holds: %s", self._file, error)
            self.error = str(error)
            return False
        changed, self.error = found != self.pem, None
        self.pem = found
        return changed

    def require(self, context: ssl.SSLContext) -> None:
        """Let only clients in that have a certificate of this CA."""
        context.load_verify_locations(cadata=self.pem)
        context.verify_mode = ssl.CERT_REQUIRED

    def _read(self) -> str:
        pem = self._file.read_text()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_verify_locations(cadata=pem)  # an SSLError is an OSError
        if not context.get_ca_certs():
            raise ValueError("no certificate of a CA in it")
        return pem
