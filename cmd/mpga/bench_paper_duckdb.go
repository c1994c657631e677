package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/gen"
)

// duckDBScript loads the rows of a Parquet file into a table in memory, and times the query over it.
//
//go:embed bench_paper_duckdb.py
var duckDBScript string

// duckDBAnswer is what the script prints.
type duckDBAnswer struct {
	Version string
	Seconds float64 // median
	Groups  int64
	Sum     uint64
}

// askDuckDB times DuckDB's answer to the query of an input whose rows options describe, with all threads. Where
// DuckDB is not installed, why says so.
func askDuckDB(ctx context.Context, opt gen.PairsOptions, in *outOfCore) (seconds float64, why string, err error) {
	if exec.CommandContext(ctx, "python3", "-c", "import duckdb").Run() != nil {
		return 0, "DuckDB is not installed for python3: it has no column.", nil
	}
	dir, err := os.MkdirTemp("", "mpga-paper-")
	if err != nil {
		return 0, "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "pairs.parquet")
	table, err := gen.Pairs(opt)
	if err != nil {
		return 0, "", err
	}
	if err := writeTable(ctx, table, []string{file}, sink.Options{}, runtime.GOMAXPROCS(0)); err != nil {
		return 0, "", err
	}
	return runDuckDB(ctx, file, in)
}

// runDuckDB runs the script over a file, and checks its answer.
func runDuckDB(ctx context.Context, file string, in *outOfCore) (seconds float64, why string, err error) {
	cmd := exec.CommandContext(ctx, "python3", "-c", duckDBScript, file, fmt.Sprint(runtime.GOMAXPROCS(0)))
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		return 0, "", fmt.Errorf("DuckDB: %w: %s", err, strings.TrimSpace(errors.String()))
	}
	var answer duckDBAnswer
	if err := json.Unmarshal(out, &answer); err != nil {
		return 0, "", fmt.Errorf("DuckDB: %w", err)
	}
	if answer.Groups != in.groups || answer.Sum != in.sum {
		return 0, "", fmt.Errorf("DuckDB %s has %d groups with a sum of %d, mpga %d with %d: an answer is wrong",
			answer.Version, answer.Groups, answer.Sum, in.groups, in.sum)
	}
	return answer.Seconds, "", nil
}
