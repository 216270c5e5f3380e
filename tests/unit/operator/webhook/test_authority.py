"""Which CAs an authority has, and which of them signs, over the years."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from intact.operator.webhook.authority import (
    CA_LIFE,
    CA_RENEWED_AFTER,
    LEAF_LIFE,
    TRUSTED_AFTER,
    Authority,
    Unusable,
    new_authority,
    read_authority,
)
from tests.support.spoilt_authorities import SPOILT, made

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def after_renewal() -> tuple[Authority, datetime]:
    now = START + CA_RENEWED_AFTER
    return new_authority(START).renewed(now), now


def test_a_leaf_is_valid_for_its_names_and_a_day() -> None:
    leaf, _ = new_authority(START).sign(["intact.ns.svc", "127.0.0.1"], START)
    certificate = x509.load_pem_x509_certificate(leaf.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["intact.ns.svc"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert certificate.not_valid_after_utc == START + LEAF_LIFE
    assert certificate.not_valid_before_utc < START, "clocks differ"


def test_a_ca_is_due_when_a_third_of_its_life_is_left() -> None:
    authority = new_authority(START)
    due = START + CA_LIFE * 2 / 3
    assert not authority.is_due(due - HOUR)
    assert authority.renewed(due - HOUR) == authority
    assert authority.is_due(due)


def test_old_and_new_are_trusted_until_the_old_expires() -> None:
    authority, now = after_renewal()
    assert len(authority.cas) == 2
    assert not authority.is_due(START + CA_LIFE - HOUR)
    end = START + CA_LIFE
    assert authority.is_due(end)
    assert authority.renewed(end).cas == authority.cas[:1]
    assert now < end


def test_a_new_ca_signs_only_once_it_is_trusted_everywhere() -> None:
    authority, now = after_renewal()
    new, old = authority.cas
    assert authority.signer(now) == old
    assert authority.signer(now + TRUSTED_AFTER) == new


def test_the_first_ca_signs_at_once() -> None:
    authority = new_authority(START)
    assert authority.signer(START) == authority.cas[0]


def test_after_a_long_sleep_there_is_a_new_ca_that_signs() -> None:
    later = START + 2 * CA_LIFE
    authority = new_authority(START).renewed(later)
    [ca] = authority.cas
    assert authority.signer(later) == ca
    assert ca.expires > later


def test_a_leaf_does_not_outlive_its_ca() -> None:
    authority = new_authority(START)
    leaf, ca = authority.sign(["a"], START + CA_LIFE - HOUR)
    assert leaf.expires == ca.expires


def test_an_authority_is_read_as_it_was_written() -> None:
    authority, now = after_renewal()
    assert read_authority(authority.bundle, authority.keys) == authority
    assert read_authority(authority.bundle, authority.keys).signer(now) == authority.cas[1]


def test_tokens_tell_cas_apart_and_outlive_the_secret() -> None:
    authority, now = after_renewal()
    new, old = authority.tokens
    assert new != old
    assert authority.signer(now).token == old
    assert read_authority(authority.bundle, authority.keys).tokens == [new, old]
    assert re.fullmatch("[0-9a-f]{32}", new), "the API server takes only DNS labels in paths"


DATED = ("expired", "not yet valid")
"""These can be read, and are due at once."""


@pytest.mark.parametrize("name", [name for name in SPOILT if name not in DATED])
def test_what_is_no_authority_is_unusable(name: str) -> None:
    with pytest.raises(Unusable):
        read_authority(*SPOILT[name]())


@pytest.mark.parametrize("name", DATED)
def test_a_ca_that_is_not_valid_now_is_dropped(name: str) -> None:
    now = datetime.now(UTC)
    found = read_authority(*SPOILT[name]())
    assert found.is_due(now)
    renewed = found.renewed(now)
    assert not {*renewed.cas} & {*found.cas}
    assert not renewed.is_due(now)


def test_an_authority_of_another_tool_is_taken_if_it_can_sign() -> None:
    found = read_authority(*made())
    leaf, signer = found.sign(["a"], datetime.now(UTC))
    assert [signer] == list(found.cas)
    assert leaf.expires > datetime.now(UTC)


def test_an_authority_that_has_expired_still_signs() -> None:
    """With the API away: a leaf that nobody trusts is better than a process that ends."""
    leaf, _ = new_authority(START).sign(["a"], START + 2 * CA_LIFE)
    assert leaf.expires > leaf.made
