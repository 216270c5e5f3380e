"""What may be in the Secret of the webhooks' CA besides an authority of Intact's own."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes

from intact.operator.webhook.authority import new_authority

DAY = timedelta(days=1)
_NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "other")])
_USAGE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def made(
    key: CertificateIssuerPrivateKeyTypes | None = None,
    *extensions: x509.ExtensionType,
    ca: bool | None = True,
    name: x509.Name = _NAME,
    begin: datetime | None = None,
    life: timedelta = 90 * DAY,
    password: bytes | None = None,
    form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8,
) -> tuple[bytes, bytes]:
    """A certificate and its key."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    begin = begin or datetime.now(UTC) - DAY
    builder = x509.CertificateBuilder(
        name,
        name,
        key.public_key(),
        x509.random_serial_number(),
        begin,
        begin + life,
    )
    if ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca, None), critical=True)
        builder = builder.add_extension(_USAGE, critical=True)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=True)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    encryption = (
        serialization.BestAvailableEncryption(password)
        if password
        else serialization.NoEncryption()
    )
    return (
        builder.sign(key, algorithm).public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, form, encryption),
    )


def _pem(name: bytes) -> bytes:
    return b"-----BEGIN %s-----\nAAAA\n-----END %s-----\n" % (name, name)


def _of_two() -> tuple[bytes, bytes]:
    return made()[0], made()[1]


def _begun(marker: bytes) -> Callable[[], tuple[bytes, bytes]]:
    return lambda: (made()[0], marker * 20_000)


def _many() -> tuple[bytes, bytes]:
    pairs = [made() for _ in range(60)]
    return b"".join(pair[0] for pair in pairs), b"".join(pair[1] for pair in pairs)


def _good_and_bad() -> tuple[bytes, bytes]:
    good = new_authority(datetime.now(UTC))
    bad = made(rsa.generate_private_key(65537, 2048))
    return good.bundle + bad[0], good.keys + bad[1]


SPOILT: dict[str, Callable[[], tuple[bytes, bytes]]] = {
    "nothing": lambda: (b"", b""),
    "garbage": lambda: (b"\x00\xffnonsense", b"\x00\xffnonsense"),
    "garbage in PEM": lambda: (_pem(b"CERTIFICATE"), _pem(b"PRIVATE KEY")),
    "no key": lambda: (made()[0], b""),
    "the key of another": _of_two,
    "RSA": lambda: made(rsa.generate_private_key(65537, 2048)),
    "Ed25519": lambda: made(ed25519.Ed25519PrivateKey.generate()),
    "another curve": lambda: made(ec.generate_private_key(ec.SECP256K1())),
    "an encrypted key": lambda: made(password=b"secret"),
    "an encrypted key under the plain name": lambda: (
        (pair := made(password=b"secret"))[0],
        pair[1].replace(b"ENCRYPTED ", b""),
    ),
    "a key in the old form": lambda: made(form=serialization.PrivateFormat.TraditionalOpenSSL),
    "no CA": lambda: made(ca=False),
    "no constraints": lambda: made(ca=None),
    "no subject": lambda: made(name=x509.Name([])),
    "other names only": lambda: made(
        None, x509.NameConstraints([x509.DNSName("example.com")], None)
    ),
    "expired": lambda: made(begin=datetime(2001, 1, 1, tzinfo=UTC)),
    "not yet valid": lambda: made(begin=datetime.now(UTC) + 100 * DAY),
    "the end of time": lambda: made(begin=datetime(9999, 12, 1, tzinfo=UTC), life=30 * DAY),
    "too many": _many,
    "a good one and a bad one": _good_and_bad,
    "beginnings without an end": _begun(b"-----BEGIN PRIVATE KEY-----\n"),
}
