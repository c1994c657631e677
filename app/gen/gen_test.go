package gen

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read returns the batches of all splits.
func read(t testing.TB, table *Table, opt scan.OpenOptions, columns ...int) []arrow.RecordBatch {
	t.Helper()
	splits, err := table.Splits(context.Background(), columns)
	check(t, err)
	var batches []arrow.RecordBatch
	position := int64(0)
	for _, s := range splits {
		if s.Position() != uint64(position) {
			t.Errorf("%s: position %d, want %d", s.Name(), s.Position(), position)
		}
		r, err := s.Open(context.Background(), opt)
		check(t, err)
		rows := int64(0)
		for r.Next() {
			b := r.RecordBatch()
			b.Retain()
			t.Cleanup(b.Release)
			batches = append(batches, b)
			rows += b.NumRows()
		}
		check(t, r.Err())
		r.Release()
		if rows != s.Rows() {
			t.Errorf("%s: %d rows, want %d", s.Name(), rows, s.Rows())
		}
		position += rows
	}
	if position != table.Rows() || table.Stats().Rows != position {
		t.Errorf("%s: %d rows, want %d", table.Name(), position, table.Rows())
	}
	return batches
}

// values calls f for each row of one column; v is nil for NULL, else an int64, float64 or string.
func values(t testing.TB, table *Table, column int, f func(v any)) {
	t.Helper()
	for _, b := range read(t, table, scan.OpenOptions{}, column) {
		arr := b.Column(0)
		for i := range arr.Len() {
			f(value(arr, i))
		}
	}
}

func value(arr arrow.Array, i int) any {
	if arr.IsNull(i) {
		return nil
	}
	switch a := arr.(type) {
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Uint32:
		return int64(a.Value(i))
	case *array.Uint64:
		return int64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.Date32:
		return int64(a.Value(i))
	case *array.Decimal128:
		return int64(a.Value(i).LowBits())
	}
	return arr.(*array.String).Value(i)
}

func h2oTable(t testing.TB, name string) *Table {
	t.Helper()
	opt, err := ParseH2O(name)
	check(t, err)
	opt.Seed = 7
	table, err := H2O(opt)
	check(t, err)
	if table.Name() != name {
		t.Errorf("%s calls itself %s", name, table.Name())
	}
	return table
}

func pairsTable(t testing.TB, opt PairsOptions) *Table {
	t.Helper()
	table, err := Pairs(opt)
	check(t, err)
	return table
}

func lineitemTable(t testing.TB, scale float64) *Table {
	t.Helper()
	table, err := Lineitem(scale, 7)
	check(t, err)
	return table
}

func hitsTable(t testing.TB, rows int64) *Table {
	t.Helper()
	table, err := Hits(rows, 7)
	check(t, err)
	return table
}

// Catches values that depend on the batch size, on the other columns or on an earlier read, and
// statistics that are not true (G1).
func TestReproducible(t *testing.T) {
	tables := []*Table{
		h2oTable(t, "G1_3e5_1e1_5_0"), h2oTable(t, "G1_3e5_1e1_5_1"), h2oTable(t, "G1_1e3_1e2_0_1"),
		pairsTable(t, PairsOptions{Rows: 3e5, Groups: 1e4, Dist: Zipf, Zipf: 0.9, Key: arrow.PrimitiveTypes.Uint32, Sparse: true}),
		pairsTable(t, PairsOptions{Rows: 3e5, Groups: 1e4, Dist: Heavy, Heavy: 0.5, Key: arrow.BinaryTypes.String, Value: arrow.PrimitiveTypes.Float64}),
		pairsTable(t, PairsOptions{}),
		lineitemTable(t, 0.05),
		hitsTable(t, blockRows+1000),
	}
	for _, table := range tables {
		all := make([]int, table.Schema().NumFields())
		for i := range all {
			all[i] = i
		}
		want := join(t, read(t, table, scan.OpenOptions{}, all...), len(all))
		slices.Reverse(all)
		got := join(t, read(t, table, scan.OpenOptions{BatchRows: 9_999}, all...), len(all))
		slices.Reverse(got)
		for c := range want {
			alone := join(t, read(t, table, scan.OpenOptions{BatchRows: 100_000}, c), 1)
			if len(want) > 0 && (!array.Equal(want[c], got[c]) || !array.Equal(want[c], alone[0])) {
				t.Errorf("%s: column %d differs by batch size or columns", table.Name(), c)
			}
			checkStats(t, table, c, want[c])
		}
	}
}

