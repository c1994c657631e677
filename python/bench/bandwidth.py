"""Measure how fast rows go to the server and come back, and how long a small query takes.

    python python/bench/bandwidth.py [--gigabytes 0.5] [--times 5]

Each figure is the best of several times: what else runs on the machine only makes it slower.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=0.5, help="how large the table is")
    parser.add_argument("--times", type=int, default=5)
    args = parser.parse_args()

    def started(program: str) -> float:
        return min(
            seconds(lambda: subprocess.run([sys.executable, "-c", program], check=True)) for _ in range(args.times)
        )

    print(f"import mpga       {1e3 * (started('import mpga') - started('')):8.1f} ms")

    import mpga

    def one() -> None:
        mpga.sql("select 1").fetchall()

    print(f"first answer      {1e3 * seconds(one):8.1f} ms, with the imports and the start of the server")
    small = [seconds(one) for _ in range(200)]
    print(f"SELECT 1          {1e3 * statistics.median(small):8.2f} ms, the median; {1e3 * min(small):.2f} at best")

    import pyarrow as pa

    rows = int(args.gigabytes * 1e9 / 24)
    numbers = pa.array(range(1 << 20), pa.int64())
    floats = numbers.cast(pa.float64())
    copies = rows // len(numbers) + 1
    one = pa.table({"i": numbers, "x": floats, "y": floats})
    table = pa.concat_tables([one] * copies).combine_chunks()
    size = table.nbytes / 1e9

    def put() -> None:
        again = table.slice(0)  # another object, which is sent again
        mpga.sql("select count(*) from t", t=again)

    def get() -> None:
        mpga.sql("select i, x, y from t", t=table).arrow()

    get()  # has sent the table
    for name, call in (("Python to server", put), ("server to Python", get)):
        best = min(seconds(call) for _ in range(args.times))
        print(f"{name}  {size / best:8.2f} GB/s, {size:.2f} GB in {best:.2f} s")


if __name__ == "__main__":
    main()
