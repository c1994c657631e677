//go:build cgo

package plan_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
)

// looks is a context that counts how often its end is asked for, and ends at the look after the first left ones.
type looks struct {
	context.Context
	left, taken atomic.Int64
}

func looksOf(ctx context.Context, left int64) *looks {
	l := &looks{Context: ctx}
	l.left.Store(left)
	return l
}

// Err implements context.Context.
func (l *looks) Err() error {
	l.taken.Add(1)
	if l.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Would catch a part of reading or of planning a long statement that goes on after its caller has left, and a plan that
// lacks what could not be bound for it.
func TestInterrupted(t *testing.T) {
	eng := openEngine(t)
	tables := map[string]plan.Table{"t": {Source: keyedTable(10)}}
	prepare := func(reading, planning context.Context, text string) error {
		st, err := sql.ParseContext(reading, text)
		if err != nil {
			return err
		}
		q, err := plan.Prepare(planning, eng, st, plan.Options{Tables: tables})
		if err == nil {
			q.Close()
		}
		return err
	}
	list := func(n int, separator, format string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
		}
		return strings.Join(items, separator)
	}
	const items = 1024
	const nodesPerLook = 256
	for _, c := range []struct {
		text  string
		nodes int64 // of expressions, that are read, and bound at least once
	}{
		{"SELECT " + list(items, ", ", "b + #") + " FROM t", 3 * items},
		{"SELECT " + list(items, ", ", "sum(b + #)") + " FROM t", 4 * items},
		{"SELECT " + list(items/10, ", ", "count(DISTINCT b + #)") + " FROM t", 4 * items / 10},
		{"SELECT b FROM t ORDER BY " + list(items, ", ", "b + #"), 3 * items},
		{"SELECT count(*) FROM t GROUP BY " + list(items, ", ", "b + #"), 3 * items},
		{"SELECT a FROM t GROUP BY a HAVING " + list(items, " OR ", "sum(b + #) > 0"), 6 * items},
		{"SELECT count(*) FROM t WHERE " + list(items, " AND ", "b <> # + 1"), 5 * items},
		{"SELECT count(*) FROM t WHERE b IN (" + list(items, ", ", "#") + ")", items},
		{"SELECT CASE " + list(items, " ", "WHEN b = # THEN #") + " END FROM t", 4 * items},
	} {
		reading, planning := looksOf(t.Context(), math.MaxInt64), looksOf(t.Context(), math.MaxInt64)
		if err := prepare(reading, planning, c.text); err != nil {
			t.Errorf("%.60s: %v", c.text, err)
			continue
		}
		for what, taken := range map[string]int64{"reading": reading.taken.Load(), "planning": planning.taken.Load()} {
			if least := c.nodes / nodesPerLook; taken < least {
				t.Errorf("%.60s: %s has looked %d times, want %d or more", c.text, what, taken, least)
			}
			for _, left := range []int64{0, taken / 2, taken - 1} {
				reading, planning := t.Context(), t.Context()
				if what == "reading" {
					reading = looksOf(t.Context(), left)
				} else {
					planning = looksOf(t.Context(), left)
				}
				if err := prepare(reading, planning, c.text); !errors.Is(err, context.Canceled) {
					t.Errorf("%.60s: %s, interrupted at look %d of %d: %v", c.text, what, left, taken, err)
				}
			}
		}
	}
}
