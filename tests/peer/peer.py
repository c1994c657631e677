"""Serves DuckDB, Polars and ClickHouse (as chdb), each of which is imported when it is first asked.

A request is a line of JSON on the standard input:

  engine   "DuckDB", "Polars" or "ClickHouse"
  setup    the statements to run first, which are not timed
  query    the statement to time, or ""
  whole    whether the result is sent, too

A reply is a line of JSON on the standard output: either error, the engine's text, or

  version     the engine's
  rows        of the result, which is read to its end as Arrow batches
  wall_nanos  that the query and the reading took
  cpu_nanos   the same of CPU time, of all threads
  peak_bytes  the largest resident set of the process so far, 0 where the system does not tell
  bytes       so many bytes of an Arrow IPC stream follow the line

Statements are SQL, but those of Polars are Python: a setup assigns frames to names, a query is an
expression of a lazy frame, and pl is Polars.

The first argument is the number of threads of each engine.
"""

import json
import os
import resource
import signal
import sys
import time
import warnings


class DuckDB:
    def __init__(self, threads):
        import duckdb

        self.version = duckdb.__version__
        self.connection = duckdb.connect(config={"threads": threads})

    def run(self, statement):
        self.connection.execute(statement)

    def read(self, query):
        # A stream of the statement's result. connection.sql would bind the statement twice.
        return self.connection.execute(query).to_arrow_reader()


class Polars:
    def __init__(self, threads):
        import polars  # takes its threads from POLARS_MAX_THREADS

        if polars.thread_pool_size() != threads:
            raise RuntimeError(f"Polars has {polars.thread_pool_size()} threads, not {threads}")
        self.version = polars.__version__
        self.names = {"pl": polars}

    def run(self, statement):
        exec(statement, self.names)

    def read(self, query):
        frame = eval(query, self.names).collect(engine="streaming")
        return frame.to_arrow().to_reader()


class ClickHouse:
    def __init__(self, threads):
        import chdb
        from chdb import session

        self.version = chdb.engine_version
        self.session = session.Session()
        self.run(f"SET max_threads = {threads}")
        self.run("SET output_format_arrow_compression_method = 'none'")

    def run(self, statement):
        self.session.query(statement)

    def read(self, query):
        import pyarrow

        result = self.session.query(query, "ArrowStream")
        return pyarrow.ipc.open_stream(pyarrow.py_buffer(result.get_memview().view()))


class Server:
    def __init__(self, threads):
        self.threads = threads
        self.engines = {}

    def engine(self, name):
        if name not in self.engines:
            kind = {"DuckDB": DuckDB, "Polars": Polars, "ClickHouse": ClickHouse}[name]
            self.engines[name] = kind(self.threads)
        return self.engines[name]

    def answer(self, request):
        """Returns the reply, and the schema and the batches to send after it, or None."""
        engine = self.engine(request["engine"])
        for statement in request["setup"]:
            engine.run(statement)
        if not request["query"]:
            return {"version": engine.version, "peak_bytes": peak_bytes()}, None
        rows, kept = 0, []
        cpu, start = cpu_nanos(), time.perf_counter_ns()
        result = engine.read(request["query"])
        for batch in result:
            rows += batch.num_rows
            if request["whole"]:
                kept.append(batch)
        wall, cpu = time.perf_counter_ns() - start, cpu_nanos() - cpu
        reply = {"version": engine.version, "rows": rows, "wall_nanos": wall, "cpu_nanos": cpu, "peak_bytes": peak_bytes()}
        return reply, (result.schema, kept) if request["whole"] else None


def cpu_nanos():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)


def peak_bytes():
    # The ru_maxrss of getrusage would begin with the resident set of the parent.
    try:
        with open("/proc/self/status") as status:
            return next((int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:")), 0)
    except FileNotFoundError:
        return 0


def write_stream(sink, schema, batches):
    import pyarrow

    with pyarrow.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def send(out, reply, result):
    if result:
        import pyarrow

        size = pyarrow.MockOutputStream()  # counts the bytes and keeps none
        write_stream(size, *result)
        reply["bytes"] = size.size()
    out.write(json.dumps(reply).encode() + b"\n")
    if result:
        write_stream(out, *result)
    out.flush()


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent, which gets it too, ends this process
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an engine prints is no reply
    server = Server(int(sys.argv[1]))
    for line in sys.stdin.buffer:
        try:
            reply, result = server.answer(json.loads(line))
        except BaseException as e:  # a panic of Polars is no Exception
            reply, result = {"error": f"{type(e).__name__}: {e}"}, None
        send(out, reply, result)
        result = None  # the next query has the memory
    os._exit(0)  # the threads of chdb need not be waited for


main()
