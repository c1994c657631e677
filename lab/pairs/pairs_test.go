package pairs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
)

func load(t *testing.T) (*Input, *engine.Engine) {
	t.Helper()
	table, err := gen.Pairs(gen.PairsOptions{Rows: 10_000, Groups: 100, Key: arrow.PrimitiveTypes.Int64,
		Value: arrow.PrimitiveTypes.Int64, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	in, err := Load(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Release)
	eng, err := engine.Open(engine.Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	return in, eng
}

// Would catch an answer that is not checked (I1, I2), a run too few, and a wrong size of the input.
func TestTime(t *testing.T) {
	in, eng := load(t)
	seconds, last, err := in.Time(t.Context(), eng, 3)
	if err != nil || len(seconds) != 3 || last.Groups != 100 || in.Groups != 100 || in.Rows != 10_000 ||
		in.Bytes != 160_000 {
		t.Errorf("%v, %v s, %d groups, %+v", err, seconds, last.Groups, in)
	}
	in.Groups++
	_, _, err = in.Time(t.Context(), eng, 1)
	if err == nil || !strings.Contains(err.Error(), "100 groups, and other answers have 101") {
		t.Errorf("I2: %v", err)
	}
	in.Groups, in.Sum = 0, in.Sum+1
	if _, _, err := in.Time(t.Context(), eng, 1); err == nil || !strings.Contains(err.Error(), "sums do not add up") {
		t.Errorf("I1: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := in.Time(ctx, eng, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Would catch columns of a wrong name or order, and a size without them.
func TestRepeat(t *testing.T) {
	in, eng := load(t)
	in.Repeat([]string{"key", "key2"}, []string{"value", "v2", "v3"})
	in.Query.Keys = append(in.Query.Keys, query.Key{Column: "key2"})
	in.Query.Aggregates = append(in.Query.Aggregates, query.Aggregate{Func: query.Min, Args: []string{"v3"}})
	if _, _, err := in.Time(t.Context(), eng, 1); err != nil || in.Groups != 100 || in.Bytes != 400_000 {
		t.Errorf("%v, %d groups, %d bytes", err, in.Groups, in.Bytes)
	}
}
