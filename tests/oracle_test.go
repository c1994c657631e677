package tests

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/tests/oracle"
)

// openDuckDB starts a database that ends with the test: of the DuckDB that -duckdb-python names, or of the linked one.
func openDuckDB(t testing.TB) *oracle.DuckDB {
	t.Helper()
	db, err := oracle.Open(1, startPeer(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// The Go-map oracle, which every route is held to, answers its own cases as DuckDB does.
func TestOracleAgainstDuckDB(t *testing.T) {
	db := openDuckDB(t)
	for _, c := range grouptest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			if strings.Contains(c.Name, "negative scale") {
				t.Skip("DuckDB has no negative scales")
			}
			c.Query = db.Answerable(c.Query)
			want, wantErr := c.Want()
			compareDuckDB(t, db, c.Schema, c.Batches(), c.Query, want, wantErr)
		})
	}
}

// compareDuckDB holds the Go-map oracle's answer against DuckDB's.
func compareDuckDB(t *testing.T, db *oracle.DuckDB, schema *arrow.Schema, batches []arrow.RecordBatch, q query.Query, want *grouptest.Rows, wantErr error) {
	t.Helper()
	if err := db.Load(schema, batches); err != nil {
		t.Fatal(err)
	}
	got, err := db.Answer(schema, q)
	if errors.Is(wantErr, grouptest.ErrOverflow) && errors.Is(err, grouptest.ErrOverflow) {
		return
	}
	if errors.Is(err, grouptest.ErrOverflow) && averagesDecimals(schema, q) {
		return // DuckDB's avg of decimals overflows with their sum
	}
	if err != nil || wantErr != nil {
		t.Fatalf("DuckDB answers with the error %v, the Go-map oracle with %v", err, wantErr)
	}
	if err := grouptest.Equal(loosened(q, want), got); err != nil {
		t.Errorf("DuckDB differs from the Go-map oracle: %v", err)
	}
}

func averagesDecimals(schema *arrow.Schema, q query.Query) bool {
	return slices.ContainsFunc(q.Aggregates, func(a query.Aggregate) bool {
		if a.Func != query.Avg {
			return false
		}
		field, _ := schema.FieldsByName(a.Args[0])
		return arrow.IsDecimal(field[0].Type.ID())
	})
}

// loosened allows DuckDB what it loses: digits of skewness and kurtosis, which it computes from
// sums of powers, and of quantiles of times, which go through doubles; and that its mode counts no
// NaN.
func loosened(q query.Query, want *grouptest.Rows) *grouptest.Rows {
	loose := &grouptest.Rows{Schema: want.Schema, Keys: want.Keys}
	for _, row := range want.Cells {
		cells := append([]any(nil), row...)
		for i, a := range q.Aggregates {
			cells[want.Keys+i] = loosenedCell(a.Func, cells[want.Keys+i])
		}
		loose.Cells = append(loose.Cells, cells)
	}
	return loose
}

// conditionMax is where DuckDB's skewness and kurtosis keep some digits: its fourth power is 1e12.
const conditionMax = 1000

func loosenedCell(f query.Func, cell any) any {
	moments := f == query.Skewness || f == query.Kurtosis
	switch cell := cell.(type) {
	case grouptest.Approx:
		if moments && cell.Condition > conditionMax {
			return grouptest.Unspecified{}
		}
		if moments {
			cell.Tolerance *= math.Pow(cell.Condition, 4)
		}
		return cell
	case grouptest.Near:
		cell.Tolerance += int64(math.Abs(float64(cell.Value)) / (1 << 50))
		return cell
	case nil:
		if moments {
			return grouptest.Unspecified{} // a constant
		}
	case float64:
		if moments || f == query.Mode && math.IsNaN(cell) {
			return grouptest.Unspecified{} // a constant; or DuckDB takes each NaN for a value of its own
		}
	}
	return cell
}
