"""The package is typed, strictly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ptyard_agents

ROOT = Path(__file__).resolve().parents[1]


def test_mypy_strict_finds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_installed_package_says_that_it_is_typed() -> None:
    assert (Path(ptyard_agents.__file__).parent / "py.typed").exists()
