package joins

import "testing"

// Would catch a rule that differs from what was measured, and a join for which no algorithm is chosen that answers it.
func TestChoose(t *testing.T) {
	const many = 1 << 26
	for _, c := range []struct {
		Workload
		want Algorithm
	}{
		{Workload{many, many, 4, many, false}, PHJTR},
		{Workload{many, many, 4, many / 8, false}, PHJTR},
		{Workload{many, many, 4, many / 32, false}, PHJUR},
		{Workload{many, many, 4, many / 32, true}, PHJTR},
		{Workload{many, many, 8, many / 32, false}, PHJTR},
		{Workload{many, many, 4, -1, false}, PHJTR},
		{Workload{1 << 14, many, 4, many, false}, NPHJ},
		{Workload{many, many, 24, many, false}, NPHJ},
		{Workload{0, 0, 4, 0, false}, NPHJ},
	} {
		got, reason := Choose(c.Workload)
		if got != c.want || reason == "" {
			t.Errorf("%+v: %v, %q", c.Workload, got, reason)
		}
		q := &Query{Algorithm: got, KeyBytes: c.KeyBytes}
		if err := q.Lacks(); err != nil {
			t.Errorf("%+v: %v", c.Workload, err)
		}
	}
}
