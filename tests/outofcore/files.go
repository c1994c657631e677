package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// fileLine is what a Parquet file of one number of groups took.
type fileLine struct {
	groups    float64
	auto, cpu measured
	duckDB    float64 // seconds
}

// runFiles measures Parquet files, one at a time, which are removed.
func runFiles(ctx context.Context, o *options, out io.Writer) (lines []fileLine, err error) {
	dir, err := os.MkdirTemp("", "outofcore")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, groups := range o.inFiles {
		l, err := runFile(ctx, o, groups, filepath.Join(dir, "pairs.parquet"))
		if err != nil {
			return nil, fmt.Errorf("Parquet, %g groups: %w", groups, err)
		}
		lines = append(lines, l)
		fmt.Fprintf(out, "Parquet, %g groups: DuckDB %.3f s; mpga auto %.3f s (%.1f times; first %.3f s), %s, %.2f GB resident; cpu %.3f s (%.1f times), %.2f GB resident; input and result %.2f GB\n",
			groups, l.duckDB, l.auto.Seconds, l.duckDB/l.auto.Seconds, l.auto.First, l.auto.Stats.Route, l.auto.resident(), l.cpu.Seconds, l.duckDB/l.cpu.Seconds, l.cpu.resident(), l.auto.needed())
	}
	return lines, nil
}

// runFile measures a file that mpga generates; every key comes at least once.
func runFile(ctx context.Context, o *options, groups float64, file string) (l fileLine, err error) {
	l.groups = groups
	cmd := exec.CommandContext(ctx, o.command, "gen", "pairs", "--rows", fmt.Sprint(o.files), "--groups", fmt.Sprint(groups),
		"--key", "uint32", "--value", "uint32", "-o", file)
	if text, err := cmd.CombinedOutput(); err != nil {
		return l, fmt.Errorf("%w: %s", err, text)
	}
	if l.auto, err = runMpga(ctx, o, groups, "--input", file, "--device", "auto"); err == nil {
		l.cpu, err = runMpga(ctx, o, groups, "--input", file, "--device", "cpu")
	}
	if err != nil {
		return l, fmt.Errorf("mpga: %w", err)
	}
	if l.duckDB, err = runDuckDB(ctx, o, groups, fmt.Sprintf("create view t as select key as k, value as v from read_parquet('%s')", file)); err != nil {
		return l, fmt.Errorf("DuckDB: %w", err)
	}
	return l, nil
}
