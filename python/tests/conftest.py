from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import mpga

# Programs that tests start find the package where the tests do.
os.environ["PYTHONPATH"] = str(Path(mpga.__file__).parents[1])

Runner = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def python(tmp_path: Path) -> Runner:
    """Run a program in a Python of its own."""

    def run(program: str) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program))
        return subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=60, env=os.environ)

    return run


@pytest.fixture(autouse=True, scope="session")
def ends_with_the_tests() -> object:
    """Leave no server behind."""
    yield
    mpga.close()