func join(t testing.TB, batches []arrow.RecordBatch, columns int) []arrow.Array {
	t.Helper()
	if len(batches) == 0 {
		return nil
	}
	out := make([]arrow.Array, columns)
	for c := range out {
		parts := make([]arrow.Array, len(batches))
		for i, b := range batches {
			parts[i] = b.Column(c)
		}
		var err error
		out[c], err = array.Concatenate(parts, memory.DefaultAllocator)
		check(t, err)
	}
	return out
}

func checkStats(t *testing.T, table *Table, column int, arr arrow.Array) {
	t.Helper()
	s := table.Stats().Columns[column]
	if s.NoNulls && arr.NullN() > 0 {
		t.Errorf("%s: column %d has %d NULLs", table.Name(), column, arr.NullN())
	}
	if !s.HasRange {
		return
	}
	for i := range arr.Len() {
		if v, ok := value(arr, i).(int64); ok && (v < s.Min || v > s.Max) {
			t.Errorf("%s: column %d: %d is not in [%d, %d]", table.Name(), column, v, s.Min, s.Max)
			return
		}
	}
}

// Catches data that changes with a release, which would make measurements of before and after
// incomparable: a change on purpose renews the numbers.
func TestPinned(t *testing.T) {
	tables := map[string]*Table{
		"h2o":      h2oTable(t, "G1_1e4_1e1_5_0"),
		"sorted":   h2oTable(t, "G1_1e4_1e1_5_1"),
		"uniform":  pairsTable(t, PairsOptions{Rows: 1e4, Groups: 100, Seed: 7}),
		"lineitem": lineitemTable(t, 0.001),
		"hits":     hitsTable(t, 1000),
	}
	want := map[string]uint64{"h2o": 0x6c9243f4010878aa, "sorted": 0x767982bcf7e2241f, "uniform": 0xad2e52e369261acd, "lineitem": 0x844a12147595816b,
		"hits": 0x79efc3d5b1c0cd0d}
	for name, table := range tables {
		h := fnv.New64a()
		for c := range table.Schema().NumFields() {
			values(t, table, c, func(v any) { fmt.Fprintln(h, v) })
		}
		if got := h.Sum64(); got != want[name] {
			t.Errorf("%q: %#x,", name, got)
		}
	}
}

// Catches distinct numbers, ranges and NULL counts off H2O's rules, and keys that are not uniform.
func TestH2O(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and slow under the race detector")
	}
	for _, name := range []string{"G1_3e5_1e2_0_0", "G1_3e5_1e2_5_0", "G1_3e5_1e2_0_1", "G1_3e5_1e2_5_1"} {
		table := h2oTable(t, name)
		na := name[11] == '5'
		domains := []int{100, 100, 3000, 100, 100, 3000}
		for c, domain := range domains {
			counts := make(map[any]int)
			values(t, table, c, func(v any) { counts[v]++ })
			nulls := counts[nil]
			delete(counts, nil)
			want := domain
			if na {
				want -= domain * 5 / 100
			}
			if len(counts) != want {
				t.Errorf("%s: id%d has %d values, want %d", name, c+1, len(counts), want)
			}
			if share := float64(nulls) / 3e5; math.Abs(share-float64(domain-want)/float64(domain)) > 0.003 {
				t.Errorf("%s: id%d is NULL in a share of %v", name, c+1, share)
			}
			checkUniform(t, fmt.Sprintf("%s: id%d", name, c+1), counts, 3e5/float64(domain))
		}
		for c, domain := range []int{5, 15, 0} {
			counts := make(map[any]int)
			values(t, table, v1+c, func(v any) { counts[v]++ })
			nulls := counts[nil]
			delete(counts, nil)
			if want := map[bool]int{false: 0, true: 3e5 * 5 / 100}[na]; nulls != want {
				t.Errorf("%s: v%d has %d NULLs, want exactly %d", name, c+1, nulls, want)
			}
			if domain > 0 {
				checkUniform(t, fmt.Sprintf("%s: v%d", name, c+1), counts, float64(3e5-nulls)/float64(domain))
				continue
			}
			sum := 0.0
			for v, n := range counts {
				f := v.(float64)
				sum += f * float64(n)
				if f < 0 || f >= 100 || math.Round(f*1e6)/1e6 != f {
					t.Fatalf("%s: v3 has %v", name, f)
				}
			}
			if mean := sum / float64(3e5-nulls); math.Abs(mean-50) > 0.3 {
				t.Errorf("%s: v3 has mean %v", name, mean)
			}
		}
	}
}

