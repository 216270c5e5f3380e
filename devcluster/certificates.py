"""The cluster's certificate authority, the certificates it signs, and the token signing key."""

from __future__ import annotations

import datetime
import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
LIFETIME = datetime.timedelta(days=365)


@dataclass(frozen=True)
class KeyPair:
    certificate: Path
    key: Path


class Authority:
    """A fresh CA in `directory`; only the owner can read the files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, parents=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("devcluster-ca")
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            _builder(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.pair = self._write("ca", certificate, self._key)

    def client(self, file: str, user: str, *groups: str) -> KeyPair:
        return self._sign(file, _name(user, *groups), ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def server(self, file: str, *addresses: str) -> KeyPair:
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in SERVER_NAMES]
        alternatives += [x509.IPAddress(ipaddress.ip_address(each)) for each in addresses]
        return self._sign(file, _name(file), ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def signing_key(self, file: str) -> KeyPair:
        """A key for ServiceAccount tokens; its public half takes the place of a certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        pair = KeyPair(self._directory / f"{file}.pub", self._directory / f"{file}.key")
        _write_private(pair.certificate, public)
        _write_private(pair.key, _private_bytes(key))
        return pair

    def _sign(
        self,
        file: str,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        alternatives: list[x509.GeneralName],
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, self._name, key).add_extension(
            x509.ExtendedKeyUsage([usage]), critical=False
        )
        if alternatives:
            builder = builder.add_extension(
                x509.SubjectAlternativeName(alternatives), critical=False
            )
        return self._write(file, builder.sign(self._key, hashes.SHA256()), key)

    def _write(
        self, file: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
    ) -> KeyPair:
        pair = KeyPair(self._directory / f"{file}.crt", self._directory / f"{file}.key")
        _write_private(pair.certificate, certificate.public_bytes(serialization.Encoding.PEM))
        _write_private(pair.key, _private_bytes(key))
        return pair


def _name(common: str, *organizations: str) -> x509.Name:
    return x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
        ]
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
    )


def _private_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _write_private(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
