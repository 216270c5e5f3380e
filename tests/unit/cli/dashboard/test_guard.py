"""Who may read the page."""

import pytest

from intact.cli.dashboard.guard import problem_of

HOST = "127.0.0.1:8080"


@pytest.mark.parametrize(
    ("headers", "token", "said"),
    [
        ({"Host": HOST}, "right", ""),
        ({"Host": "localhost:8080"}, "right", ""),
        ({"Host": "[::1]:8080"}, "right", ""),
        ({"Host": "127.0.0.1"}, "right", ""),  # browsers leave out port 80
        ({"Host": "localhost", "Origin": "http://localhost"}, "right", ""),
        ({"Host": HOST, "Origin": f"http://{HOST}"}, "right", ""),
        ({"Host": HOST, "Sec-Fetch-Site": "same-origin"}, "right", ""),
        ({"Host": HOST}, "wrong", "the token is wrong"),
        ({"Host": HOST}, "", "the token is wrong"),
        ({"Host": "evil.example:8080"}, "right", "not served for the host 'evil.example:8080'"),
        ({"Host": "127.0.0.1.evil.example:8080"}, "right", "not served for the host"),
        ({}, "right", "not served for the host ''"),
        ({"Host": "evil.example"}, "right", "not served for the host 'evil.example'"),
        ({"Host": "127.0.0.1:"}, "right", "not served for the host '127.0.0.1:'"),
        ({"Host": ":8080"}, "right", "not served for the host ':8080'"),
        ({"Host": "[::1]"}, "right", ""),
        ({"Host": HOST, "Origin": "http://evil.example"}, "right", "is another page"),
        ({"Host": HOST, "Origin": "null"}, "right", "is another page"),
        ({"Host": HOST, "Origin": "http://127.0.0.1:9090"}, "right", "is another page"),
        ({"Host": HOST, "Origin": f"https://{HOST}"}, "right", "is another page"),
        ({"Host": HOST, "Origin": "http://[::1"}, "right", "is another page"),
        ({"Host": HOST, "Origin": "http://\u2100"}, "right", "is another page"),
        ({"Host": HOST, "Origin": ""}, "right", "is another page"),
        ({"Host": "127.0.0.1:evil.example"}, "right", "not served for the host"),
        ({"Host": HOST, "Sec-Fetch-Site": "cross-site"}, "right", "another page has asked"),
        ({"Host": HOST, "Sec-Fetch-Site": "same-site"}, "right", "another page has asked"),
    ],
)
def test_requests(headers: dict[str, str], token: str, said: str) -> None:
    found = problem_of(headers, token, "right")
    assert said in found
    assert bool(found) == bool(said)
