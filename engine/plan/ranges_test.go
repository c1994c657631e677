//go:build cgo

package plan_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/testknobs"
)

// mixed is a number that does not rise with a row's number.
func (r sideRow) mixed() int64 { return r.value * 7919 % 3001 }

// ordered compares rows by a value; ok is false where one of the values is NULL.
type ordered struct {
	text    string // with % in place of the table
	compare func(l, r sideRow) (c int, ok bool)
}

// orderedValues are values of rows: unlike ones whose words tell them apart, texts that begin alike, and doubles.
var orderedValues = []ordered{
	{"%.v * 7919 % 3001", func(l, r sideRow) (int, bool) { return cmp.Compare(l.mixed(), r.mixed()), true }},
	{"%.s", func(l, r sideRow) (int, bool) {
		return strings.Compare(l.text(), r.text()), l.key >= 0 && r.key >= 0
	}},
	{"%.k / 7", func(l, r sideRow) (int, bool) { return cmp.Compare(l.key, r.key), l.key >= 0 && r.key >= 0 }},
}

// of returns the value of a table's row as SQL.
func (o *ordered) of(table string) string { return strings.ReplaceAll(o.text, "%.", table+".") }

// signs are the signs of inequalities, with what they say of a comparison.
var signs = map[string]func(c int) bool{
	"<": func(c int) bool { return c < 0 }, "<=": func(c int) bool { return c <= 0 },
	">": func(c int) bool { return c > 0 }, ">=": func(c int) bool { return c >= 0 },
}

// spillKnobs return an engine's knobs: for half of the numbers of a task that does not fit its memory.
func spillKnobs(rng *rand.Rand) (knobs testknobs.Engine) {
	if rng.IntN(2) == 0 {
		knobs = testknobs.Engine{SpillAll: true, RadixBits: 1 + rng.IntN(3), MemoryBytes: 2 << 20}
	}
	return knobs
}

// openWith opens an engine of some threads until the test ends.
func openWith(t *testing.T, threads int, knobs testknobs.Engine) *engine.Engine {
	t.Helper()
	eng, err := engine.Open(testknobs.With(engine.Options{Threads: threads, TempDir: t.TempDir()}, knobs))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	return eng
}

// pairCondition is a condition on pairs of rows, and what it means.
type pairCondition struct {
	text    string
	holds   func(l, r sideRow) bool
	isKeyed bool // it has an equality
}

// and adds a condition.
func (c *pairCondition) and(text string, also func(l, r sideRow) bool) {
	before := c.holds
	if before == nil {
		c.text, c.holds = text, also
		return
	}
	c.text, c.holds = c.text+" AND "+text, func(l, r sideRow) bool { return before(l, r) && also(l, r) }
}

// randomRange returns a condition of inequalities, perhaps with an equality and a further condition.
func randomRange(rng *rand.Rand) *pairCondition {
	c := new(pairCondition)
	by := orderedValues[rng.IntN(len(orderedValues))]
	low, high := []string{">", ">="}[rng.IntN(2)], []string{"<", "<="}[rng.IntN(2)]
	compared := func(sign string) func(l, r sideRow) bool {
		return func(l, r sideRow) bool {
			c, ok := by.compare(l, r)
			return ok && signs[sign](c)
		}
	}
	switch rng.IntN(5) {
	case 0: // the ends of intervals, on the right side or the left one
		c.and(fmt.Sprintf("l.v %% 600 %s r.v AND l.v %% 600 %s r.v + r.v %% 13", low, high), func(l, r sideRow) bool {
			v := l.value % 600
			return signs[low](cmp.Compare(v, r.value)) && signs[high](cmp.Compare(v, r.value+r.value%13))
		})
	case 1:
		c.and(fmt.Sprintf("r.v %s l.v * 2 AND r.v %s l.v * 2 + l.v %% 13", low, high), func(l, r sideRow) bool {
			v := l.value * 2
			return signs[low](cmp.Compare(r.value, v)) && signs[high](cmp.Compare(r.value, v+l.value%13))
		})
	case 2:
		c.and("l.v % 600 BETWEEN r.v AND r.v + r.v % 13", func(l, r sideRow) bool {
			return l.value%600 >= r.value && l.value%600 <= r.value+r.value%13
		})
	case 3:
		c.and(by.of("l")+" "+low+" "+by.of("r"), compared(low))
	case 4:
		c.and(by.of("l")+" "+high+" "+by.of("r"), compared(high))
	}
	if rng.IntN(2) == 0 {
		c.isKeyed = true
		c.and("l.k % 3 = r.k % 3", func(l, r sideRow) bool { return l.key >= 0 && r.key >= 0 && l.key%3 == r.key%3 })
	}
	if rng.IntN(3) == 0 {
		c.and("(l.v + r.v) % 7 < 4", func(l, r sideRow) bool { return (l.value+r.value)%7 < 4 })
	}
	return c
}

