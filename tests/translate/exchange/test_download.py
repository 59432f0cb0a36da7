"""Addresses as people write them, and what is cleaned in a folder of downloads."""

import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.errors import UserError
from translate.exchange.download import Address, clean
from translate.files import recover_folders

# Without a fragment and a query, and without the characters that `urlsplit` removes from addresses.
PATHS = st.text(st.characters(exclude_characters="#?\t\r\n", exclude_categories=["Cs"]))


@given(PATHS)
def test_a_path_is_sent_in_ascii_and_means_the_same(path: str) -> None:
    text = f"https://example.org/{path}"
    address = Address.read(text)
    assert address.url.isascii()
    assert " " not in address.url
    assert unquote(urlsplit(address.url).path) == unquote(f"/{path}".rstrip())
    assert Address.read(address.url) == address


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://bücher.example/ä b?q=c d&e=%20", "https://xn--bcher-kva.example/%C3%A4%20b?q=c%20d&e=%20"),
        ("HTTPS://Example.ORG", "https://example.org/"),
        ("http://[::1]:81/a", "http://[::1]:81/a"),
        ("https://example.org/100%.zip", "https://example.org/100%25.zip"),
    ],
)
def test_an_address_is_normalised(text: str, url: str) -> None:
    digest = "0123456789ABCDEF" * 4
    assert Address.read(text) == Address(url)
    assert Address.read(f"{text}#sha256={digest}") == Address(url, digest.lower())


@pytest.mark.parametrize(
    "text",
    [
        "https://", "https:///x", "https://?x", "http://[", "https://example.org:0x/", "https://example.org:99999/",
        "https://a..b/", "https://user@example.org/", "https://example.org/#x", "https://example.org/#sha256=",
        f"https://example.org/#sha1={'0' * 64}",
    ],
)  # fmt: skip
def test_what_is_no_address_is_one_sentence(text: str) -> None:
    with pytest.raises(UserError) as caught:
        Address.read(text)
    assert "\n" not in str(caught.value)


def test_nothing_is_cleaned_where_no_lock_tells_what_is_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / ".new.partial/file", tmp_path / ("a" * 16)]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"1")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)  # as on Windows
        for _ in range(2):
            clean(tmp_path)
            recover_folders(tmp_path)
    assert all(path.exists() for path in paths)
    clean(tmp_path)
    recover_folders(tmp_path)
    assert not any(path.exists() for path in paths)
