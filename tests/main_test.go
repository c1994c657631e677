// Package tests holds mpga against DuckDB, and against the faults of a file system. It is a module
// of its own, so that DuckDB is no dependency of the library.
//
//	go test ./...                                                  a few minutes
//	go test -run TestRandomAgainstDuckDB -seed=7 -queries=10000    -timeout=1h
//	go test -run TestSQLRandom -seed=7 -sqlqueries=10000 -duckdb-python=python3 -timeout=1h
//	                                                               random SQL beside DuckDB 2.0.0 of a Python
//	go test -run TestSQLRandom -seed=7 -first=5000 -sqlqueries=100 -sqldevice=host:64MiB
//	go test -run TestSQLRandom -seed=7 -sqlqueries=100 -sqldevice=host:64MiB -sqljoin=phj-tr
//	                                                               the statements from 5000 on, on a GPU's double
//	go test -run TestDistRandomSQL -seed=7 -distqueries=1000       random SQL in parts, beside one run
//	go test -run 'TestDist.*Faults' -distfaults                    each operation and each request of a plan's tasks fails
//	go test -run TestH2O -large                                    1e7 rows
//	go test -run TestConservation -large -timeout=1h               1e9 rows, 10 GB of temp directory
//	go run ./bench -rows 1e7 -threads 2                            times beside those of DuckDB 2
//
// -duckdb-python names a Python with DuckDB 2.0.0, the reference, which answers every comparison then; without it the
// DuckDB 1.5.5 of the Go driver does. SEMANTICS.md says what is compared.
package tests

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind: not of a query that was read to its end, failed or abandoned.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if buildDir != "" {
			if err := os.RemoveAll(buildDir); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = max(code, 1)
			}
		}
		os.Exit(code)
	}))
}
