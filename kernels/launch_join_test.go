package kernels

import (
	"strings"
	"testing"
)

// Would catch a join that is launched although its kernels cannot do it: each says what it takes.
func TestJoinRefusals(t *testing.T) {
	e := openExecutor(t, 1, "join_plan.cu")
	q := operators{e}
	status := e.alloc(t, JoinStatusBytes)
	side := func(count int64, keyBytes int) JoinSide {
		return JoinSide{Count: count, Keys: e.alloc(t, count*int64(keyBytes))}
	}
	join := func(keyBytes int) *Join {
		return &Join{KeyBytes: keyBytes, Build: side(10, keyBytes), Probe: side(10, keyBytes), Into: Pairs{Status: status}}
	}
	scratch := e.alloc(t, 1<<16)
	nulls := join(4)
	nulls.Probe.Valid = e.alloc(t, 4)
	for want, err := range map[string]error{
		"a table of 10 slots takes fewer than 10 rows": q.BuildTable(join(4), JoinTable{Slots: 10, Memory: scratch}),
		"keys of 24 B":        q.JoinPartitions(join(24), JoinPartitions{}, scratch),
		"keys of 16 B":        q.JoinSorted(join(16), scratch),
		"keys with NULLs":     q.JoinSorted(nulls, scratch),
		"no block of 2048":    q.JoinPartitions(join(4), JoinPartitions{Threads: 2048}, scratch),
		"16 radix bits":       q.Partition(&Shape{KeyBytes: 4}, &Rows{}, 16, &Rows{}, scratch, scratch),
		"2 rows of 16 B":      q.Sort(&Sorting{Count: 2, KeyBytes: 16}, scratch),
		"25 columns":          q.Gather(&Gathering{Columns: make([]GatherColumn, 25)}),
		"fewer than 2^32 - 1": q.BuildTable(&Join{KeyBytes: 4, Build: JoinSide{Count: NoRow}}, JoinTable{}),
	} {
		switch {
		case err == nil:
			t.Errorf("%q was not refused", want)
		case !strings.Contains(err.Error(), want):
			t.Errorf("%v: want %q", err, want)
		}
	}
}
