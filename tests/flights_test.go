package tests

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/mpga/mpga/engine/scan/dataset"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
)

// Every function of every column that it suits, over the real flights of 2001, beside DuckDB.
func TestFlights(t *testing.T) {
	file := filepath.Join("testdata", "flights-2001.parquet")
	db := openDuckDB(t)
	src := openFiles(t, dataset.Options{}, file)
	if err := db.LoadParquet(file, src.Schema()); err != nil {
		t.Fatal(err)
	}
	byKeys := [][]string{nil, {"origin"}, {"origin", "destination"}, {"delay"}, {"date"}}
	for _, keys := range byKeys {
		t.Run(fmt.Sprint("by ", keys), func(t *testing.T) {
			q := query.Query{Aggregates: []query.Aggregate{
				{Func: query.CountStar}, {Func: query.Avg, Args: []string{"delay"}}, {Func: query.Median, Args: []string{"delay"}},
				{Func: query.QuantileCont, Args: []string{"delay"}, Fraction: 0.9}, {Func: query.Max, Args: []string{"distance"}},
				{Func: query.ArgMax, Args: []string{"destination", "distance"}}, {Func: query.StddevSamp, Args: []string{"delay"}},
				{Func: query.Corr, Args: []string{"delay", "distance"}}, {Func: query.CountDistinct, Args: []string{"destination"}},
				{Func: query.Mode, Args: []string{"destination"}}, {Func: query.MaxN, Args: []string{"delay"}, Length: 3},
				{Func: query.First, Args: []string{"origin"}}, {Func: query.Sum, Args: []string{"delay"}},
			}}
			for _, k := range keys {
				q.Keys = append(q.Keys, query.Key{Column: k})
			}
			compareFile(t, db, src, q)
		})
	}
	for _, f := range query.Funcs() {
		t.Run(f.String(), func(t *testing.T) {
			for _, q := range flightQueries(src, f) {
				compareFile(t, db, src, q)
			}
		})
	}
}

// flightQueries asks one function of every column, or pair of columns, that it suits.
func flightQueries(src scan.Source, f query.Func) []query.Query {
	fields := src.Schema().Fields()
	var list []query.Query
	add := func(args ...string) {
		a := query.Aggregate{Func: f, Args: args, Fraction: 0.3, Length: 5, Separator: "-"}
		list = append(list, query.Query{Keys: []query.Key{{Column: "origin"}}, Aggregates: []query.Aggregate{a}})
	}
	for _, x := range fields {
		if f.Args() == 1 && grouptest.Suits(f, x.Type) {
			add(x.Name)
		}
		for _, y := range fields {
			if f.Args() == 2 && grouptest.Suits(f, x.Type, y.Type) {
				add(x.Name, y.Name)
			}
		}
	}
	return list
}
