"""The command line of a release."""

import pytest

from release.cli import main


@pytest.mark.parametrize("url", ["", "example.com/x", "ftp://example.com", "https:// x"])
def test_an_address_that_is_none_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--url", url])
    assert ended.value.code == 2
    assert (
        f"--url (RELEASE_URL): {url!r} is not an address like https://" in capsys.readouterr().err
    )