// checkUniform is a chi-squared test: its value is within 6 standard deviations of its mean.
func checkUniform(t *testing.T, what string, counts map[any]int, expected float64) {
	t.Helper()
	chi := 0.0
	for _, n := range counts {
		chi += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	mean := float64(len(counts) - 1)
	if math.Abs(chi-mean) > 6*math.Sqrt(2*mean) {
		t.Errorf("%s: chi-squared %v of %d values", what, chi, len(counts))
	}
}

func TestH2OStrings(t *testing.T) {
	first := map[any]bool{}
	values(t, h2oTable(t, "G1_1e5_1e1_0_0"), id1, func(v any) { first[v] = true })
	third := ""
	values(t, h2oTable(t, "G1_1e5_1e1_0_0"), id3, func(v any) { third = max(third, v.(string)) })
	if !first["id001"] || !first["id010"] || len(first) != 10 || third > "id0000010000" || third < "id0000009990" {
		t.Errorf("%v, %s", first, third)
	}
}

// Catches rows out of order, within a split and across them, NULLs first.
func TestH2OSorted(t *testing.T) {
	for _, name := range []string{"G1_3e5_1e2_0_1", "G1_3e5_1e1_5_1", "G1_5e5_1e2_60_1", "G1_3e5_2e0_100_1", "G1_1e0_1e0_0_1"} {
		var before []any
		for _, b := range read(t, h2oTable(t, name), scan.OpenOptions{}, id1, id2, id3, id4, id5, id6) {
			for row := range int(b.NumRows()) {
				ids := make([]any, b.NumCols())
				for c := range ids {
					ids[c] = value(b.Column(c), row)
				}
				if before != nil && compareIDs(before, ids) > 0 {
					t.Fatalf("%s: %v before %v", name, before, ids)
				}
				before = ids
			}
		}
	}
}

func compareIDs(a, b []any) int {
	return slices.CompareFunc(a, b, func(x, y any) int {
		switch {
		case x == nil || y == nil:
			if x == y {
				return 0
			} else if x == nil {
				return -1
			}
			return 1
		}
		if s, ok := x.(string); ok {
			return bytes.Compare([]byte(s), []byte(y.(string)))
		}
		return int(x.(int64) - y.(int64))
	})
}

// Catches group counts that hold on average only, and shares off the distribution.
func TestPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and slow under the race detector")
	}
	const rows, groups = 300_000, 1000
	expect := func(weight func(rank int) float64) []float64 {
		shares := make([]float64, groups)
		sum := 0.0
		for i := range shares {
			shares[i] = weight(i)
			sum += shares[i]
		}
		for i := range shares {
			shares[i] = 1 + shares[i]/sum*(rows-groups)
		}
		return shares
	}
	power := math.Log(1-0.2) / math.Log(0.2)
	cases := []struct {
		opt  PairsOptions
		want []float64
	}{
		{PairsOptions{}, expect(func(int) float64 { return 1 })},
		{PairsOptions{Dist: Heavy, Heavy: 0.3}, expect(func(i int) float64 {
			if i == 0 {
				return 0.3
			}
			return 0.7 / (groups - 1)
		})},
		{PairsOptions{Dist: SelfSimilar, SelfSimilar: 0.2}, expect(func(i int) float64 {
			return math.Pow(float64(i+1)/groups, power) - math.Pow(float64(i)/groups, power)
		})},
	}
	for _, s := range []float64{0.2, 0.8, 0.999999999, 1, 1.5, 3} {
		cases = append(cases, struct {
			opt  PairsOptions
			want []float64
		}{PairsOptions{Dist: Zipf, Zipf: s}, expect(func(i int) float64 { return math.Pow(float64(i+1), -s) })})
	}
	for _, c := range cases {
		c.opt.Rows, c.opt.Groups, c.opt.Seed = rows, groups, 5
		counts := make([]float64, groups)
		values(t, pairsTable(t, c.opt), pairsKey, func(v any) { counts[v.(int64)]++ })
		chi, cells := 0.0, 0.0
		for rank, n := range counts {
			if n == 0 {
				t.Errorf("%s %v: key %d does not occur", c.opt.Dist, c.opt.Zipf, rank)
			}
			if e := c.want[rank]; e >= 6 { // the test is for counts that are nearly normal
				chi += (n - e) * (n - e) / e
				cells++
			}
		}
		if math.Abs(chi-cells) > 6*math.Sqrt(2*cells) {
			t.Errorf("%s %v: chi-squared %v of %v cells", c.opt.Dist, c.opt.Zipf, chi, cells)
		}
	}
}

