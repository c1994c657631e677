"""The examples of README.md give what it says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import mpga

ROOT = Path(__file__).parents[2]
FLIGHTS = ROOT / "tests" / "testdata" / "flights-2001.parquet"


def test_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flights").mkdir()
    (tmp_path / "flights" / "2001.parquet").symlink_to(FLIGHTS)
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "1.csv").write_text("city,day,guest\nUlm,1,7\nJena,1,7\n")
    (tmp_path / "days" / "2.csv").write_text("city,day,guest\nUlm,2,7\nUlm,2,8\n")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "python" / "README.md").read_text()
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    for i, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, {}, f"block {i + 1}", "README.md", 0)
        test.globs = names  # all blocks are one program
        runner.run(test, clear_globs=False)
    mpga.configure()
    assert runner.summarize().failed == 0


def test_docstring() -> None:
    assert doctest.testmod(mpga).attempted == 3 and doctest.testmod(mpga).failed == 0
