//go:build cgo

package flightsql

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"

	"github.com/mpga/mpga/internal/rowdata"
)

// Messages have few bytes, also where rows are of very different sizes, and all rows in their order.
// Would catch a message that clients refuse.
func TestSplit(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	const rows = 3000
	long := strings.Repeat("x", 3<<20)
	for n := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(n))
		text, list := "", 0
		switch {
		case n == 1000, n == 2999:
			text = long
		case n > 2000 && n < 2100:
			text, list = long[:100_000], 10_000
		}
		b.Field(1).(*array.StringBuilder).Append(text)
		b.Field(2).(*array.ListBuilder).Append(true)
		for i := range list {
			b.Field(2).(*array.ListBuilder).ValueBuilder().(*array.Int64Builder).Append(int64(i))
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	next, parts := int64(0), 0
	if err := split(batch, func(part arrow.RecordBatch) error {
		if bytes := rowdata.BatchBytes(part); bytes > messageBytesMax && part.NumRows() > 1 {
			t.Errorf("%d bytes in %d rows", bytes, part.NumRows())
		}
		for _, n := range part.Column(0).(*array.Int64).Values() {
			if n != next {
				t.Fatalf("row %d, want %d", n, next)
			}
			next++
		}
		parts++
		return nil
	}); err != nil || next != rows {
		t.Errorf("%d rows, %v", next, err)
	}
	if parts > 60 { // of 24 MB
		t.Errorf("%d messages", parts)
	}
}

// Columns of results have types that drivers know: NULL has one, and Java gets no unsigned integers.
func TestTypesOfClients(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	const text = "SELECT NULL AS z, 255::UTINYINT AS a, 65535::USMALLINT AS b, 4294967295::UINTEGER AS c, " +
		"18446744073709551615::UBIGINT AS d, 1.5::DECIMAL(4, 2) AS e"
	for agent, want := range map[string]string{
		"grpc-java-netty/1.71.0": "int32 int16 int32 int64 decimal(20, 0) decimal(4, 2)",
		"any":                    "int32 uint8 uint16 uint32 uint64 decimal(4, 2)",
	} {
		c := h.dial(t, grpc.WithUserAgent(agent))
		info, err := c.Execute(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.DoGet(t.Context(), info.Endpoint[0].Ticket)
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, f := range r.Schema().Fields() {
			types = append(types, f.Type.String())
		}
		if got := strings.Join(types, " "); got != want {
			t.Errorf("%s: %s, want %s", agent, got, want)
		}
		r.Release()
		got, err := rowsOfInfo(t.Context(), c, info)
		if err != nil || !strings.HasPrefix(got, "(null) 255 65535 4294967295 18446744073709551615 1.5") {
			t.Errorf("%s: %q, %v", agent, got, err)
		}
	}
}

// Values of parameters give the columns of a result their types, which the client is told before the
// rows come; names stay what they are. A statement without a result is prepared like others.
func TestPrepared(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	c, ctx := h.dial(t), t.Context()
	st, err := c.Prepare(ctx, "SELECT ?, n + ? FROM t WHERE n = 3")
	if err != nil {
		t.Fatal(err)
	}
	if got := st.DatasetSchema().Field(0); got.Name != "$1" || got.Type.ID() != arrow.STRING {
		t.Errorf("before values: %s", got)
	}
	for _, test := range []struct {
		json       string
		type1      arrow.DataType
		want, name string
	}{
		{`[{"1": 5, "2": 1}]`, arrow.PrimitiveTypes.Int64, "5 4", "(n + $2)"},
		{`[{"1": "a", "2": 2}]`, arrow.BinaryTypes.String, "a 5", "(n + $2)"},
		{`[{"1": true, "2": 1}, {"1": false, "2": 4}]`, arrow.FixedWidthTypes.Boolean, "true 4, false 7", "(n + $2)"},
	} {
		schema := arrow.NewSchema([]arrow.Field{
			{Name: "1", Type: test.type1, Nullable: true}, {Name: "2", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		}, nil)
		values, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(test.json))
		if err != nil {
			t.Fatal(err)
		}
		st.SetParameters(values)
		info, err := st.Execute(ctx)
		if err != nil {
			t.Fatal(err)
		}
		told, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
		if err != nil || !arrow.TypeEqual(told.Field(0).Type, test.type1) || told.Field(1).Name != test.name {
			t.Errorf("%s: told %v, %v", test.json, told, err)
		}
		if got, err := rowsOfInfo(ctx, c, info); err != nil || got != test.want {
			t.Errorf("%s: %q, %v", test.json, got, err)
		}
		values.Release()
	}
	if n, err := c.ExecuteUpdate(ctx, "CREATE TEMP TABLE mine AS SELECT n FROM t WHERE n < 4"); err != nil || n != 4 {
		t.Errorf("a table of %d rows, %v", n, err)
	}
	if got, err := ask(ctx, c, "CREATE OR REPLACE VIEW few AS SELECT sum(n) FROM mine"); err != nil || got != "" {
		t.Errorf("making a view: %q, %v", got, err)
	}
	if got, err := ask(ctx, c, "SELECT * FROM few"); err != nil || got != "6" {
		t.Errorf("a view: %q, %v", got, err)
	}
	three, _, err := array.RecordFromJSON(memory.DefaultAllocator,
		arrow.NewSchema([]arrow.Field{{Name: "1", Type: arrow.PrimitiveTypes.Int64}}, nil), strings.NewReader(`[{"1": 3}]`))
	if err != nil {
		t.Fatal(err)
	}
	defer three.Release()
	given, err := c.Prepare(ctx, "CREATE TABLE given AS SELECT n FROM t WHERE n < ?")
	if err != nil {
		t.Fatal(err)
	}
	given.SetParameters(three)
	if n, err := given.ExecuteUpdate(ctx); err != nil || n != 3 {
		t.Errorf("a table by a parameter: %d rows, %v", n, err)
	}
	if _, err := c.ExecuteUpdate(ctx, "CREATE TABLE mine AS SELECT 1"); err == nil {
		t.Error("a name that is taken is no error")
	}
	drop, err := c.Prepare(ctx, "DROP TABLE IF EXISTS mine")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := drop.ExecuteUpdate(ctx); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	if info, err := drop.Execute(ctx); err != nil {
		t.Error(err)
	} else if got, err := rowsOfInfo(ctx, c, info); err != nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	h.lives(t)
}