// Catches keys that collide when spread over their type, in each type, and groups at the edges.
func TestPairsGroups(t *testing.T) {
	for _, key := range keyTypes {
		for _, sparse := range []bool{false, true} {
			for _, size := range [][2]int64{{1, 1}, {3000, 1}, {3000, 2999}, {3000, 3000}, {1000, 5000}, {300_000, 70_000}} {
				opt := PairsOptions{Rows: size[0], Groups: size[1], Key: key, Sparse: sparse, Dist: Zipf, Zipf: 1.2}
				seen := make(map[any]bool)
				values(t, pairsTable(t, opt), pairsKey, func(v any) { seen[v] = true })
				if int64(len(seen)) != min(size[0], size[1]) {
					t.Errorf("%s, %d rows: %d groups, want %d", key, size[0], len(seen), size[1])
				}
			}
		}
	}
}

// Catches a permutation that repeats or leaves out a row.
func TestPermutation(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 5, 64, 65, 1000, 1 << 16, 1<<16 + 1} {
		for seed := range uint64(5) {
			p := newPermutation(n, seed, 3)
			seen := make([]bool, n)
			for i := range n {
				to := p.at(i)
				if to >= n || seen[to] {
					t.Fatalf("n %d, seed %d: %d goes to %d", n, seed, i, to)
				}
				seen[to] = true
			}
		}
	}
}

// Catches a choice that clusters: the rows below n/20 must be spread over blocks and low bits.
func TestPermutationSpread(t *testing.T) {
	const n = 1_000_000
	p := newPermutation(n, 11, 2)
	blocks, lows := make(map[any]int), make(map[any]int)
	for i := range uint64(n) {
		if p.at(i) < n/20 {
			blocks[i/1000]++
			lows[i%64]++
		}
	}
	checkUniform(t, "by block", blocks, 50)
	checkUniform(t, "by low bits", lows, n/20/64.0)
}

// Catches flags, dates and prices off the specification; Q1's groups are those of TPC-H.
func TestLineitem(t *testing.T) {
	table := lineitemTable(t, 0.1)
	if math.Abs(float64(table.Rows())-600_000) > 20 {
		t.Errorf("%d rows", table.Rows())
	}
	groups := make(map[string]int)
	var orderkey, number int64
	columns := make([]int, lineitemColumns)
	for i := range columns {
		columns[i] = i
	}
	for _, b := range read(t, table, scan.OpenOptions{}, columns...) {
		for row := range int(b.NumRows()) {
			n := func(c int) int64 { return value(b.Column(c), row).(int64) }
			s := func(c int) string { return value(b.Column(c), row).(string) }
			if n(lOrderkey) == orderkey {
				number++
			} else if n(lOrderkey) < orderkey {
				t.Fatalf("order %d after %d", n(lOrderkey), orderkey)
			} else {
				orderkey, number = n(lOrderkey), 1
			}
			ship, receipt := n(lShipdate), n(lReceiptdate)
			price := n(lExtendedprice) / (n(lQuantity) / 100)
			switch {
			case n(lLinenumber) != number || number > 7,
				(orderkey-1)%32 >= 8,
				n(lQuantity) < 100 || n(lQuantity) > 5000 || n(lQuantity)%100 != 0,
				n(lDiscount) < 0 || n(lDiscount) > 10 || n(lTax) < 0 || n(lTax) > 8,
				price < 90_000 || price > 90_000+20_000+99_900,
				receipt <= ship || receipt > ship+30,
				(s(lReturnflag) == "N") != (receipt > currentDate),
				(s(lLinestatus) == "O") != (ship > currentDate),
				len(s(lComment)) < 10 || len(s(lComment)) > 43,
				!slices.Contains(shipModes, s(lShipmode)) || !slices.Contains(shipInstructs, s(lShipinstruct)):
				t.Fatalf("line %d of order %d: %v", number, orderkey, b.NewSlice(int64(row), int64(row)+1))
			}
			groups[s(lReturnflag)+s(lLinestatus)]++
		}
	}
	// At scale 1 dbgen has 1478493, 38854, 3004998 and 1478870 of 6001215.
	want := map[string]float64{"AF": 0.24637, "NF": 0.00647, "NO": 0.50073, "RF": 0.24643}
	for group, n := range groups {
		if share := float64(n) / float64(table.Rows()); math.Abs(share-want[group]) > 0.004 {
			t.Errorf("group %s has a share of %v, want %v", group, share, want[group])
		}
	}
	if len(groups) != 4 {
		t.Errorf("groups %v", groups)
	}
}

