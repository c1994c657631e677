"""Tables that a statement names as the variables of its caller."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from ._connection import Connection
from ._inputs import is_table

_WORD = re.compile(r'"((?:[^"]|"")+)"|([^\W\d]\w*)')


def of_caller(query: str, known: dict[str, Any], frame: FrameType, connection: Connection) -> dict[str, Any]:
    """Return the variables of a frame that a statement reads as tables."""
    return variables(query, known, [frame.f_locals, frame.f_globals], connection)


def variables(
    query: str, known: dict[str, Any], scopes: Sequence[Mapping[str, Any]], connection: Connection
) -> dict[str, Any]:
    """Return the variables that a statement reads as tables.

    The server says which words of the statement are tables; it is asked only where a variable has the
    name of a word and is a table.
    """
    found: dict[str, Any] = {}
    for quoted, plain in _WORD.findall(query):
        name = quoted.replace('""', '"') or plain
        if name in known or name in found:
            continue
        for scope in scopes:
            if name in scope:
                if is_table(scope[name]):
                    found[name] = scope[name]
                break
    if not found:
        return found
    read = set(json.loads(connection.act("Tables", query)))
    return {name: value for name, value in found.items() if name in read}
