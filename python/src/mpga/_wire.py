"""The few messages of Flight SQL that a client sends, in the encoding of protocol buffers."""

from __future__ import annotations

_PACKAGE = "type.googleapis.com/arrow.flight.protocol.sql."


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _any(name: str, body: bytes) -> bytes:
    return _bytes(1, (_PACKAGE + name).encode()) + _bytes(2, body)


def prepared_query(handle: str) -> bytes:
    """Return the ticket of a prepared statement's rows, which is also the command that binds values."""
    return _any("CommandPreparedStatementQuery", _bytes(1, handle.encode()))


def ingest(table: str) -> bytes:
    """Return the command that makes a temporary table of a name that is new."""
    create, fail = 1, 1  # if there is no such table; if there is
    options = _number(1, create) + _number(2, fail)
    return _any("CommandStatementIngest", _bytes(1, options) + _bytes(2, table.encode()) + _number(5, 1))