// Catches rows lost where a round of orders is cut short, or where a block ends.
func TestLineitemSizes(t *testing.T) {
	for orders := int64(1); orders < 30; orders++ {
		table := lineitemTable(t, float64(orders)/ordersPerScale)
		last := any(nil)
		values(t, table, lOrderkey, func(v any) { last = v })
		if last != orderKey(orders-1) {
			t.Errorf("%d orders: the last is %v", orders, last)
		}
	}
	perBlock := float64(roundsPerBlock * ordersPerRound)
	for _, orders := range []float64{perBlock - 1, perBlock, perBlock + 1} {
		read(t, lineitemTable(t, orders/ordersPerScale), scan.OpenOptions{}, lLinenumber)
	}
}

func TestRefused(t *testing.T) {
	for _, name := range []string{"", "G1", "G2_1e7_1e2_0_0", "G1_1e7_1e2_0_2", "G1_1e7_1e2_101_0", "G1_1.5_1_0_0", "G1_1e1_1e2_0_0", "G1_x_1e2_0_0", "G1_-5_1_0_0", "G1_1e30_1_0_0"} {
		if _, err := ParseH2O(name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	for _, opt := range []PairsOptions{
		{Rows: -1}, {Rows: 1}, {Rows: 1, Groups: 1, Dist: "x"}, {Rows: 1, Groups: 1, Dist: Zipf}, {Rows: 1, Groups: 1, Dist: Zipf, Zipf: math.NaN()},
		{Rows: 1, Groups: 1, Dist: SelfSimilar, SelfSimilar: 0.5}, {Rows: 1, Groups: 1, Dist: Heavy, Heavy: 2},
		{Rows: 1, Groups: 1, Key: arrow.BinaryTypes.Binary}, {Rows: 1, Groups: 1, Value: arrow.BinaryTypes.String},
		{Rows: 1 << 40, Groups: 1 << 33, Key: arrow.PrimitiveTypes.Int32},
	} {
		if _, err := Pairs(opt); err == nil {
			t.Errorf("%+v is taken", opt)
		}
	}
	for _, scale := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := Lineitem(scale, 0); err == nil {
			t.Errorf("scale %v is taken", scale)
		}
	}
	table := lineitemTable(t, 0.001)
	if _, err := table.Splits(context.Background(), []int{16}); err == nil {
		t.Error("column 16 is taken")
	}
}

func TestParseCount(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "1e7": 1e7, "10_000_000": 1e7, "2.5e6": 2_500_000, "9007199254740993": 9007199254740993} {
		if got, err := ParseCount(s); err != nil || got != want {
			t.Errorf("%s: %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "x", "1.5", "-1", "1e40", "NaN", "Inf"} {
		if got, err := ParseCount(s); err == nil {
			t.Errorf("%s: %d", s, got)
		}
	}
}

// Catches a reader that goes on after its query was cancelled.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	splits, err := lineitemTable(t, 0.1).Splits(ctx, []int{0})
	check(t, err)
	r, err := splits[0].Open(ctx, scan.OpenOptions{BatchRows: 10})
	check(t, err)
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	cancel()
	if r.Next() || r.Err() != context.Canceled {
		t.Errorf("after cancel: %v", r.Err())
	}
}

// Catches memory of a batch that is never given back.
func TestMemory(t *testing.T) {
	for _, table := range []*Table{h2oTable(t, "G1_1e4_1e1_5_1"), pairsTable(t, PairsOptions{Rows: 1e4, Groups: 10}), lineitemTable(t, 0.001)} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		splits, err := table.Splits(context.Background(), []int{1, 0})
		check(t, err)
		r, err := splits[0].Open(context.Background(), scan.OpenOptions{Allocator: mem, BatchRows: 1000})
		check(t, err)
		r.Next()
		r.Next()
		r.Release()
		mem.AssertSize(t, 0)
	}
}

func BenchmarkGenerate(b *testing.B) {
	const rows = blockRows
	cases := map[string]*Table{
		"h2o":      h2oTable(b, "G1_262144e0_1e2_5_0"),
		"sorted":   h2oTable(b, "G1_262144e0_1e2_5_1"),
		"uniform":  pairsTable(b, PairsOptions{Rows: rows, Groups: 1e5}),
		"zipf":     pairsTable(b, PairsOptions{Rows: rows, Groups: 1e5, Dist: Zipf, Zipf: 0.8}),
		"lineitem": lineitemTable(b, 262_136.0/6e6),
	}
	for name, table := range cases {
		columns := make([]int, table.Schema().NumFields())
		for i := range columns {
			columns[i] = i
		}
		splits, err := table.Splits(context.Background(), columns)
		check(b, err)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, err := splits[0].Open(context.Background(), scan.OpenOptions{})
				check(b, err)
				for r.Next() {
				}
				r.Release()
			}
			b.ReportMetric(float64(splits[0].Rows())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