// Would catch rows that a binary search or the tree of ends leaves out or adds, bounds that are off by a value, NULLs
// that are found, in memory, in partitions and in rounds: joins of random tables by ranges, with and without
// equalities, have the pairs of a loop over their rows.
func TestRangeJoins(t *testing.T) {
	kinds := []sql.JoinKind{sql.InnerJoin, sql.LeftJoin, sql.RightJoin, sql.FullJoin, sql.SemiJoin, sql.AntiJoin}
	rounds := false
	for seed := range uint64(72) {
		rng := rand.New(rand.NewPCG(seed, 44))
		kind := kinds[seed%uint64(len(kinds))]
		left, right := makeSide(rng, rng.IntN(200), 1+rng.IntN(300), 0), makeSide(rng, rng.IntN(700), 1+rng.IntN(300), 0)
		on := randomRange(rng)
		knobs := spillKnobs(rng)
		if seed%6 == 5 { // the build side is larger than a task
			knobs = testknobs.Engine{SpillAll: true, RadixBits: 1, MemoryBytes: 2 << 20}
			right = makeSide(rng, 20_000, 300, 0)
			left = left[:len(left)/4]
		}
		columns := "l.v AS a, r.v AS b"
		if kind == sql.SemiJoin || kind == sql.AntiJoin {
			columns = "l.v AS a, CAST(NULL AS BIGINT) AS b"
		}
		text := fmt.Sprintf("SELECT %s FROM l %s JOIN r ON %s", columns, kind, on.text)
		t.Run(fmt.Sprintf("%d/%s", seed, kind), func(t *testing.T) {
			tables := map[string]plan.Table{"l": {Source: source(rng, left)}, "r": {Source: source(rng, right)}}
			got, analyzed := readPairs(t, openWith(t, 1+rng.IntN(3), knobs), text, plan.Options{Tables: tables})
			if !on.isKeyed && !strings.Contains(analyzed, "build side: sorted by") { // else sums of BIGINT may be errors
				t.Errorf("%s\nis not joined by a range:\n%s", text, analyzed)
			}
			rounds = rounds || strings.Contains(analyzed, "more for keys of many rows")
			want := allPairs(kind, left, right, on.holds)
			if slices.SortFunc(got, comparePairs); !slices.Equal(got, want) {
				t.Errorf("%s, %d and %d rows, knobs %+v: %d rows, want %d", text, len(left), len(right), knobs, len(got), len(want))
			}
		})
	}
	if !rounds {
		t.Error("no join took more than a round")
	}
}

func comparePairs(a, b [2]int64) int { return slices.Compare(a[:], b[:]) }

// allPairs returns the rows of a join in order, as joinPairs has them, by a loop over all pairs.
func allPairs(kind sql.JoinKind, left, right []sideRow, holds func(l, r sideRow) bool) [][2]int64 {
	one := func(rows []sideRow) (of []sideRow) {
		for _, r := range rows {
			of = append(of, sideRow{0, r.value})
		}
		return of
	}
	pairs := joinPairs(kind, one(left), one(right), func(l, r sideRow) bool {
		return holds(left[l.value], right[r.value])
	})
	slices.SortFunc(pairs, comparePairs)
	return pairs
}

