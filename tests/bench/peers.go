package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/tests/peer"
)

// mpga is the name of mpga's column in the report.
const mpga = "mpga"

// allEngines lists the columns of the report.
var allEngines = []string{mpga, peer.DuckDB, peer.ClickHouse, peer.Polars}

// findOthers finds the engines beside DuckDB that Python has. An engine that cannot be imported is
// left out with a note.
func (b *bench) findOthers() {
	for _, engine := range []string{peer.ClickHouse, peer.Polars} {
		if _, err := b.peers.Version(engine); err != nil {
			fmt.Fprintf(os.Stderr, "bench: without %s: %v\n", engine, err)
			continue
		}
		b.others = append(b.others, engine)
	}
}

// engines returns the engines that are measured.
func (b *bench) engines() []string { return append([]string{mpga, peer.DuckDB}, b.others...) }

// measureOthers adds the runs of the engines beside DuckDB, one engine after the other: the rows of
// all of them would not fit memory at once. An engine that cannot answer is left out with a note;
// an answer that differs is an error.
func (b *bench) measureOthers(ctx context.Context, c benchCase, want peer.Answer, measured peer.Samples) error {
	file, err := c.input.path(ctx, b.dir)
	if err != nil {
		return err
	}
	for _, engine := range b.others {
		s := polarsStatements(c, file)
		if engine == peer.ClickHouse {
			s = clickHouseStatements(c, file)
		}
		samples, a, err := b.measureOther(ctx, engine, s)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", c.name, err)
		case !want.Equal(a):
			return fmt.Errorf("%s and %s answer differently: %s; %s", mpga, engine, want, a)
		default:
			measured[engine] = samples[engine]
		}
	}
	return nil
}

// statements are what an engine is told for a case.
type statements struct {
	setup, drop []string // make the table t and take it away; nil where the query reads a file
	query       string
}

func (b *bench) measureOther(ctx context.Context, engine string, s statements) (_ peer.Samples, _ peer.Answer, err error) {
	if err := b.peers.Run(engine, s.setup...); err != nil {
		return nil, peer.Answer{}, err
	}
	defer func() { err = errors.Join(err, b.peers.Run(engine, s.drop...)) }()
	return peer.Measure(ctx, []peer.Contender{b.peers.Contender(engine, s.query)}, b.times, peer.Answer.Equal)
}

// clickHouseStatements asks the query of a case in the words of ClickHouse.
func clickHouseStatements(c benchCase, file string) (s statements) {
	format := "Parquet"
	if c.input.kind == h2oCSV {
		format = "CSVWithNames"
	}
	table := fmt.Sprintf("file(%s, %s)", peer.Literal(file), format)
	if c.input.kind == inMemory {
		s.setup = []string{"CREATE TABLE t ENGINE = Memory AS SELECT * FROM " + table}
		s.drop = []string{"DROP TABLE t SYNC"}
		table = "t"
	}
	keys := keysOf(c.query)
	columns := slices.Clone(keys)
	for _, a := range c.query.Aggregates {
		columns = append(columns, clickHouseCall(a))
	}
	s.query = fmt.Sprintf("SELECT %s FROM %s GROUP BY %s", strings.Join(columns, ", "), table, strings.Join(keys, ", "))
	return s
}

func clickHouseCall(a query.Aggregate) string {
	args := strings.Join(a.Args, ", ")
	switch a.Func {
	case query.CountStar:
		return "count()"
	case query.Median:
		return "quantileExactInclusive(0.5)(" + args + ")"
	case query.StddevSamp:
		return "stddevSampStable(" + args + ")"
	case query.Corr:
		return "corrStable(" + args + ")"
	case query.MaxN: // there is no groupArraySorted from above
		return fmt.Sprintf("arrayMap(x -> -x, groupArraySorted(%d)(-%s))", a.Length, args)
	}
	return a.Func.String() + "(" + args + ")"
}

// polarsStatements asks the query of a case in the words of Polars, which has no SQL for all of
// them.
func polarsStatements(c benchCase, file string) (s statements) {
	scan := fmt.Sprintf("pl.scan_parquet(%q)", file)
	if c.input.kind == h2oCSV {
		scan = fmt.Sprintf("pl.scan_csv(%q)", file)
	}
	if c.input.kind == inMemory {
		s.setup, s.drop = []string{"t = " + scan + ".collect().lazy()"}, []string{"del t"}
		scan = "t"
	}
	columns := make([]string, len(c.query.Aggregates))
	for i, a := range c.query.Aggregates {
		columns[i] = fmt.Sprintf("%s.alias('c%d')", polarsCall(a), i)
	}
	s.query = fmt.Sprintf("%s.group_by('%s').agg(%s)", scan, strings.Join(keysOf(c.query), "', '"), strings.Join(columns, ", "))
	return s
}

func polarsCall(a query.Aggregate) string {
	method, known := map[query.Func]string{
		query.Sum: "sum()", query.Avg: "mean()", query.Min: "min()", query.Max: "max()", query.Median: "median()",
		query.StddevSamp: "std()", query.MaxN: fmt.Sprintf("top_k(%d)", a.Length),
	}[a.Func]
	switch {
	case a.Func == query.CountStar:
		return "pl.len()"
	case known:
		return fmt.Sprintf("pl.col('%s').%s", a.Args[0], method)
	}
	return fmt.Sprintf("pl.%s('%s')", a.Func, strings.Join(a.Args, "', '"))
}

func keysOf(q query.Query) []string {
	keys := make([]string, len(q.Keys))
	for i, k := range q.Keys {
		keys[i] = k.Column
	}
	return keys
}
