package arbiter

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// pagesOf are pages of a test.
type pagesOf struct {
	held    int64
	spilled int64
	err     error
}

func (p *pagesOf) Held() int64 { return p.held }

func (p *pagesOf) Spill(bytes int64) (int64, error) {
	bytes = min(bytes, p.held)
	p.held, p.spilled = p.held-bytes, p.spilled+bytes
	return bytes, p.err
}

// bytesOf returns the grants of sinks.
func bytesOf(sinks ...*Grant) string {
	list := make([]int64, len(sinks))
	for i, g := range sinks {
		list[i] = g.Bytes()
	}
	return fmt.Sprint(list)
}

// Would catch grants that stay when a sink or a statement comes, goes or asks for another share, sinks
// that divide all memory in place of their statement's, and a wish that is met at the cost of others.
func TestGrants(t *testing.T) {
	limit := int64(1600)
	a := New(func() int64 { return limit })
	one, two := a.NewStatement(), a.NewStatement()
	want := func(what, want string, sinks ...*Grant) {
		t.Helper()
		if got := bytesOf(sinks...); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	if got := one.Offer(); got != 1200 {
		t.Errorf("%d B are offered, want three quarters", got)
	}
	outer := one.Join(10, All, nil)
	want("alone", "[1200]", outer)
	if got := two.Offer(); got != 600 {
		t.Errorf("%d B are offered to a second statement", got)
	}
	if got := one.Offer(); got != 600 {
		t.Errorf("%d B are offered to a second sink", got)
	}
	inner := one.Join(10, All, nil)
	want("a derived table", "[600 600]", outer, inner)
	sorted := one.Join(10, 100, nil)
	want("a sort with a wish", "[550 550 100]", outer, inner, sorted)
	other := two.Join(10, All, nil)
	want("another statement", "[250 250 100 600]", outer, inner, sorted, other)
	if got := one.Part(1600); got != 800 {
		t.Errorf("a part of %d B", got)
	}
	sorted.Ask(400, 400)
	want("a sort that holds its rows", "[100 100 400 600]", outer, inner, sorted, other)
	other.Ask(10, 200)
	want("a statement that wishes for little", "[300 300 400 200]", outer, inner, sorted, other)
	other.Leave()
	inner.Leave()
	want("two have left", "[800 400]", outer, sorted)
	limit = 800
	want("the limit falls", "[800 400]", outer, sorted)
	sorted.Leave()
	want("the next change", "[600]", outer)
	outer.Leave()
	if len(a.statements) > 0 {
		t.Errorf("%d statements are left", len(a.statements))
	}
}

// Would catch a grant below a sink's least or above its wish, grants of more than there is although
// less would do, statements without sinks that take a part, and parts that are not equal.
func TestGrantsOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	for range 300 {
		limit := 1 + rng.Int64N(1<<40)
		a := New(func() int64 { return limit })
		var sinks []*Grant
		for range 1 + rng.IntN(20) {
			s := a.NewStatement()
			for range rng.IntN(4) {
				least := rng.Int64N(1 + limit/20)
				sinks = append(sinks, s.Join(least, []int64{All, 2 * least, 0}[rng.IntN(3)], nil))
			}
		}
		for len(sinks) > 0 {
			total, leasts := int64(0), int64(0)
			for _, g := range sinks {
				total, leasts = total+g.Bytes(), leasts+g.ask.least
				if g.Bytes() < g.ask.least || g.Bytes() > g.ask.wish {
					t.Fatalf("limit %d: a grant of %d B to a sink of %+v", limit, g.Bytes(), g.ask)
				}
			}
			if total > max(limit/4*3, leasts) {
				t.Fatalf("limit %d: %d B are granted, %d B must be", limit, total, leasts)
			}
			i := rng.IntN(len(sinks))
			sinks[i].Leave()
			sinks = slices.Delete(sinks, i, i+1)
		}
	}
	for _, n := range []int64{2, 20} {
		a := New(func() int64 { return 4000 })
		var sinks []*Grant
		for i := range n {
			sinks = append(sinks, a.NewStatement().Join(i, All, nil))
		}
		for i, g := range sinks {
			if g.Bytes() != 3000/n {
				t.Errorf("statement %d of %d has %d B", i, n, g.Bytes())
			}
		}
	}
}

// Would catch a sink within its grant that spills while other sinks are over their grants, a sink that spills more
// bytes than it holds beyond its grant while a second sink holds too much, too, and pages that stay in memory though
// their bytes were asked for.
func TestReclaim(t *testing.T) {
	a := New(func() int64 { return 400 }) // 100 B for each
	var pages [3]pagesOf
	var sinks []*Grant
	for i := range pages {
		sinks = append(sinks, a.NewStatement().Join(0, All, &pages[i]))
	}
	without := a.NewStatement().Join(0, 0, nil)
	for _, step := range []struct {
		held, want  [3]int64
		reclaimed   int64
		description string
	}{
		{[3]int64{90, 150, 130}, [3]int64{90, 110, 130}, 40, "the most over"},
		{[3]int64{90, 150, 130}, [3]int64{90, 100, 110}, 70, "all who are over"},
		{[3]int64{90, 150, 130}, [3]int64{90, 80, 100}, 100, "then the largest"},
		{[3]int64{10, 20, 15}, [3]int64{10, 0, 10}, 25, "nobody is over"},
		{[3]int64{90, 150, 130}, [3]int64{}, 1 << 40, "all there is"},
		{[3]int64{90, 80, 10}, [3]int64{90, 80, 10}, 0, "nothing"},
	} {
		for i := range pages {
			pages[i].held = step.held[i]
		}
		if err := a.Reclaim(step.reclaimed); err != nil {
			t.Error(err)
		}
		for i := range pages {
			if pages[i].held != step.want[i] {
				t.Errorf("%s: sink %d holds %d B, want %d", step.description, i, pages[i].held, step.want[i])
			}
		}
	}
	pages[0] = pagesOf{held: 500, err: errors.New("a full disk")}
	if err := a.Reclaim(1); !errors.Is(err, pages[0].err) {
		t.Errorf("an error of a sink is %v", err)
	}
	sinks[0].Leave()
	before := pages[0].spilled
	if _, err := sinks[0].spill(100); err != nil || pages[0].spilled != before {
		t.Errorf("a sink spills after it has left: %v", err)
	}
	without.Leave()
}
