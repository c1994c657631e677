package partition

import (
	"testing"

	"pgregory.net/rapid"
)

// paperFactors are those of section 4.2.2, and a table of 1000 slots.
var paperFactors = Feedback{Slots: 1000, LFMin: 0.6, LFMax: 0.8}

func TestFeedbackNext(t *testing.T) {
	for _, c := range []struct {
		name                  string
		groups, left, loadMax int64
		want                  int64
	}{
		{"an empty table takes rows up to LFMax", 0, 5000, 9000, 800},
		{"a load is bounded by its memory", 0, 5000, 300, 300},
		{"no more rows than are left", 0, 20, 300, 20},
		{"no rows are left", 0, 0, 300, 0},
		{"half full", 500, 5000, 9000, 300},
		{"at LFMin the rest of the room", 600, 5000, 9000, 200},
		{"above LFMin the rows that are left fit", 601, 199, 9000, 199},
		{"above LFMin one row too many is left", 601, 200, 9000, 0},
		{"at LFMax", 800, 1, 9000, 0},
		{"beyond LFMax", 900, 1, 9000, 0},
		{"beyond LFMax with nothing left", 900, 0, 9000, 0},
	} {
		if got := paperFactors.Next(c.groups, c.left, c.loadMax); got != c.want {
			t.Errorf("%s: Next(%d, %d, %d) = %d, want %d", c.name, c.groups, c.left, c.loadMax, got, c.want)
		}
	}
	// A table too small for a row at LFMax takes one: it may be refused, and none is passed over.
	if got := (Feedback{Slots: 1, LFMin: 0.6, LFMax: 0.8}).Next(0, 7, 100); got != 1 {
		t.Errorf("a table of one slot: a load of %d rows, want 1", got)
	}
}

func TestFeedbackAdmit(t *testing.T) {
	for _, c := range []struct {
		name          string
		groups        int64
		growth        float64
		loading, rows int64
		want          Admission
	}{
		{"an empty table", 0, 1, 0, 800, Admitted},
		{"below LFMin a load is admitted whatever its size", 600, 1, 0, 5000, Admitted},
		{"but not beside another", 600, 1, 1, 5000, AdmitLater},
		{"above LFMin with room", 601, 1, 0, 199, Admitted},
		{"above LFMin without", 601, 1, 0, 200, TableFull},
		{"rows that add no groups", 799, 0, 1 << 20, 1 << 20, Admitted},
		{"rows that add few", 700, 0.01, 5000, 5000, Admitted},
		{"rows that add a few more", 700, 0.0101, 5000, 5000, AdmitLater},
		{"a full table waits for its loads to end", 800, 1, 1, 1, AdmitLater},
		{"a full table", 800, 1, 0, 1, TableFull},
		{"no rows", 800, 1, 0, 0, Admitted},
	} {
		if got := paperFactors.Admit(c.groups, c.growth, c.loading, c.rows); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestFeedbackSizes(t *testing.T) {
	for _, c := range []struct {
		f              Feedback
		loadMax        int64
		rows, slotsFor int64
	}{
		{Feedback{Slots: 1000, LFMin: 0.25, LFMax: 0.75}, 500, 500, 1001},
		{Feedback{Slots: 1000, LFMin: 0.5, LFMax: 1}, 500, 0, 1},
		{Feedback{Slots: 0, LFMin: 0.5, LFMax: 1}, 0, 1, 3},
		{Feedback{Slots: 1 << 32, LFMin: 0.5, LFMax: 0.75}, 1 << 30, 1 << 30, 1<<32 + 1},
	} {
		if got := c.f.LoadMax(); got != c.loadMax {
			t.Errorf("%+v: LoadMax %d, want %d", c.f, got, c.loadMax)
		}
		if got := c.f.SlotsFor(c.rows); got != c.slotsFor {
			t.Errorf("%+v: SlotsFor(%d) = %d, want %d", c.f, c.rows, got, c.slotsFor)
		}
	}
	for _, c := range []struct {
		groups     int64
		partitions int
		want       int
	}{{776, 64, 64}, {1552, 64, 32}, {1553, 64, 31}, {1, 64, 64}, {1 << 40, 64, 0}} {
		if got := paperFactors.Resident(c.groups, c.partitions); got != c.want {
			t.Errorf("Resident(%d, %d) = %d, want %d", c.groups, c.partitions, got, c.want)
		}
	}
}

func TestForetoldGroups(t *testing.T) {
	for _, c := range []struct{ groups, rows, total, want int64 }{
		{10, 100, 1000, 100}, {100, 100, 1000, 1000}, {7, 0, 3, 3}, {0, 100, 1000, 0}, {200, 100, 1000, 1000},
	} {
		if got := Continue(c.groups, c.rows, c.total); got != c.want {
			t.Errorf("Continue(%d, %d, %d) = %d, want %d", c.groups, c.rows, c.total, got, c.want)
		}
	}
	for _, c := range []struct {
		ratio      float64
		rows, want int64
	}{{0, 100_000, 1024}, {0.5, 100_000, 56_024}, {1, 100_000, 100_000}, {0.01, 500, 500}} {
		if got := Expect(c.ratio, c.rows); got != c.want {
			t.Errorf("Expect(%g, %d) = %d, want %d", c.ratio, c.rows, got, c.want)
		}
	}
}

// TestFeedbackEnds proves P4: whatever groups the loads turn out to have, feeding ends, takes no
// more rows than a table at LFMax has room for but for a single one, and stops early only above
// LFMin.
func TestFeedbackEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Feedback{Slots: rapid.Int64Range(1, 500).Draw(t, "slots")}
		f.LFMin = rapid.Float64Range(0.01, 0.9).Draw(t, "LFMin")
		f.LFMax = rapid.Float64Range(f.LFMin+0.01, 1).Draw(t, "LFMax")
		left, loadMax := rapid.Int64Range(0, 3000).Draw(t, "rows"), rapid.Int64Range(1, 400).Draw(t, "load")
		var groups int64
		for left > 0 {
			n := f.Next(groups, left, loadMax)
			if n == 0 {
				if float64(groups) <= f.GroupsMin() {
					t.Fatalf("%+v is full with %d groups, below LFMin", f, groups)
				}
				return
			}
			if n > loadMax || n > left || n > 1 && float64(groups+n) > f.GroupsMax() {
				t.Fatalf("%+v of %d groups: a load of %d rows of %d, at most %d", f, groups, n, left, loadMax)
			}
			left -= n
			groups = min(groups+rapid.Int64Range(0, n).Draw(t, "new"), f.Slots)
		}
	})
}
