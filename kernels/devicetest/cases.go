package devicetest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mpga/mpga/kernels"
)

// Case is an input: Rows rows of a shape, whose keys come from Groups groups with some distribution.
// Equal cases make equal rows.
type Case struct {
	Name         string
	Shape        kernels.Shape
	Rows         int
	Groups       int // that keys are drawn from; with few rows, some groups have none
	Distribution Distribution
	Nulls        float64 // share of the values of every column
	// Extreme lets columns have extreme values: the ends of integers, NaN, infinities, -0.
	Extreme bool
	Seed    uint64
}

// Distribution is how often the groups come.
type Distribution struct {
	Kind Kind
	// Skew of Zipf: its exponent; of SelfSimilar: the share h of the groups that has a share 1-h of
	// the rows, again and again; of Heavy: the share of the rows that the one group has.
	Skew float64
}

// Kind is a family of distributions.
type Kind uint8

// The distributions.
const (
	Uniform     Kind = iota
	Zipf             // Gray et al., SIGMOD 1994
	SelfSimilar      // there
	Heavy            // one group has a share of the rows, the others are uniform
	Sorted           // uniform; rows come by group
)

// String returns the kind, and the skew where the kind has one.
func (d Distribution) String() string {
	switch d.Kind {
	case Zipf:
		return fmt.Sprintf("zipf %.1f", d.Skew)
	case SelfSimilar:
		return fmt.Sprintf("self-similar %.2f", d.Skew)
	case Heavy:
		return fmt.Sprintf("heavy %.2f", d.Skew)
	case Sorted:
		return "sorted"
	}
	return "uniform"
}

// Shapes that cases are made of.
func sumShape(keyBytes int) kernels.Shape {
	return kernels.Shape{
		KeyBytes: keyBytes,
		Columns:  []kernels.ColumnType{kernels.Uint32},
		Folds:    []kernels.Fold{{Op: kernels.Sum64, Column: 0, Other: -1}},
	}
}

// mixedShape has states of one and of more words.
func mixedShape(keyBytes int) kernels.Shape {
	return kernels.Shape{
		KeyBytes: keyBytes,
		Columns:  []kernels.ColumnType{kernels.Int64, kernels.Float64, kernels.Int32},
		Folds: []kernels.Fold{
			{Op: kernels.Count, Column: -1, Other: -1},
			{Op: kernels.Sum128, Column: 0, Other: -1},
			{Op: kernels.SumFloat, Column: 1, Other: -1},
			{Op: kernels.Min, Column: 2, Other: -1},
			{Op: kernels.Max, Column: 1, Other: -1},
		},
	}
}

// wideShape is as wide as a launch may be.
func wideShape() kernels.Shape {
	s := kernels.Shape{KeyBytes: kernels.KeyBytesMax}
	types := []kernels.ColumnType{kernels.Int32, kernels.Uint32, kernels.Int64, kernels.Uint64,
		kernels.Float64, kernels.Int128}
	for i := range kernels.ColumnsMax {
		s.Columns = append(s.Columns, types[i%len(types)])
	}
	for i := range kernels.FoldsMax {
		s.Folds = append(s.Folds, kernels.Fold{Op: kernels.Sum128, Column: i % kernels.ColumnsMax, Other: -1})
		if f := &s.Folds[i]; s.Columns[f.Column] == kernels.Float64 {
			f.Op = kernels.Moments4
		}
	}
	return s
}

// foldShapes returns one shape for each fold over each type that it takes.
func foldShapes() map[string]kernels.Shape {
	names := map[kernels.ColumnType]string{
		kernels.Int32: "int32", kernels.Uint32: "uint32", kernels.Int64: "int64",
		kernels.Uint64: "uint64", kernels.Float64: "float64", kernels.Int128: "int128",
	}
	integers := []kernels.ColumnType{kernels.Int32, kernels.Uint32, kernels.Int64, kernels.Uint64}
	words := append([]kernels.ColumnType{kernels.Float64}, integers...)
	all := append([]kernels.ColumnType{kernels.Int128}, words...)
	shapes := map[string]kernels.Shape{}
	add := func(name string, op kernels.FoldOp, types []kernels.ColumnType) {
		for _, t := range types {
			shape := kernels.Shape{KeyBytes: 8, Columns: []kernels.ColumnType{t},
				Folds: []kernels.Fold{{Op: op, Column: 0, Other: -1}}}
			if op == kernels.Comoments {
				shape.Columns = append(shape.Columns, kernels.Float64)
				shape.Folds[0].Other = 1
			}
			shapes[name+" of "+names[t]] = shape
		}
	}
	add("count", kernels.Count, all)
	add("sum64", kernels.Sum64, integers)
	add("sum128", kernels.Sum128, append([]kernels.ColumnType{kernels.Int128}, integers...))
	add("sum float", kernels.SumFloat, all)
	add("min", kernels.Min, words)
	add("max", kernels.Max, words)
	add("and", kernels.BitAnd, integers)
	add("or", kernels.BitOr, integers)
	add("xor", kernels.BitXor, integers)
	add("two moments", kernels.Moments2, all)
	add("four moments", kernels.Moments4, all)
	add("co-moments", kernels.Comoments, words)
	for _, limit := range []int{1, 2, 3, 4, 5, 6, kernels.LimitMax} {
		op := kernels.MinN + kernels.FoldOp(limit%2)
		t := words[limit%len(words)]
		shapes[fmt.Sprintf("best %d of %s", limit, names[t])] = kernels.Shape{
			KeyBytes: 8, Columns: []kernels.ColumnType{t}, Folds: []kernels.Fold{{Op: op, Column: 0, Other: -1, Limit: limit}},
		}
	}
	shapes["count of rows"] = kernels.Shape{KeyBytes: 4, Folds: []kernels.Fold{{Op: kernels.Count, Column: -1, Other: -1}}}
	shapes["count of two"] = kernels.Shape{
		KeyBytes: 4, Columns: []kernels.ColumnType{kernels.Int32, kernels.Float64},
		Folds: []kernels.Fold{{Op: kernels.Count, Column: 0, Other: 1}},
	}
	shapes["no folds"] = kernels.Shape{KeyBytes: 8}
	return shapes
}

