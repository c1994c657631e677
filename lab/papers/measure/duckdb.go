package measure

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/lab/pairs"
)

// duckDBScript loads the rows of a Parquet file into a table in memory, and times the query over it.
//
//go:embed duckdb.py
var duckDBScript string

// duckDBAnswer is what the script prints.
type duckDBAnswer struct {
	Version string
	Seconds float64 // median
	Groups  int64
	Sum     uint64
}

// askDuckDB times DuckDB's answer to the query of an input, with all threads. Where DuckDB is not installed, why says
// so.
func askDuckDB(ctx context.Context, in *pairs.Input) (seconds float64, why string, err error) {
	if exec.CommandContext(ctx, "python3", "-c", "import duckdb").Run() != nil {
		return 0, "DuckDB is not installed for python3: it has no column.", nil
	}
	dir, err := os.MkdirTemp("", "mpga-paper-")
	if err != nil {
		return 0, "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "pairs.parquet")
	if err := writeParquet(ctx, file, in.Batches); err != nil {
		return 0, "", err
	}
	seconds, err = runDuckDB(ctx, file, in)
	return seconds, "", err
}

// writeParquet writes batches to a file.
func writeParquet(ctx context.Context, file string, batches []arrow.RecordBatch) (err error) {
	w, err := sink.Create(context.Background(), file, batches[0].Schema(), sink.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }() // nothing after Commit
	for _, b := range batches {
		if err := cmp.Or(ctx.Err(), w.Write(b)); err != nil {
			return err
		}
	}
	return w.Commit()
}

// runDuckDB runs the script over a file, and checks its answer.
func runDuckDB(ctx context.Context, file string, in *pairs.Input) (seconds float64, err error) {
	cmd := exec.CommandContext(ctx, "python3", "-c", duckDBScript, file, fmt.Sprint(runtime.GOMAXPROCS(0)))
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("DuckDB: %w: %s", err, strings.TrimSpace(messages.String()))
	}
	var answer duckDBAnswer
	if err := json.Unmarshal(out, &answer); err != nil {
		return 0, fmt.Errorf("DuckDB: %w", err)
	}
	if answer.Groups != in.Groups || answer.Sum != in.Sum {
		return 0, fmt.Errorf("DuckDB %s has %d groups with a sum of %d, mpga %d with %d: an answer is wrong",
			answer.Version, answer.Groups, answer.Sum, in.Groups, in.Sum)
	}
	return answer.Seconds, nil
}
