"""An address of the results database that cannot be used is one typed error, which repeats no password."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import make_url

from streambound.errors import StorageError
from streambound.results import Results
from streambound.results.address import parse_url, shown

SECRET = "s3cret"


def refused(address: str) -> StorageError:
    with pytest.raises(StorageError) as caught:
        Results(address).latest_verdicts()
    error = caught.value
    assert SECRET not in str(error) and SECRET not in error.one_line()
    assert error.accepted or error.fix
    return error


def test_an_unreachable_server_is_named() -> None:
    error = refused("postgresql+psycopg2://someone:s3cret@127.0.0.1:1/none")
    assert error.subject == "postgresql+psycopg2://someone:***@127.0.0.1:1/none"


@pytest.mark.parametrize("address", ["", "://", "mysql://u:s3cret@h/d", "sqlite://", "no address s3cret"])
def test_an_address_that_is_not_supported(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMBOUND_DATABASE_URL", address or "nothing s3cret")
    with pytest.raises(StorageError) as caught:
        Results()
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgresql+psycopg2://u@127.0.0.1:1/d?password=s3cret", "failed: connection to server"),
        ("postgresql+psycopg2://u:pa@s3cret@127.0.0.1/d", "has an @ in"),
        ("postgresql+psycopg2://u:pa@s3cret:x@127.0.0.1/d", "has an @ in"),
        ("postgresql+psycopg2://u:pa@s3cret/x@127.0.0.1/d", "has an @ in"),
        ("postgresql+psycopg2://u:pa@127.0.0.1/d?s3cret@127.0.0.1/d", "has an @ in"),
        ("postgresql+psycopg2://u:s3cret@127.0.0.1:port/d", "port that is no number"),
        ("postgresql+psycopg2://localhost:s3cret/d", "port that is no number"),
        ("postgresql+psycopg2://u:s3cret@127.0.0.1:99999/d", "invalid port number"),
        ("postgresql+psycopg2://u:p@127.0.0.1/d?host=h:1&host=h:s3cret", r"parameters .* \(host\)"),
        (
            "postgresql+psycopg2://u:p@127.0.0.1:1/d?connection_factory=s3cret",
            "parameters .*connection_factory",
        ),
        ("postgresql+psycopg2://u:p@127.0.0.1:1/d?pasword=s3cret", 'invalid connection option "pasword"'),
        ("sqlite:///results.db?timeout=s3cret", "parameters .*timeout"),
        ("sqlite:///results.db?check_same_thread=s3cret", "parameters .*check_same_thread"),
    ],
)
def test_a_mistake_in_an_address_is_named_without_the_password(
    address: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    error = refused(address)
    assert re.search(message, error.message), error.message
    assert list(tmp_path.iterdir()) == []


# What people have in passwords, as it is and as an address should have it.
PASSWORDS = st.lists(st.sampled_from([SECRET, *"@:/?#%&=+ []"]), min_size=1, max_size=6).map(
    lambda parts: "".join(parts) if SECRET in parts else "".join([*parts, SECRET])
)
WRITTEN = st.tuples(PASSWORDS, st.booleans()).map(
    lambda drawn: quote(drawn[0], safe="") if drawn[1] else drawn[0]
)
HOSTS = st.sampled_from(["127.0.0.1", "localhost", "[::1]", ""])
PORTS = st.sampled_from([":1", ":01", ":", ":x", ":-1", ":99999", ":1x", ":1.0", ":1"])
PARAMETERS = st.one_of(
    st.tuples(st.sampled_from(["password", "sslpassword", "passfile", "pasword"]), WRITTEN),
    st.tuples(
        st.sampled_from(["host", "port", "user", "timeout", "sslmode", "connection_factory"]),
        st.sampled_from(["", "1", "localhost", "localhost:1", "x,y", "%40", "pass"]),
    ),
)


@st.composite
def addresses(draw: st.DrawFn) -> str:
    """Addresses of a server that does not answer, a password before the host or in parameters."""
    user = draw(st.sampled_from(["me", "me@server", "", "m%40e"]))
    before = f"{user}:{draw(WRITTEN)}@" if draw(st.booleans()) else draw(st.sampled_from([f"{user}@", ""]))
    pairs = draw(st.lists(PARAMETERS, max_size=3))
    query = "&".join(f"{name}={value}" for name, value in pairs)
    database = draw(st.sampled_from(["/d", "/", "", "/d%40x"]))
    host = f"{draw(HOSTS)}{draw(PORTS)}"
    return f"postgresql+psycopg2://{before}{host}{database}{'?' if query else ''}{query}"


@given(addresses())
def test_no_address_however_mistaken_shows_its_password(address: str) -> None:
    """Random addresses with reserved characters where they should and should not be."""
    refused(address)


@given(WRITTEN)
def test_a_password_that_is_escaped_is_read_as_it_is(password: str) -> None:
    address = f"postgresql+psycopg2://me:{quote(password, safe='')}@db.example:5432/results"
    url = parse_url(address)
    assert url == make_url(address) and url.password == password
    assert shown(url) == "postgresql+psycopg2://me:***@db.example:5432/results"