// Cases returns the case list. rows is how many rows the large inputs have.
func Cases(rows int) []Case {
	var cases []Case
	add := func(c Case, name string, args ...any) {
		c.Name = fmt.Sprintf(name, args...)
		c.Seed = uint64(len(cases) + 1)
		cases = append(cases, c)
	}
	for _, keyBytes := range []int{4, 8, 16, 24, 40, kernels.KeyBytesMax} {
		for _, groups := range []int{0, 1, 2, 31, 32, 33, 1000, 1<<16 - 1, 1 << 16, 1<<16 + 1, rows} {
			n := rows
			switch {
			case groups == 0:
				n = 0
			case groups > rows && keyBytes > 8:
				continue
			case groups > rows:
				n = groups + groups/4
			}
			add(Case{Shape: mixedShape(keyBytes), Rows: n, Groups: groups, Nulls: 0.1}, "key %d, groups %d", keyBytes, groups)
		}
	}
	for _, n := range []int{1, 2, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 2047,
		2048, 2049, 4095, 4096, 4097} {
		add(Case{Shape: mixedShape(8), Rows: n, Groups: 1 + n/3, Nulls: 0.5}, "rows %d", n)
	}
	distributions := []Distribution{
		{SelfSimilar, 0.2}, {SelfSimilar, 0.05}, {Heavy, 0.5}, {Heavy, 0.99}, {Sorted, 0},
	}
	for _, skew := range []float64{0.2, 0.5, 0.8, 1, 1.2, 1.5} {
		distributions = append(distributions, Distribution{Zipf, skew})
	}
	for _, d := range distributions {
		for _, groups := range []int{50, 5000, rows / 2} {
			add(Case{Shape: sumShape(4), Rows: rows, Groups: groups, Distribution: d}, "%v, groups %d", d, groups)
		}
	}
	shapes := foldShapes()
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		add(Case{Shape: shapes[name], Rows: rows / 4, Groups: 300, Nulls: 0.3}, "%s", name)
		add(Case{Shape: shapes[name], Rows: rows / 4, Groups: 300, Nulls: 0.05, Extreme: true}, "%s, extreme", name)
		add(Case{Shape: shapes[name], Rows: rows / 4, Groups: rows / 8, Nulls: 1}, "%s, all NULL", name)
	}
	for _, t := range []kernels.ColumnType{kernels.Int32, kernels.Uint32} {
		shape := sumShape(4)
		shape.Columns[0] = t
		add(Case{Shape: shape, Rows: rows, Groups: rows / 4, Nulls: 0.05, Extreme: true,
			Distribution: Distribution{Heavy, 0.5}}, "sum of column type %d, extreme, heavy", t)
	}
	add(Case{Shape: shapes["count of rows"], Rows: rows, Groups: rows / 2}, "count of rows, many groups")
	add(Case{Shape: wideShape(), Rows: rows / 8, Groups: 100, Nulls: 0.2}, "widest shape")
	add(Case{Shape: wideShape(), Rows: rows / 8, Groups: rows / 16}, "widest shape, many groups")
	// As many rows as a block's table has room for if the upper halves of sums are not in it.
	add(Case{Shape: sumShape(4), Rows: 15_000, Groups: 9_000, Extreme: true}, "sums beyond a block's table, extreme")
	// As many keys as a block of KernelBlockRanks has room for, and one more, in several tiles of rows of a block.
	for _, groups := range []int{128, 129} {
		add(Case{Shape: sumShape(4), Rows: 6 * rows, Groups: groups, Extreme: true}, "%d keys for each block", groups)
		add(Case{Shape: mixedShape(16), Rows: 6 * rows, Groups: groups, Nulls: 0.1}, "%d wide keys for each block", groups)
	}
	return cases
}
