from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stage import Server, server


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Server]:
    """A server with a state directory of its own. It is started by whoever needs it first."""
    with server(tmp_path / "state") as place:
        yield place
