"""The dialect of SQLAlchemy: its own tests in bulk, and what they do not have."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from conftest import Runner
from sqlalchemy.dialects import registry
from sqlalchemy.engine import make_url

from mpga._dialect import Dialect

registry.register("mpga", "mpga._dialect", "Dialect")  # as the entry point of the package does


@pytest.fixture(scope="module")
def connection() -> object:
    """Connect to the private server, with a table of visits."""
    with sa.create_engine("mpga://").connect() as connection:
        connection.execute(
            sa.text(
                "CREATE TABLE visits AS SELECT * FROM "
                "(VALUES ('Ulm', 3, [1], DATE '2001-01-01'), ('Jena', 5, NULL, NULL)) AS v(city, n, \"Some List\", day)"
            )
        )
        yield connection
        connection.execute(sa.text("DROP TABLE visits"))


def test_suite() -> None:
    """Would catch what SQLAlchemy's own tests of a dialect find."""
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "setup.cfg", "--rootdir", "."]
    options = ["--dburi", "mpga+filled://", "--requirements", "requirements:Requirements", "--tb", "line"]
    env = {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"] + os.pathsep + "."}
    done = subprocess.run(
        program + options + ["test_suite.py"],
        cwd=Path(__file__).parent / "dialect",
        capture_output=True,
        text=True,
        timeout=900,
        env=env,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0 and passed and int(passed[1]) >= 300, done.stdout[-5000:]


def test_select(connection: sa.Connection) -> None:
    """Would catch statements by SQLAlchemy that mean something else in mpga's SQL."""
    visits = sa.Table("visits", sa.MetaData(), autoload_with=connection)
    assert [str(c.type) for c in visits.columns] == ["VARCHAR", "INTEGER", "ARRAY", "DATE"]
    some = visits.c["Some List"]
    assert connection.execute(sa.select(visits.c.city, some).order_by(visits.c.n).limit(1)).all() == [("Ulm", [1])]
    assert connection.execute(sa.select(visits.c.n / 2).order_by(visits.c.n).offset(1)).all() == [(2.5,)]
    assert connection.execute(sa.select(visits.c.n // 2).where(visits.c.city.regexp_match("^U"))).all() == [(1,)]
    dots = sa.select(visits.c.city.regexp_replace("[aeiou]", "."))
    assert connection.execute(dots).scalars().all() == ["Ulm", "J.n."]
    assert sa.inspect(connection).get_columns("visits")[3]["nullable"]
    with pytest.raises(sa.exc.NoSuchTableError):
        sa.inspect(connection).get_columns("none")


def test_pandas(connection: sa.Connection) -> None:
    """Would catch a connection that pandas does not take."""
    pandas = pytest.importorskip("pandas")
    assert pandas.read_sql(sa.text("SELECT sum(n) AS n FROM visits"), connection)["n"].tolist() == [8]


def test_refuses(connection: sa.Connection) -> None:
    """Would catch a statement that changes rows and is taken, or refused without a way out."""
    visits = sa.Table("visits", sa.MetaData(), sa.Column("n", sa.Integer))
    for statement in (sa.insert(visits).values(n=1), sa.update(visits).values(n=1), sa.delete(visits)):
        with pytest.raises(sa.exc.CompileError, match="mpga reads tables"):
            connection.execute(statement)
    with pytest.raises(sa.exc.CompileError, match="adbc_ingest"):
        visits.create(connection, checkfirst=False)
    with pytest.raises(sa.exc.ProgrammingError, match="did you mean city"):
        connection.execute(sa.text("SELECT citty FROM visits"))


@pytest.mark.parametrize(
    ("url", "address", "options"),
    [
        ("mpga://host", "grpc://host:8815", {}),
        ("mpga://[::1]:1", "grpc://[::1]:1", {}),
        ("mpga://:a%2Fb@host:1?tls=true", "grpc+tls://host:1", {"adbc.flight.sql.authorization_header": "Bearer a/b"}),
    ],
)
def test_url(url: str, address: str, options: dict[str, str]) -> None:
    """Would catch a URL whose parts go elsewhere."""
    assert Dialect().create_connect_args(make_url(url)) == ([address], {"db_kwargs": options})


@pytest.mark.parametrize(
    "url", ["mpga://host/db", "mpga://host?tls=yes", "mpga://host?ssl=true", "mpga://?tls=true", "mpga:///db"]
)
def test_url_refused(url: str) -> None:
    """Would catch a part of a URL that is taken and ignored."""
    with pytest.raises(sa.exc.ArgumentError):
        Dialect().create_connect_args(make_url(url))


def test_close(python: Runner) -> None:
    """Would catch a pool whose connections keep a process from ending well."""
    done = python(
        """
        import sqlalchemy as sa
        from sqlalchemy.dialects import registry

        registry.register("mpga", "mpga._dialect", "Dialect")
        engine = sa.create_engine("mpga://")
        with engine.connect() as connection:
            print(connection.execute(sa.text("SELECT 1")).scalar())
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
