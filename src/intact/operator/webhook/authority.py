"""The certificate authority of the webhooks, and the leaves that it signs.

An authority is a few CAs, newest first, each with its key. All of them are trusted; new leaves are
signed by the newest that has been known for long enough to be trusted everywhere. Nothing here
talks to the cluster, and time is an argument.
"""

import hashlib
import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

CA_LIFE = timedelta(days=365)
LEAF_LIFE = timedelta(hours=24)
LEAF_RENEWED_AFTER = LEAF_LIFE * 2 / 3
CA_RENEWED_AFTER = CA_LIFE * 2 / 3
TRUSTED_AFTER = timedelta(hours=1)
"""Until every API server surely has a new CA from the registration, the one before signs."""
_CLOCKS_APART = timedelta(minutes=5)
"""Certificates are valid a little before they are made: clocks differ."""
_CLOCKS_WRONG = timedelta(days=1)
"""A CA that was made so far ahead is dropped: leaves that it signs would not be valid."""
_LAST_YEAR = 9000
_LARGEST = 16 * 2**10
"""Bytes of certificates or keys. Intact's own are under 1 KiB each, and there are two or three."""
_EXTENSIONS = {
    x509.BasicConstraints.oid,
    x509.KeyUsage.oid,
    x509.SubjectKeyIdentifier.oid,
    x509.AuthorityKeyIdentifier.oid,
}
"""A CA with others, such as name constraints, may not be trusted for what it signs."""
_TOKEN = b"the path of the webhooks of Intact\n"
_PEM_KEY = re.compile(rb"-----BEGIN PRIVATE KEY-----.+?-----END PRIVATE KEY-----\n?", re.DOTALL)


class Unusable(Exception):
    """The stored authority cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Certified:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes
    made: datetime
    expires: datetime

    @property
    def token(self) -> str:
        """What only those know who may read the key. It tells nothing about the key."""
        return hashlib.sha256(_TOKEN + self.key.strip()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Authority:
    """CAs, newest first."""

    cas: tuple[Certified, ...]

    @property
    def bundle(self) -> bytes:
        """All certificates: what clients have to trust."""
        return b"".join(ca.certificate for ca in self.cas)

    @property
    def keys(self) -> bytes:
        return b"".join(ca.key for ca in self.cas)

    @property
    def tokens(self) -> list[str]:
        """Those of all CAs."""
        return [ca.token for ca in self.cas]

    def is_due(self, now: datetime) -> bool:
        """Whether it has to be renewed, or has to forget a CA that is no longer valid."""
        return now >= self.cas[0].made + CA_RENEWED_AFTER or not all(
            _is_valid(ca, now) for ca in self.cas
        )

    def renewed(self, now: datetime) -> "Authority":
        """As it should be now. Of CAs before the newest, those that are still valid stay."""
        kept = tuple(ca for ca in self.cas if _is_valid(ca, now))
        if kept and now < kept[0].made + CA_RENEWED_AFTER:
            return Authority(kept)
        return Authority((_new_ca(now), *kept))

    def signer(self, now: datetime) -> Certified:
        """The newest CA that is trusted by now; else the one that is trusted the longest."""
        valid = [ca for ca in self.cas if now < ca.expires] or list(self.cas)
        return next((ca for ca in valid if now >= ca.made + TRUSTED_AFTER), valid[-1])

    def has(self, ca: Certified) -> bool:
        return any(ca.certificate == known.certificate for known in self.cas)

    def sign(self, names: Sequence[str], now: datetime) -> tuple[Certified, Certified]:
        """A leaf for a server of these names (or addresses), and the CA that signed it."""
        signer = self.signer(now)
        return _new_leaf(signer, names, now), signer


def new_authority(now: datetime) -> Authority:
    return Authority((_new_ca(now),))


def read_authority(bundle: bytes, keys: bytes) -> Authority:
    """From PEM, as `bundle` and `keys` write it. Raises `Unusable`: whatever is stored, what comes
    back can sign, and clients that trust it trust what it has signed."""
    if max(len(bundle), len(keys)) > _LARGEST:
        raise Unusable(f"more than {_LARGEST} bytes")
    try:
        certificates = x509.load_pem_x509_certificates(bundle)
        found = _PEM_KEY.findall(keys)
        by_public = {_der(_private(key).public_key()): key for key in found}
        cas = [_read_ca(certificate, by_public) for certificate in certificates]
    except Unusable:
        raise
    except Exception as error:  # parsers of foreign bytes raise what they like
        raise Unusable(f"{type(error).__name__}: {error}") from error
    return Authority(tuple(sorted(cas, key=lambda ca: ca.made, reverse=True)))


def _read_ca(certificate: x509.Certificate, keys: Mapping[bytes, bytes]) -> Certified:
    public = certificate.public_key()
    if not isinstance(public, ec.EllipticCurvePublicKey):
        raise Unusable("the key of a certificate is not an elliptic curve key")
    key = keys.get(_der(public))
    if key is None:
        raise Unusable("a certificate has no key, or the key of another")
    found = {extension.oid for extension in certificate.extensions}
    if not certificate.subject or not found <= _EXTENSIONS:
        raise Unusable("a certificate has no subject, or extensions that Intact does not write")
    extensions = certificate.extensions
    constraints = extensions.get_extension_for_class(x509.BasicConstraints).value
    if (
        not constraints.ca
        or not extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    ):
        raise Unusable("a certificate is not that of a CA")
    certificate.verify_directly_issued_by(certificate)
    if certificate.not_valid_before_utc.year > _LAST_YEAR:
        raise Unusable("a certificate is of a time that cannot be reckoned with")
    return Certified(
        certificate.public_bytes(serialization.Encoding.PEM),
        key,
        certificate.not_valid_before_utc + _CLOCKS_APART,
        certificate.not_valid_after_utc,
    )


def _is_valid(ca: Certified, now: datetime) -> bool:
    return ca.made <= now + _CLOCKS_WRONG and now < ca.expires


def _new_ca(now: datetime) -> Certified:
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    # Each with a name of its own: clients look for the issuer of a leaf by name first.
    name = _name(f"intact-webhook-ca-{serial:x}"[:40])
    builder = (
        _certificate(key.public_key(), serial, now, CA_LIFE)
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return _signed(builder, key, key, now, CA_LIFE)


def _new_leaf(ca: Certified, names: Sequence[str], now: datetime) -> Certified:
    issuer = x509.load_pem_x509_certificate(ca.certificate)
    issuer_key = _private(ca.key)
    key = ec.generate_private_key(ec.SECP256R1())
    life = max(min(LEAF_LIFE, ca.expires - now), timedelta(minutes=1))
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = (
        _certificate(key.public_key(), x509.random_serial_number(), now, life)
        .subject_name(_name("intact"))
        .issuer_name(issuer.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([x509.OID_SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(map(_general_name, names)), critical=False)
        .add_extension(identifier, critical=False)
    )
    return _signed(builder, key, issuer_key, now, life)


def _certificate(
    key: ec.EllipticCurvePublicKey, serial: int, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .public_key(key)
        .serial_number(serial)
        .not_valid_before(now - _CLOCKS_APART)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _signed(
    builder: x509.CertificateBuilder,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    now: datetime,
    life: timedelta,
) -> Certified:
    return Certified(
        builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
        now,
        now + life,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _private(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise Unusable("a key is not an elliptic curve key of P-256")
    return key


def _der(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
