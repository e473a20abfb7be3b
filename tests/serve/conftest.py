"""One server for all tests of this folder that need no other limits."""

from collections.abc import Iterator

import pytest
from small_server import Client, small_server


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with small_server() as server:
        yield Client(server)
