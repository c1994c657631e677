"""The magic %%mpga of notebooks, which ``%load_ext mpga`` adds."""

from __future__ import annotations

import json
import re
from typing import Any

from . import _connection
from ._errors import InputError, public
from ._names import variables
from ._query import sql
from ._result import Result


def load_ipython_extension(ipython: Any) -> None:
    """Add the magic."""

    @public
    def run(line: str, cell: str | None = None) -> Result | None:
        """Run the statements of a cell, which read the notebook's variables, and show the rows of the last.

        ``%%mpga name`` keeps the result as a variable, and shows nothing.
        """
        name, text = ("", line) if cell is None else (line.strip(), cell)
        if name and not re.fullmatch(r"[^\W\d]\w*", name):
            raise InputError(f"%%mpga {name}: want the name of a variable for the result, or nothing")
        result: Result | None = None
        for statement in json.loads(_connection.current().act("Split", text)):
            found = variables(statement, {}, [ipython.user_ns], _connection.current())
            result = sql(statement, None, **found)
        if not name:
            return None if result is None or result._statement.update and not result._statement.schema.names else result
        ipython.user_ns[name] = result
        return None

    run.__name__ = "mpga"
    ipython.register_magic_function(run, magic_kind="line_cell", magic_name="mpga")
