"""A CA for clients of the webhooks, and their certificates."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from intact.operator.webhook.authority import new_authority


class ClientAuthority:
    def __init__(self) -> None:
        [self._ca] = new_authority(datetime.now(UTC)).cas
        self.certificate = self._ca.certificate

    def pair(self, file: Path) -> Path:
        """A certificate and its key, in this file."""
        issuer = x509.load_pem_x509_certificate(self._ca.certificate)
        signer = serialization.load_pem_private_key(self._ca.key, None)
        assert isinstance(signer, ec.EllipticCurvePrivateKey)
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kube-apiserver")])
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder(
                issuer.subject,
                name,
                key.public_key(),
                x509.random_serial_number(),
                now - timedelta(minutes=5),
                now + timedelta(days=1),
            )
            .add_extension(x509.ExtendedKeyUsage([x509.OID_CLIENT_AUTH]), critical=False)
            .sign(signer, hashes.SHA256())
        )
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
        return file
