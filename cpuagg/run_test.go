package cpuagg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/table"
	"github.com/mpga/mpga/partition"
)

// memoryStore is a Store that fails its n-th call.
type memoryStore struct {
	mu     sync.Mutex
	passes []*memoryPass
	calls  int
	failAt int
}

type memoryPass struct {
	store *memoryStore
	pages [2][][]*rowdata.Page
	put   []int64 // rows
}

var errInjected = errors.New("injected")

func (s *memoryStore) NewPass(radix partition.Radix) scatter.Partitions {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := radix.FanOut()
	p := &memoryPass{store: s, pages: [2][][]*rowdata.Page{make([][]*rowdata.Page, n), make([][]*rowdata.Page, n)}, put: make([]int64, n)}
	s.passes = append(s.passes, p)
	return p
}

func (s *memoryStore) Reclaim(int64) error { return nil }

// memorySpool is a Spool of a memoryStore.
type memorySpool struct {
	store *memoryStore
	pages []*rowdata.Page
}

func (s *memoryStore) NewSpool(*rowdata.RowLayout) scatter.Spool { return &memorySpool{store: s} }

func (p *memorySpool) Put(page *rowdata.Page) error {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.pages = append(p.pages, page)
	return p.store.call()
}

func (p *memorySpool) End() error { return nil }

func (p *memorySpool) Discard() { p.pages = nil }

// Pages returns copies: who reads releases them.
func (p *memorySpool) Pages() scatter.Pages {
	pages := &memoryPages{store: p.store}
	for _, page := range p.pages {
		again := *page
		again.Words = slices.Clone(page.Words)
		pages.pages = append(pages.pages, &again)
	}
	return pages
}

// left returns how many rows nobody has taken.
func (s *memoryStore) left() (rows int) {
	for _, p := range s.passes {
		for _, partitions := range p.pages {
			for _, pages := range partitions {
				for _, page := range pages {
					rows += page.Rows
				}
			}
		}
	}
	return rows
}

// call counts a call.
//
// Requires: s.mu is held.
func (s *memoryStore) call() error {
	s.calls++
	if s.calls == s.failAt {
		return errInjected
	}
	return nil
}

func (p *memoryPass) Put(content scatter.Content, pages []scatter.PartitionPage) error {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	for _, f := range pages {
		p.pages[content][f.Partition] = append(p.pages[content][f.Partition], f.Page)
		p.put[f.Partition] += int64(f.Page.Rows)
	}
	return p.store.call()
}

func (p *memoryPass) Sizes() []int64 {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	return slices.Clone(p.put)
}

func (p *memoryPass) Take(partition int, content scatter.Content) scatter.Pages {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	pages := p.pages[content][partition]
	p.pages[content][partition] = nil
	return &memoryPages{p.store, pages}
}

type memoryPages struct {
	store *memoryStore
	pages []*rowdata.Page
}

func (p *memoryPages) Next() (*rowdata.Page, error) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	if err := p.store.call(); err != nil {
		return nil, err
	}
	if len(p.pages) == 0 {
		return nil, io.EOF
	}
	page := p.pages[0]
	p.pages = p.pages[1:]
	return page, nil
}

func (p *memoryPages) Close() { p.pages = nil }

// shape is a query: its keys k (an integer) and s (a string), if it has them, and for each of some
// integer columns count and sum, and the least of a string column t.
type shape struct {
	name       string
	intKey     bool
	small      bool // k is promised to be in 0 to 99
	stringKey  bool
	columns    int
	nullable   bool // keys and columns
	minString  bool
	wantStride int // of rows; 0 is not checked
}

