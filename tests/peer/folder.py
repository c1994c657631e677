"""Times the statements of a folder in mpga and in DuckDB, in turns, each in one process that lives.

    folder.py [--threads N] [--rounds N] [--device WORD] [--only PATTERN] MPGA FOLDER

The folder has tables as NAME.parquet and statements as NAME.sql, as `tpchgen-cli` and DuckDB's tpch_queries() and
tpcds_queries() give them. For each statement the median of all rounds counts, in seconds of the clock and of the
CPU, and the ratios are DuckDB's time by mpga's. Answers are compared: rows in any order, floats to six digits. The exit status is 1 where one
differs.
"""

import argparse
import csv
import datetime
import io
import math
import pathlib
import os
import re
import statistics
import subprocess
import sys
import time

import duckdb


class Shell:
    """An `mpga shell` that answers statements as CSV."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.send(".timer on\n.mode csv\n")

    def send(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def cpu(self):
        """Returns the seconds of the CPU that the process has taken."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, statement):
        """Returns the rows of a statement, and the seconds that it took."""
        self.send(statement + ";\n")
        lines = []
        for line in self.process.stdout:
            if took := re.fullmatch(r"Time: ([\d.]+) (µs|ms|s)\n", line):
                return "".join(lines), float(took[1]) * {"µs": 1e-6, "ms": 1e-3, "s": 1}[took[2]]
            lines.append(line)
        sys.exit("mpga ended: " + "".join(lines))


def cell(value):
    """Returns a value as both engines write it."""
    if value is None or value == "":
        return ""
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    try:
        return f"{float(value):.6g}"
    except (TypeError, ValueError):
        return str(value)


def main():
    args = argparse.ArgumentParser(description="mpga beside DuckDB over a folder of tables and statements")
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--device", default="auto", help="as mpga has it")
    args.add_argument("--only", default="*", help="a pattern of the statements' names")
    args.add_argument("mpga")
    args.add_argument("folder", type=pathlib.Path)
    args = args.parse_args()
    peer = duckdb.connect(config={"threads": args.threads})
    command = [args.mpga, "shell", "--threads", str(args.threads), "--device", args.device]
    for file in sorted(args.folder.glob("*.parquet")):
        peer.execute(f"CREATE VIEW {file.stem} AS FROM '{file}'")
        command += ["--table", f"{file.stem}={file}"]
    shell = Shell(command)
    results, differ = [], []
    for file in sorted(args.folder.glob(args.only + ".sql")):
        statement = file.read_text().strip().rstrip(";")
        took = []  # of a round: both clocks, both times of the CPU
        for _ in range(args.rounds):
            begun, peers, ours = time.perf_counter(), time.process_time(), shell.cpu()
            want = peer.execute(statement).fetchall()
            theirs, peers = time.perf_counter() - begun, time.process_time() - peers
            text, own = shell.ask(statement)
            took.append((theirs, own, peers, shell.cpu() - ours))
        got = sorted([cell(v) for v in row or [""]] for row in list(csv.reader(io.StringIO(text)))[1:])
        if got != sorted([cell(v) for v in row] for row in want):
            differ.append(file.stem)
        theirs, own, peers, ours = (statistics.median(column) for column in zip(*took))
        results.append((theirs / own, file.stem, theirs, own, peers / max(ours, 0.005)))
    for ratio, name, theirs, own, cpu in sorted(results):
        print(f"{name:15} duckdb {theirs:7.3f}  mpga {own:7.3f}  ratio {ratio:5.2f}  of the CPU {cpu:5.2f}")
    mean, cpu = (math.exp(statistics.fmean(math.log(r[i]) for r in results)) for i in (0, 4))
    print(f"geometric mean {mean:.2f}, of the CPU {cpu:.2f}, in all {sum(r[2] for r in results):.2f} and",
          f"{sum(r[3] for r in results):.2f} s, other answers: {', '.join(differ) or 'none'}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