// Would catch a partner that is not the nearest, or none where there is one, a row of the right side that is told from
// others though it is a partner, and a condition that is asked of the nearest row alone: ASOF joins of random tables
// have the nearest partners of a loop over their rows, in memory, in partitions and in rounds.
func TestNearestPartners(t *testing.T) {
	kinds := []sql.JoinKind{sql.InnerJoin, sql.LeftJoin, sql.RightJoin, sql.FullJoin, sql.SemiJoin, sql.AntiJoin}
	rounds := false
	for seed := range uint64(72) {
		rng := rand.New(rand.NewPCG(seed, 45))
		kind := kinds[seed%uint64(len(kinds))]
		left, right := makeSide(rng, rng.IntN(300), 1+rng.IntN(300), 0), makeSide(rng, rng.IntN(900), 1+rng.IntN(300), 0)
		by := orderedValues[rng.IntN(len(orderedValues))]
		sign := []string{"<", "<=", ">", ">="}[rng.IntN(4)]
		on := by.of("l") + " " + sign + " " + by.of("r")
		isKeyed, isTested := rng.IntN(2) == 0, rng.IntN(2) == 0 && kind != sql.RightJoin && kind != sql.FullJoin
		if isKeyed {
			on += " AND l.k % 3 = r.k % 3"
		}
		if isTested {
			on += " AND (l.v + r.v) % 17 < 2"
		}
		knobs := spillKnobs(rng)
		if seed%4 == 3 { // the build side is larger than a task
			knobs = testknobs.Engine{SpillAll: true, RadixBits: 1, MemoryBytes: 2 << 20}
			right = makeSide(rng, 20_000, 300, 0)
			left = left[:len(left)/4]
		}
		holds := func(l, r sideRow) bool {
			c, ok := by.compare(l, r)
			return ok && signs[sign](c) && (!isKeyed || l.key >= 0 && r.key >= 0 && l.key%3 == r.key%3) &&
				(!isTested || (l.value+r.value)%17 < 2)
		}
		isNearer := func(a, b sideRow) bool {
			c, _ := by.compare(a, b)
			return c < 0 && sign[0] == '<' || c > 0 && sign[0] == '>'
		}
		columns := "l.v AS a, r.v AS b"
		if kind == sql.SemiJoin || kind == sql.AntiJoin {
			columns = "l.v AS a, CAST(NULL AS BIGINT) AS b"
		}
		text := fmt.Sprintf("SELECT %s FROM l ASOF %s JOIN r ON %s", columns, kind, on)
		t.Run(fmt.Sprintf("%d/%s", seed, kind), func(t *testing.T) {
			tables := map[string]plan.Table{"l": {Source: source(rng, left)}, "r": {Source: source(rng, right)}}
			got, analyzed := readPairs(t, openWith(t, 1+rng.IntN(3), knobs), text, plan.Options{Tables: tables})
			rounds = rounds || strings.Contains(analyzed, "more for keys of many rows")
			if mistake := notNearest(kind, left, right, got, holds, isNearer); mistake != "" {
				t.Errorf("%s, %d and %d rows, knobs %+v: %s", text, len(left), len(right), knobs, mistake)
			}
		})
	}
	if !rounds {
		t.Error("no join took more than a round")
	}
}

// notNearest says what is wrong with the rows of an ASOF join; "" is nothing.
func notNearest(
	kind sql.JoinKind, left, right []sideRow, got [][2]int64, holds, isNearer func(a, b sideRow) bool,
) string {
	partners := make(map[int64]int64, len(got))
	taken := make(map[int64]bool, len(got))
	alone := 0 // rows of the right side
	for _, pair := range got {
		if _, ok := partners[pair[0]]; ok && pair[0] >= 0 {
			return fmt.Sprintf("row %d is there twice", pair[0])
		}
		if pair[0] < 0 {
			alone++
			if taken[pair[1]] {
				return fmt.Sprintf("row %d of the right side is there twice", pair[1])
			}
		} else {
			partners[pair[0]] = pair[1]
		}
		if kind == sql.InnerJoin || kind == sql.LeftJoin || pair[0] < 0 || pair[1] < 0 {
			continue
		}
		taken[pair[1]] = true
	}
	if (kind == sql.RightJoin || kind == sql.FullJoin) && alone != len(right)-len(taken) {
		return fmt.Sprintf("%d rows of the right side have no partner, want %d", alone, len(right)-len(taken))
	}
	for _, l := range left {
		var nearest *sideRow
		for i, r := range right {
			if holds(l, r) && (nearest == nil || isNearer(r, *nearest)) {
				nearest = &right[i]
			}
		}
		found, ok := partners[l.value]
		isThere := nearest != nil || kind == sql.LeftJoin || kind == sql.FullJoin
		if kind == sql.AntiJoin {
			isThere = nearest == nil
		}
		switch {
		case ok != isThere:
			return fmt.Sprintf("row %d is there: %v, want %v", l.value, ok, isThere)
		case !ok || kind == sql.SemiJoin || kind == sql.AntiJoin:
		case found < 0 != (nearest == nil):
			return fmt.Sprintf("row %d has a partner: %v", l.value, found >= 0)
		case found >= 0 && (!holds(l, right[found]) || isNearer(*nearest, right[found])):
			return fmt.Sprintf("row %d has the partner %d, want %d", l.value, found, nearest.value)
		}
	}
	return ""
}
