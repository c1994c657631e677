package main

import (
	"fmt"
	"runtime"
	"strings"
)

// markdown returns the tables.
func markdown(o *options, lines []line, files []fileLine) string {
	var b strings.Builder
	if len(lines) > 0 {
		fmt.Fprintf(&b, "| %g rows in memory | DuckDB, %d threads | mpga, with a GPU | times | floor of the link | first run | resident | input and result |\n|---|---|---|---|---|---|---|---|\n", o.rows, runtime.NumCPU())
	}
	for _, l := range lines {
		m := &l.mpga
		fmt.Fprintf(&b, "| %g groups | %.2f s | %.3f s | %.1f | %.3f s | %.2f s | %.2f GB | %.2f GB |\n",
			l.groups, l.duckDB, m.Seconds, l.duckDB/m.Seconds, m.Floor, m.First, m.resident(), m.needed())
	}
	if len(files) > 0 {
		fmt.Fprintf(&b, "\n| %g rows of Parquet | DuckDB, %d threads | mpga auto | times | first run | mpga on the CPU | times | resident |\n|---|---|---|---|---|---|---|---|\n", o.files, runtime.NumCPU())
	}
	for _, l := range files {
		fmt.Fprintf(&b, "| %g groups | %.2f s | %.3f s | %.1f | %.2f s | %.3f s | %.1f | %.2f GB |\n",
			l.groups, l.duckDB, l.auto.Seconds, l.duckDB/l.auto.Seconds, l.auto.First, l.cpu.Seconds, l.duckDB/l.cpu.Seconds, l.auto.resident())
	}
	return b.String()
}
