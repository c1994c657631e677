//go:build cgo

package flightsql

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The data source of Grafana for Flight SQL asks for SqlInfo to try a connection, for tables with
// their schemas to offer columns, and runs queries whose macros have become timestamps in quotes.
func TestGrafana(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	c, ctx := h.dial(t), t.Context()
	text := func(info *flight.FlightInfo, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		got, err := rowsOfInfo(ctx, c, info)
		if err != nil {
			t.Error(err)
		}
		return got
	}
	if got := text(c.GetSqlInfo(ctx, []fsql.SqlInfo{fsql.SqlInfoFlightSqlServerName, fsql.SqlInfoFlightSqlServerArrowVersion, fsql.SqlInfoKeywords})); got == "" {
		t.Error("SqlInfo is empty")
	}
	any, name := "%", "t"
	const at = "TIMESTAMP '2001-01-01 05:06:07'"
	for what, test := range map[string]struct{ got, want string }{
		"catalogs":         {text(c.GetCatalogs(ctx)), "mpga"},
		"schemas":          {text(c.GetDBSchemas(ctx, &fsql.GetDBSchemasOpts{})), "mpga main, mpga temp"},
		"tables":           {text(c.GetTables(ctx, &fsql.GetTablesOpts{TableNameFilterPattern: &any})), "mpga main t TABLE"},
		"types":            {text(c.GetTables(ctx, &fsql.GetTablesOpts{TableTypes: []string{"BASE TABLE", "VIEW"}})), ""},
		"a time filter":    {text(c.Execute(ctx, "SELECT count(*) FROM t WHERE "+at+" >= '2001-01-01T00:00:00Z' AND "+at+" <= '2001-01-02T00:00:00Z'")), "10"},
		"a time grouping":  {text(c.Execute(ctx, "SELECT date_trunc('hour', "+at+") AS time, count(*) AS n FROM t GROUP BY time ORDER BY time")), "2001-01-01T05:00:00 10"},
		"a table's fields": {text(c.Execute(ctx, "SELECT * FROM main.t LIMIT 0")), ""},
	} {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", what, test.got, test.want)
		}
	}
	info, err := c.GetTables(ctx, &fsql.GetTablesOpts{TableNameFilterPattern: &name, IncludeSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		schema, err := flight.DeserializeSchema(r.RecordBatch().Column(4).(*array.Binary).Value(0), memory.DefaultAllocator)
		if err != nil || schema.NumFields() != 3 || schema.Field(2).Name != "s" || schema.Field(2).Type.ID() != arrow.STRING {
			t.Errorf("%v, %v", schema, err)
		}
	}
	if r.Err() != nil {
		t.Error(r.Err())
	}
}

// Tools that show databases qualify and quote all names, and ask for keys and types whether a
// database has any or not.
func TestNamesOfTools(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	c, ctx := h.dial(t), t.Context()
	for _, text := range []string{
		`SELECT max(x.n) FROM mpga.main.t x`, `SELECT max(t.n) FROM main.t`, `SELECT max("t"."n") FROM "mpga"."main"."t"`,
		`SELECT max("x"."n") FROM "mpga"."main"."t" AS "x" WHERE "x"."n" >= 0`, `SELECT max(N) FROM MAIN.T`,
		"/* a tool */ SELECT max(n) -- of all\nFROM t;",
	} {
		if got, err := ask(ctx, c, text); err != nil || got != "9" {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	if got, err := ask(ctx, c, "SELECT x.* FROM mpga.main.t x ORDER BY x.n LIMIT 1"); err != nil || got != "0 0 text 0" {
		t.Errorf("%q, %v", got, err)
	}
	ref := fsql.TableRef{Table: "t"}
	for what, call := range map[string]func() (*flight.FlightInfo, error){
		"primary keys":    func() (*flight.FlightInfo, error) { return c.GetPrimaryKeys(ctx, ref) },
		"imported keys":   func() (*flight.FlightInfo, error) { return c.GetImportedKeys(ctx, ref) },
		"exported keys":   func() (*flight.FlightInfo, error) { return c.GetExportedKeys(ctx, ref) },
		"cross reference": func() (*flight.FlightInfo, error) { return c.GetCrossReference(ctx, ref, ref) },
	} {
		info, err := call()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rowsOfInfo(ctx, c, info); err != nil || got != "" {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	number := int32(-5)
	for only, want := range map[*int32]int{nil: len(sqlTypes), &number: 2} {
		info, err := c.GetXdbcTypeInfo(ctx, only)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for r.Next() {
			rows += int(r.RecordBatch().NumRows())
		}
		r.Release()
		if rows != want || r.Err() != nil {
			t.Errorf("%d types, want %d; %v", rows, want, r.Err())
		}
	}
}

// Patterns are those of JDBC, and take no time however they are made.
func TestMatches(t *testing.T) {
	long := make([]byte, 0, 20_000)
	for range 10_000 {
		long = append(long, "%a"...)
	}
	as := make([]byte, 10_000)
	for i := range as {
		as[i] = 'a'
	}
	for _, test := range []struct {
		name, pattern string
		want          bool
	}{
		{"", "", true}, {"a", "", false}, {"", "%", true}, {"a", "%", true}, {"ab", "a", false}, {"ab", "a%", true}, {"ab", "%b", true},
		{"ab", "_b", true}, {"ab", "__", true}, {"ab", "___", false}, {"a_b", `a\_b`, true}, {"axb", `a\_b`, false}, {"a%", `a\%`, true},
		{"ab", `a\%`, false}, {`a\`, `a\\`, true}, {"abcabd", "%abd", true}, {"abab", "%ab%ab%", true}, {"aab", "%ab%ab%", false}, {"ééx", "é_x", true},
		{string(as) + "b", string(long), false}, {string(as), string(long), true}, {"a", "%%%%", true}, {"", "_", false},
	} {
		if got := matches(test.name, &test.pattern); got != test.want {
			t.Errorf("%.20q fits %.20q: %v", test.name, test.pattern, got)
		}
	}
	if !matches("x", nil) {
		t.Error("no pattern must fit all names")
	}
}
