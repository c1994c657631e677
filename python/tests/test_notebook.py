"""Cells of a notebook, in a kernel of its own."""

from __future__ import annotations

import re
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

COLORS = re.compile(r"\x1b\[[0-9;]*m")


def run(*cells: str, errors: bool = False) -> list[list[Any]]:
    """Return the outputs of cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=errors).execute()
    return [c.outputs for c in notebook.cells]


def test_an_error_shows_the_lines_of_the_caller() -> None:
    (outputs, later) = run(
        "import mpga\ndef ask(x):\n    return mpga.sql('select nope from t', t={'k': [1]})\nask(1)",
        "mpga.table({'k': [1]}).filter('nope > 1')",
        errors=True,
    )
    text = COLORS.sub("", "\n".join(outputs[0].traceback))
    assert "ask(1)" in text and "mpga.sql('select nope" in text and 'QueryError: column "nope"' in text
    assert "_query.py" not in text and "_errors.py" not in text and len(text.splitlines()) < 25, text
    text = COLORS.sub("", "\n".join(later[-1].traceback))  # raised while the cell's value is shown
    assert 'column "nope"' in text and "_statement.py" not in text, text


def test_magic() -> None:
    outputs = run(
        "%load_ext mpga\nimport pandas as pd\nframe = pd.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]})",
        "%%mpga\ncreate temp table totals as select k, sum(v) as s from frame group by k;\n"
        "select * from totals order by k",
        "%%mpga kept\nselect max(s) as most from totals -- the largest",
        "print(kept.fetchall())",
        "%mpga select 1 as one",
    )
    assert "VARCHAR" in outputs[1][0].data["text/html"] and "<td>4</td>" in outputs[1][0].data["text/html"]
    assert outputs[2] == [] and outputs[3][0].text == "[(4,)]\n"
    assert "<th>one" in outputs[4][0].data["text/html"]
    with pytest.raises(CellExecutionError, match="want the name of a variable"):
        run("%load_ext mpga", "%%mpga not a name\nselect 1")


def test_progress_is_one_output() -> None:
    """A query that shows how far it is leaves one output behind, which is empty."""
    (outputs,) = run(
        "import numpy as np, mpga\nfrom mpga import _progress\n_progress.SECONDS_MIN = 0\n"
        "for n in range(3):\n"
        "    with _progress.Progress(None) as progress:\n"
        "        for i in range(50):\n"
        "            progress.fetched = 1000 * (i > 25)\n"
        "            progress.show(dict(seconds=1, fraction=min(i / 25, 1), phase='partition', state='running',\n"
        "                          rows_read=i, left_seconds=3))\n"
        "    print(n)"
    )
    shown = [o for o in outputs if o.output_type == "display_data"]
    assert len(shown) == 3 and all(o.data["text/plain"] == "" for o in shown)
    assert [o.text for o in outputs if o.output_type == "stream"] == ["0\n", "1\n", "2\n"]
