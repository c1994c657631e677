"""Processes: Ctrl-C, fork, kill -9, threads, two processes, and settings."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Runner

import mpga


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


def test_interrupt(python: Runner) -> None:
    """Ctrl-C ends the query here and at the server, and both go on."""
    done = python("""
        import os, signal, threading, time
        import numpy as np, pyarrow as pa, mpga

        t = pa.table({"i": np.arange(3_000_000)})
        mpga.sql("select count(*) from t").fetchall()
        threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT)).start()
        result = mpga.sql("select median(i), count(*) from t group by (i * 7919) % 2999999")
        try:
            for _ in range(1000):
                result._rows = None
                result.arrow()
        except KeyboardInterrupt:
            print("interrupted")
        began = time.monotonic()
        while result._statement.progress()["state"] == "running":
            assert time.monotonic() < began + 5
        print(result._statement.progress()["state"])
        print(mpga.sql("select 1").fetchall())
    """)
    lines = done.stdout.split("\n")
    assert lines[0] == "interrupted" and lines[1] in ("cancelled", "done") and lines[2] == "[(1,)]", done


def test_interrupt_while_rows_are_sent(python: Runner) -> None:
    done = python("""
        import os, signal, threading
        import numpy as np, pyarrow as pa, mpga

        one = pa.record_batch({"i": np.arange(100_000)})
        taken = []

        def endless():
            while True:
                taken.append(1)
                yield one

        mpga.sql("select 1").fetchall()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            mpga.sql("select count(*) from t", t=pa.RecordBatchReader.from_batches(one.schema, endless()))
        except KeyboardInterrupt:
            before = len(taken)
            print(mpga.sql("select 1").fetchall(), before > 0, len(taken) == before)
    """)
    assert done.stdout == "[(1,)] True True\n", done


def test_fork(python: Runner) -> None:
    done = python("""
        import os, sys
        import pyarrow as pa, mpga
        from mpga import _connection

        t = pa.table({"i": [1, 2, 3]})
        result = mpga.sql("select sum(i) from t")
        mine = _connection.current().server.pid
        child = os.fork()
        if child == 0:
            assert mpga.sql("select sum(i) from t").fetchall() == [(6,)]
            assert _connection.current().server.pid != mine
            try:
                result.fetchall()
            except mpga.ServerError as e:
                print(e)
            sys.stdout.flush()
            mpga.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        same = _connection.current().server.pid == mine
        print(result.fetchall(), mpga.sql("select count(*) from t").fetchall(), same)
    """)
    assert done.stdout.split("\n")[:2] == [
        "the server that this belonged to has ended: run the statement again",
        "[(6,)] [(3,)] True",
    ], done


def test_fork_in_the_middle(python: Runner) -> None:
    done = python("""
        import os, sys, mpga, numpy as np

        reader = mpga.sql("select i from t", t={"i": np.arange(3_000_000)}).reader()
        reader.read_next_batch()
        child = os.fork()
        if child == 0:
            try:
                mpga.sql("select 1")
            except mpga.ServerError as e:
                print(str(e)[:24])
            sys.stdout.flush()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(sum(b.num_rows for b in reader) > 0, mpga.sql("select 1").fetchall())
    """)
    assert done.stdout.split("\n")[:2] == ["this process was forked ", "True [(1,)]"], done


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None])
def test_nothing_is_left(end: signal.Signals | None) -> None:
    """However Python ends, the server does, too, and its socket goes."""
    program = "import mpga, sys, time; from mpga import _connection as c; mpga.sql('select 1').fetchall(); "
    program += "print(c.current().server.pid, c.current().server.address[5:], flush=True); sys.stdin.read()"
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    pid, path = child.stdout.readline().split()
    assert alive(int(pid)) and Path(path).is_socket()
    assert Path(path).parent.stat().st_mode & 0o777 == 0o700
    if end is None:
        child.communicate()
    else:
        child.send_signal(end)
        child.communicate()
    assert gone(int(pid))
    assert not Path(path).parent.exists()


def test_two_processes() -> None:
    program = "import mpga; t = {'i': range(100000)}; print(mpga.sql('select sum(i) from t', t=t).fetchall())"
    children = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [c.communicate()[0] for c in children] == ["[(4999950000,)]\n"] * 2


def test_threads() -> None:
    def one(n: int) -> object:
        t = {"i": range(n * 1000)}
        return mpga.sql("select count(*), max(i) from t where i >= ?", [0], t=t).fetchall()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(1, 33))) == [[(n * 1000, n * 1000 - 1)] for n in range(1, 33)]


def test_server_that_was_killed(python: Runner) -> None:
    done = python("""
        import os, signal, time, mpga
        from mpga import _connection

        mpga.sql("select 1").fetchall()
        result = mpga.sql("select 2")
        folder = os.path.dirname(_connection.current().server.address.removeprefix("unix:"))
        os.kill(_connection.current().server.pid, signal.SIGKILL)
        time.sleep(0.2)
        try:
            result.fetchall()
        except mpga.ServerError as e:
            print(str(e)[:20])
        print(mpga.sql("select 3").fetchall(), os.path.exists(folder))
    """)
    assert done.stdout == "the server has ended\n[(3,)] False\n", done


def test_configure(python: Runner, tmp_path: Path) -> None:
    done = python(f"""
        import mpga
        mpga.configure(memory_limit="512MiB", threads=1, device="cpu", temp_dir={str(tmp_path)!r})
        print("512 MiB" in mpga.explain("select x, count(*) from t group by x", t={{"x": [1]}}))
        try:
            mpga.configure(threads=-1)
        except mpga.InputError as e:
            print(e)
        print("512 MiB" in mpga.explain("select x, count(*) from t group by x", t={{"x": [1]}}))
        mpga.configure(max_recursion=10)
        try:
            mpga.sql("with recursive x as (select 1 as i union all select i from x) select i from x").fetchall()
        except mpga.LimitError as e:
            print(e)
    """)
    assert done.stdout.splitlines()[:3] == ["True", "threads (-1) must be in [1, 4096]", "True"], done
    assert "as many as max_recursion allows" in done.stdout, done
    assert done.stderr == ""


def test_an_error_shows_the_lines_of_the_caller(python: Runner) -> None:
    done = python("""
        import mpga

        def ask(x):
            return mpga.sql("select nope from t", t={"k": [1]})

        ask(1)
    """)
    lines = done.stderr.splitlines()
    assert [line.split(",")[1:] for line in lines if line.startswith("  File")] == [
        [" line 7", " in <module>"],
        [" line 5", " in ask"],
    ], done.stderr
    assert 'mpga.QueryError: column "nope" does not exist' in done.stderr and "During handling" not in done.stderr


def test_a_connection_that_is_left_open(python: Runner) -> None:
    done = python("""
        import mpga

        connection = mpga.connect()
        cursor = connection.cursor()
        cursor.execute("select 1")
        print(cursor.fetchall())
        other = connection.cursor()
        other.execute("select i from range(10000000) t(i)")
        print(other.fetchone())
    """)
    assert done.stdout.startswith("[(1,)]\n(") and done.stderr == "" and done.returncode == 0, done


def test_version(python: Runner) -> None:
    done = python("import mpga; print(mpga.__version__)")
    assert done.stdout.strip() and done.stderr == "", done


def test_types() -> None:
    """The package and a program that uses it agree with mypy's strictest rules."""
    root = Path(mpga.__file__).parents[2]
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_import_is_light(python: Runner) -> None:
    done = python("""
        import sys, mpga
        print([m for m in ("pyarrow", "pandas", "polars", "numpy", "subprocess") if m in sys.modules])
    """)
    assert done.stdout == "[]\n", done


def test_program() -> None:
    done = subprocess.run([sys.executable, "-m", "mpga", "version"], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0 and "mpga" in done.stdout