var shapes = []shape{
	{name: "no keys", columns: 2, nullable: true},
	{name: "small keys with NULLs", intKey: true, small: true, columns: 2, nullable: true},
	{name: "keys only", intKey: true, wantStride: 1},
	{name: "a row of 100 words", intKey: true, columns: 99, wantStride: 100},
	{name: "70 columns with NULLs", intKey: true, columns: 70, nullable: true, wantStride: 1 + 1 + 70 + 2},
	{name: "64 columns with NULLs", stringKey: true, columns: 64, nullable: true, wantStride: 2 + 64 + 1},
	{name: "strings", intKey: true, stringKey: true, columns: 1, minString: true},
	{name: "strings with NULLs", stringKey: true, columns: 1, nullable: true, minString: true},
}

func (s *shape) bind(t *testing.T) *rowdata.Bound {
	t.Helper()
	var q query.Query
	var fields []arrow.Field
	var stats []rowdata.ColumnStats
	column := func(name string, dt arrow.DataType, stat rowdata.ColumnStats) {
		fields = append(fields, arrow.Field{Name: name, Type: dt, Nullable: true})
		stat.NoNulls = !s.nullable
		stats = append(stats, stat)
	}
	if s.intKey {
		column("k", arrow.PrimitiveTypes.Int64, rowdata.ColumnStats{HasRange: s.small, Max: 99})
		q.Keys = append(q.Keys, query.Key{Column: "k"})
	}
	if s.stringKey {
		column("s", arrow.BinaryTypes.String, rowdata.ColumnStats{})
		q.Keys = append(q.Keys, query.Key{Column: "s"})
	}
	for i := range s.columns {
		name := fmt.Sprintf("v%d", i)
		column(name, arrow.PrimitiveTypes.Int64, rowdata.ColumnStats{})
		q.Aggregates = append(q.Aggregates,
			query.Aggregate{Func: query.Count, Args: []string{name}}, query.Aggregate{Func: query.Sum, Args: []string{name}})
	}
	if s.minString {
		column("t", arrow.BinaryTypes.String, rowdata.ColumnStats{})
		q.Aggregates = append(q.Aggregates, query.Aggregate{Func: query.Min, Args: []string{"t"}})
	}
	b, err := rowdata.Bind(q, arrow.NewSchema(fields, nil), stats)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// answer is what the columns of one group come to: counts and sums in turn, then strings.
type answer struct {
	numbers []uint64
	least   string
	seen    bool
}

// packField writes one field of a packed key, as the layout's documentation says.
func packField(f *rowdata.KeyField, key []uint64, v []uint64, null bool) {
	switch {
	case null && f.Kind == rowdata.Bytes:
		*rowdata.AsBytes2(key[f.Word : f.Word+2]) = rowdata.NullBytes()
	case null && f.NullBit >= 0:
		key[f.NullWord] |= 1 << f.NullBit
	case null:
		key[f.Word] |= (f.Span + 1) << f.Shift
	case f.Kind.Words() == 2:
		copy(key[f.Word:f.Word+2], v)
	default:
		key[f.Word] |= (v[0] - uint64(f.Base)) << f.Shift
	}
}

// randomTile makes a tile and adds its rows to the answers.
func randomTile(rng *rand.Rand, b *rowdata.Bound, rows, groups int, batch *rowtest.Arena, want map[string]*answer) *rowdata.Tile {
	t := &rowdata.Tile{Rows: rows, Args: make([][]uint64, len(b.Args)), Valid: make([][]uint8, len(b.Columns))}
	answers := make([]*answer, rows)
	words := make([][]uint64, len(b.Columns))
	for c := range b.Columns {
		col := &b.Columns[c]
		if col.Nullable && rng.IntN(4) > 0 {
			t.Valid[c] = make([]uint8, rows)
		}
		for i := range rows {
			if t.Valid[c] != nil && rng.IntN(3) > 0 {
				t.Valid[c][i] = 1
			}
			n := rng.IntN(groups)
			switch {
			case col.Kind == rowdata.Bytes && n%3 == 0:
				v := batch.Value(fmt.Sprintf("the string number %d", n))
				words[c] = append(words[c], v[:]...)
			case col.Kind == rowdata.Bytes:
				v := batch.Value(fmt.Sprint(n))
				words[c] = append(words[c], v[:]...)
			case col.HasRange:
				words[c] = append(words[c], uint64(n%100))
			case strings.HasPrefix(col.Name, "k"):
				words[c] = append(words[c], uint64(n)*0x9E3779B97F4A7C15)
			default:
				words[c] = append(words[c], uint64(n-groups/2))
			}
		}
	}
	null := func(c, row int) bool { return t.Valid[c] != nil && t.Valid[c][row] == 0 }
	value := func(c, row int) []uint64 {
		w := b.Columns[c].Kind.Words()
		return words[c][row*w : (row+1)*w]
	}
	t.Keys = make([]uint64, rows*b.Keys.Words)
	for i := range rows {
		key := t.Keys[i*b.Keys.Words : (i+1)*b.Keys.Words]
		for k, c := range b.KeyColumns {
			packField(&b.Keys.Fields[k], key, value(c, i), null(c, i))
		}
		text := rowtest.KeyText(&b.Keys, key)
		if want[text] == nil {
			want[text] = &answer{numbers: make([]uint64, 2*len(b.Columns))}
		}
		answers[i] = want[text]
	}
	for a, arg := range b.Args {
		t.Args[a] = words[arg.Column]
	}
	for c := len(b.KeyColumns); c < len(b.Columns); c++ {
		for i := range rows {
			a := answers[i]
			switch {
			case null(c, i):
				for j := range value(c, i) {
					value(c, i)[j] = 0 // arbitrary, but no address
				}
			case b.Columns[c].Kind == rowdata.Bytes:
				if s := string(rowdata.AsBytes2(value(c, i)).Bytes()); !a.seen || s < a.least {
					a.least, a.seen = strings.Clone(s), true
				}
			default:
				at := 2 * (c - len(b.KeyColumns))
				a.numbers[at]++
				a.numbers[at+1] += value(c, i)[0]
			}
		}
	}
	return t
}

// groupAnswers reads finished groups; a group that is there already is an error (A2).
func groupAnswers(t *testing.T, b *rowdata.Bound, g *Groups, into map[string]*answer) {
	t.Helper()
	for i := range g.Len {
		text := rowtest.KeyText(&b.Keys, g.Keys[i*b.Keys.Words:(i+1)*b.Keys.Words])
		if into[text] != nil {
			t.Fatalf("the group %s comes twice", text)
		}
		a := &answer{numbers: make([]uint64, 2*len(b.Columns))}
		into[text] = a
		for o, out := range b.Outputs {
			w := b.Folds[out.Fold].Words
			state := g.States[out.Fold][i*w : (i+1)*w]
			if out.Aggregate.Func != query.Min {
				a.numbers[o] = state[0]
			} else if state[0] != 0 {
				a.least, a.seen = string(rowdata.AsBytes2(bestParts(&b.Folds[out.Fold], state).order).Bytes()), true
			}
		}
	}
	runtime.KeepAlive(g)
}

// execute is a query as the engine runs it: each worker adds its tiles and processes tasks. The
// groups are released when the test ends.
func execute(t *testing.T, r *Run, tiles [][]*rowdata.Tile) (groups []*Groups, err error) {
	workers := make([]*Worker, len(tiles))
	for i := range workers {
		workers[i] = r.NewWorker()
		t.Cleanup(workers[i].Release)
	}
	parallel := func(f func(i int) error) error {
		errs := make([]error, len(workers))
		var wg sync.WaitGroup
		for i := range workers {
			wg.Go(func() { errs[i] = f(i) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	err = parallel(func(i int) error {
		for _, tile := range tiles[i] {
			if err := workers[i].Add(tile); err != nil {
				return err
			}
		}
		return workers[i].Close()
	})
	if err == nil && r.MustScatter(workers) {
		err = parallel(func(i int) error { return workers[i].ScatterRest() })
	}
	if err != nil {
		return nil, err
	}
	tasks, _ := r.Tasks(workers)
	done := make([][]*Groups, len(workers))
	err = parallel(func(i int) error {
		var own []Task
		for at := i; at < len(tasks); at += len(workers) {
			own = append(own, tasks[at])
		}
		for len(own) > 0 {
			g, split, err := workers[i].Process(context.Background(), own[0])
			if err != nil {
				return err
			}
			own = append(own[1:], split...)
			if g != nil {
				done[i] = append(done[i], g)
				t.Cleanup(g.Release)
			}
		}
		return nil
	})
	return slices.Concat(done...), err
}

// modes force the paths of a run.
var modes = []struct {
	name string
	opt  Options
}{
	{"default", Options{}},
	{"no dense table", Options{NoDense: true}},
	{"rows scattered", Options{NoDense: true, NoPreAgg: true}},
	{"rows scattered far", Options{NoDense: true, NoPreAgg: true, RadixBits: partition.RadixBitsMax}},
	{"states scattered", Options{NoDense: true, AlwaysPreAgg: true, TableGroups: 2, RadixBits: 1}},
	{"split twice", Options{NoDense: true, NoPreAgg: true, RadixBits: 1, ForceSplits: 2}},
	{"states split", Options{NoDense: true, AlwaysPreAgg: true, TableGroups: 2, RadixBits: 1, ForceSplits: 1}},
	{"little memory", Options{NoDense: true, TableGroups: 64, WorkerBytes: func() int64 { return 64 << 10 }}},
	{"either", Options{NoDense: true, TableGroups: 64, RadixBits: 3, TotalRows: func() int64 { return 20_000 }}},
}

// Would catch rows that are lost, or counted twice, on any path (A1), groups in two tasks (A2),
// pages that refer to a batch or a table that is gone (A3), NULLs that are folded (A4), and
// validity bits or arguments out of their place in rows of any width.
func TestRunAgainstMap(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, s := range shapes {
		b := s.bind(t)
		if got := b.RowLayout().Stride; s.wantStride != 0 && got != s.wantStride {
			t.Errorf("%s: a row takes %d words, want %d", s.name, got, s.wantStride)
		}
		for _, mode := range modes {
			for _, workers := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s/%s/%d", s.name, mode.name, workers), func(t *testing.T) {
					checkRun(t, rng, b, mode.opt, workers)
				})
			}
		}
	}
}

// checkGroups compares finished groups with the answers.
func checkGroups(t *testing.T, b *rowdata.Bound, groups []*Groups, want map[string]*answer) {
	t.Helper()
	got := map[string]*answer{}
	for _, g := range groups {
		groupAnswers(t, b, g, got)
	}
	if len(got) != len(want) {
		t.Errorf("%d groups, want %d", len(got), len(want))
	}
	for text, a := range want {
		if !reflect.DeepEqual(got[text], a) {
			t.Fatalf("group %s: %+v, want %+v", text, got[text], a)
		}
	}
}

func checkRun(t *testing.T, rng *rand.Rand, b *rowdata.Bound, opt Options, workers int) {
	want := map[string]*answer{}
	var batch rowtest.Arena
	tiles := make([][]*rowdata.Tile, workers)
	var rows int64
	for i := range tiles {
		for range rng.IntN(4) {
			groups := []int{3, 200, 5000}[rng.IntN(3)]
			tile := randomTile(rng, b, rng.IntN(600), groups, &batch, want)
			rows += int64(tile.Rows)
			tiles[i] = append(tiles[i], tile)
		}
	}
	if b.Keys.Words == 0 && len(want) == 0 {
		want[""] = &answer{numbers: make([]uint64, 2*len(b.Columns))} // one group, also of no rows
	}
	store := new(memoryStore)
	run := NewRun(b, opt, store)
	groups, err := execute(t, run, tiles)
	if err != nil {
		t.Fatal(err)
	}
	batch.Poison()
	checkGroups(t, b, groups, want)
	if c := run.Counters(); c.RowsPreAgg.Load()+c.RowsScattered.Load() != rows {
		t.Errorf("%d rows pre-aggregated and %d scattered, of %d", c.RowsPreAgg.Load(), c.RowsScattered.Load(), rows)
	}
	if left := store.left(); left > 0 {
		t.Errorf("the partitions still have %d rows", left)
	}
	if opt.ForceSplits > 0 && len(want) > 50 && rows > 1000 && len(store.passes) < 2 {
		t.Errorf("%d passes: nothing was split", len(store.passes))
	}
}

// Would catch an error of the store that is dropped on the way: at every call, the run fails with
// it.
func TestRunFailsWithItsStore(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, mode := range []Options{
		{NoDense: true, NoPreAgg: true, RadixBits: 1},
		{NoDense: true, AlwaysPreAgg: true, TableGroups: 8, RadixBits: 1},
		{NoDense: true, NoPreAgg: true, RadixBits: 1, ForceSplits: 1},
	} {
		b := shapes[2].bind(t)
		tiles := make([][]*rowdata.Tile, 2)
		for i := range tiles {
			for range 3 {
				tiles[i] = append(tiles[i], randomTile(rng, b, 1500, 5000, new(rowtest.Arena), map[string]*answer{}))
			}
		}
		for n := 1; ; n++ {
			store := &memoryStore{failAt: n}
			run := NewRun(b, mode, store)
			_, err := execute(t, run, tiles)
			if store.calls < n {
				if err != nil {
					t.Errorf("no call failed: %v", err)
				}
				break
			}
			if !errors.Is(err, errInjected) {
				t.Fatalf("call %d of the store failed, the run returned %v", n, err)
			}
		}
	}
}

// Would catch pre-aggregation that goes on where it does not pay, or that stops where it does.
func TestRunAdapts(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, c := range []struct {
		name      string
		groups    int
		scattered bool
	}{{"few groups", 50, false}, {"all rows differ", 1 << 40, true}} {
		s := shape{intKey: true, columns: 1}
		b := s.bind(t)
		var tiles []*rowdata.Tile
		for range 100 {
			tiles = append(tiles, randomTile(rng, b, rowdata.TileRows, c.groups, nil, map[string]*answer{}))
		}
		run := NewRun(b, Options{TableGroups: 4096}, new(memoryStore))
		if _, err := execute(t, run, [][]*rowdata.Tile{tiles}); err != nil {
			t.Fatal(err)
		}
		scattered := run.Counters().RowsScattered.Load()
		if c.scattered && scattered < 100*rowdata.TileRows*3/4 || !c.scattered && scattered > 0 {
			t.Errorf("%s: %d of %d rows were scattered as they were", c.name, scattered, 100*rowdata.TileRows)
		}
		radix, estimated, ok := run.Scatter()
		if ok != c.scattered {
			t.Errorf("%s: a scatter: %v", c.name, ok)
		}
		if ok && (radix < radixBitsMin || estimated < 100*rowdata.TileRows/2) {
			t.Errorf("%s: %d radix bits for %d groups", c.name, radix, estimated)
		}
	}
}

// Would catch a table that is scattered though a larger one has room for all groups, and one that
// grows for groups that never come again.
func TestDirectGrows(t *testing.T) {
	s := shape{intKey: true, columns: 1}
	b := s.bind(t)
	for _, c := range []struct {
		name      string
		cache     int64
		key       func(row int) uint64
		scattered bool
	}{
		{"at the first limit", 0, func(row int) uint64 { return partition.Mix64(uint64(row)) % 1200 }, false},
		{"at the second", 32 << 20, func(row int) uint64 { return partition.Mix64(uint64(row)) % 2000 }, false},
		{"no second", 0, func(row int) uint64 { return partition.Mix64(uint64(row)) % 2000 }, true},
		{"beyond the second", 32 << 20, func(row int) uint64 { return partition.Mix64(uint64(row)) % 40_000 }, true},
		{"all rows differ", 32 << 20, func(row int) uint64 { return uint64(row) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := NewRun(b, Options{TableGroups: 64, CacheBytes: c.cache}, new(memoryStore))
			var tiles []*rowdata.Tile
			for first := 0; first < 20*rowdata.TileRows; first += rowdata.TileRows {
				tile := randomTile(rowtest.Rand(t), b, rowdata.TileRows, 10, nil, map[string]*answer{})
				for i := range tile.Rows {
					tile.Keys[i*b.Keys.Words] = c.key(first + i)
				}
				tiles = append(tiles, tile)
			}
			if _, err := execute(t, run, [][]*rowdata.Tile{tiles}); err != nil {
				t.Fatal(err)
			}
			if scattered := run.Counters().StatesScattered.Load() > 0; scattered != c.scattered {
				t.Errorf("states were scattered: %v, want %v", scattered, c.scattered)
			}
		})
	}
}

// Would catch windows that no cache holds, and narrower ones than there always were.
func TestWindowMax(t *testing.T) {
	sum := rowdata.Fold{Kind: rowdata.FoldSumInt, Words: 2}
	for _, c := range []struct {
		folds         []rowdata.Fold
		cache, memory int64
		want          uint64
	}{
		{[]rowdata.Fold{sum}, 0, 0, table.DirectMax},
		{[]rowdata.Fold{sum}, 16 << 20, 0, 1 << 19},
		{[]rowdata.Fold{sum}, 8 << 20, 0, 1 << 19},
		{[]rowdata.Fold{sum}, 7 << 20, 0, table.DirectMax},
		{[]rowdata.Fold{sum, sum, sum}, 16 << 20, 0, table.DirectMax},
		{[]rowdata.Fold{sum}, 1 << 40, 0, 1 << 19},
		{[]rowdata.Fold{sum}, 16 << 20, 40 << 20, table.DirectMax},
		{[]rowdata.Fold{sum}, 16 << 20, 1, table.DirectMax},
		{nil, 16 << 20, 0, 1 << 19},
	} {
		b := &rowdata.Bound{Keys: *rowtest.KeyLayout(1), Folds: c.folds}
		memory := func() int64 { return cmp.Or(c.memory, math.MaxInt64) }
		r := NewRun(b, Options{CacheBytes: c.cache, WorkerBytes: memory}, new(memoryStore))
		if r.windowMax != c.want {
			t.Errorf("%d folds, a cache of %d B, %d B of memory: %d keys, want %d", len(c.folds), c.cache, c.memory, r.windowMax, c.want)
		}
	}
}

// Would catch tasks whose tables leave the cache though partitions would fit it, or that are cut to
// pieces where an estimate is far too high.
func TestTaskRows(t *testing.T) {
	b := &rowdata.Bound{Keys: *rowtest.KeyLayout(1), Folds: []rowdata.Fold{{Kind: rowdata.FoldSumInt, Words: 2}}}
	r := NewRun(b, Options{}, new(memoryStore))
	cached := int64(tableGroups(b))
	for _, c := range []struct{ rows, groups, want int64 }{
		{1e9, 0, taskRowsMax}, // nothing is known
		{1e9, 1e6, taskRowsMax},
		{1e7, 5e6, 2 * cached},
		{1e7, 1e7, cached},
		{1e4, 1e9, cached},
		{0, 1, cached},
	} {
		if got := r.taskRows(c.rows, c.groups); got != c.want {
			t.Errorf("%d rows of %d groups: %d rows a task, want %d", c.rows, c.groups, got, c.want)
		}
	}
	r.opt.WorkerBytes = func() int64 { return 1 << 20 }
	if got := r.taskRows(1e7, 1e7); got >= cached {
		t.Errorf("%d rows a task, in %d bytes", got, r.opt.WorkerBytes())
	}
	b.Folds[0] = rowdata.Fold{Kind: rowdata.FoldHistogram, Words: 2}
	if got := NewRun(b, Options{}, new(memoryStore)).taskRows(160_000, 10_000); got > 160_000/growingTasks {
		t.Errorf("%d rows a task, each with a list of values", got)
	}
}
