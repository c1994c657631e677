package stream

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/kernels"
)

// Algorithm is a system of the papers, which does the work of a run whatever another would take.
// docs/papers.md names the papers, and says where each system departs from its text.
type Algorithm uint8

// The algorithms. All but MPEGA gather all rows and group them by one kernel; rows that do not fit the device's
// memory are partitioned first.
const (
	// Auto takes what is expected to be fastest.
	Auto Algorithm = iota
	// MPEGA: tiles are aggregated by SP-EGA, and their groups partitioned; partitions are merged greedily and
	// aggregated by SP-EGA, and partitions that are too large load by load (Wang, Shen, Lei, 2025, section 4.2).
	MPEGA
	// SPEGA: the two-phase hash (there, section 4.1).
	SPEGA
	// LPHGA: one table with linear probing, with two slots a row (there, section 3.2).
	LPHGA
	// HGB: tables of thread blocks in shared memory (Wu, Koutsoukos, Alonso, SIGMOD 2025, section 4.2).
	HGB
	// PGBTR: rows are partitioned with their columns, and each partition has a table in shared memory (there,
	// section 4.3).
	PGBTR
	// PGBUR: keys are partitioned with their row numbers, and columns are read by them (there).
	PGBUR
	// SGBTR: each column is sorted with the keys (there, section 4.1.3).
	SGBTR
	// SGBUR: row numbers are sorted by key, and columns are read by them (there).
	SGBUR
	// SGBDE: as SGBTR, by codes that a table has given the keys (there, section 4.4).
	SGBDE
	// ThreadPrivate: a table per thread, in device memory, and one for all in the end (Karnagel, Müller, Lohman, ADMS
	// 2015, section 5.1).
	ThreadPrivate
	// BlockPrivate: a table per thread block, in shared memory, and one for all in the end (there).
	BlockPrivate
	// Chen: one table with linear probing, of 2.6 times the groups that random triples of rows tell, begun again with
	// more slots where three quarters of it are taken (Chen, Cui, Kiran, Patterson, 2019, section 3).
	Chen
	// Libcudf: ranks of up to 128 keys a thread block, which rows are summed up by in shared memory, and a set of two
	// slots a row; where a block has more keys, one atomic operation a row (Inside RAPIDS libcudf, 2026).
	Libcudf
	// Global: one table in device memory, half full if the groups are as many as expected; filled again with a
	// slot for every row and more, if they are not (there, section 4).
	Global
)

var algorithms = [...]struct {
	name   string
	kernel kernels.Kernel
	what   string
}{
	Auto: {name: "auto", what: "whatever is expected to be fastest"},
	MPEGA: {"mp-ega", kernels.KernelTwoPhase,
		"tiles aggregated by SP-EGA, their groups partitioned and aggregated by SP-EGA"},
	SPEGA:         {"sp-ega", kernels.KernelTwoPhase, "SP-EGA, a table hashed into in two phases"},
	LPHGA:         {"lphga", kernels.KernelLinear, "one table, probed linearly"},
	HGB:           {"hgb", kernels.KernelShared, "a table for each block in shared memory"},
	PGBTR:         {"pgb-tr", kernels.KernelScattered, "partitions with a table each in shared memory"},
	PGBUR:         {"pgb-ur", kernels.KernelNumbered, "partitions of keys and row numbers, by which columns are read"},
	SGBTR:         {"sgb-tr", kernels.KernelSortedColumns, "columns sorted with the keys"},
	SGBUR:         {"sgb-ur", kernels.KernelSorted, "row numbers sorted by key"},
	SGBDE:         {"sgb-de", kernels.KernelSortedCodes, "columns sorted with codes for the keys"},
	ThreadPrivate: {"thread-private", kernels.KernelThreadPrivate, "a table for each thread in device memory"},
	BlockPrivate: {"block-private", kernels.KernelBlockPrivate,
		"a table for each block in shared memory, with one state a group"},
	Chen: {"chen", kernels.KernelLinear,
		"one table of 2.6 times the groups that triples of rows tell, begun again where it is full to 75%"},
	Libcudf: {"libcudf", kernels.KernelBlockRanks,
		"ranks of up to 128 keys a block, summed up in shared memory, and a set of two slots a row"},
	Global: {"global", kernels.KernelLinear, "a table in device memory, half full"},
}

// String returns the algorithm's name.
func (a Algorithm) String() string { return algorithms[a].name }

// Describe says in a line what the algorithm does.
func (a Algorithm) Describe() string { return algorithms[a].what }

// Algorithms returns the names of all algorithms, Auto's first.
func Algorithms() (names []string) {
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	return names
}

// ParseAlgorithm returns the algorithm of a name; no name is Auto's.
func ParseAlgorithm(name string) (Algorithm, error) {
	if name == "" {
		return Auto, nil
	}
	if i := slices.Index(Algorithms(), name); i >= 0 {
		return Algorithm(i), nil
	}
	return Auto, fmt.Errorf("%q: want one of %s", name, strings.Join(Algorithms(), ", "))
}

// Takes returns nil where the algorithm can group rows of a shape, and what it lacks otherwise. isRanked says
// whether columns are ranked once all rows have come.
func (a Algorithm) Takes(shape *kernels.Shape, isRanked bool) error {
	switch {
	case a == Auto || a == SGBUR:
		return nil
	case shape.Sorts():
		return fmt.Errorf("%s has no values in order, which medians, quantiles and count(DISTINCT) need; %s has", a, SGBUR)
	case a != MPEGA:
		if err := algorithms[a].kernel.Takes(shape); err != nil {
			return fmt.Errorf("%w; %s and %s sort by such keys", err, SGBDE, SGBUR)
		}
		return nil
	case isRanked:
		return fmt.Errorf(
			"%s aggregates tiles before the order of strings is known, which min and max of them need, and intervals as keys",
			a)
	}
	_, err := mergedShape(shape)
	return err
}

// plan returns the algorithm's plan for `rows` rows of `groups` groups. The table of LPHGA is for as many groups as
// rows, unless a load factor is asked for.
func (a Algorithm) plan(rows, groups int64, loadFactor float64) kernels.Plan {
	plan := kernels.Plan{Kernel: algorithms[a].kernel, Groups: max(groups, 1), Reason: a.Describe()}
	switch {
	case loadFactor > 0 && a.hasTable():
		plan.Slots = int64(math.Ceil(float64(plan.Groups) / loadFactor))
	case a == LPHGA:
		plan.Groups = max(rows, 1)
	case a == Chen:
		plan.Slots = int64(math.Ceil(chenSlots * float64(plan.Groups)))
	}
	return plan
}

// hasTable reports whether the algorithm's groups lie in one table in device memory, which has a load factor.
func (a Algorithm) hasTable() bool {
	return algorithms[a].kernel == kernels.KernelTwoPhase || algorithms[a].kernel == kernels.KernelLinear
}

// mergeOps are the folds by which states of folds are merged, over columns that have these states.
var mergeOps = map[kernels.FoldOp]kernels.FoldOp{
	kernels.Count: kernels.Sum64, kernels.Sum64: kernels.Sum64, kernels.Sum128: kernels.Sum128,
	kernels.SumExact: kernels.Sum128,
	kernels.SumFloat: kernels.SumFloat, kernels.Min: kernels.Min, kernels.Max: kernels.Max,
	kernels.BitAnd: kernels.BitAnd, kernels.BitOr: kernels.BitOr, kernels.BitXor: kernels.BitXor,
}

// mergedShape returns the shape by which groups of a shape are grouped as rows: a column for the states of each fold,
// and a fold that merges these states, to states of the same words. It fails where states cannot be merged so.
func mergedShape(shape *kernels.Shape) (merged kernels.Shape, err error) {
	merged.KeyBytes = shape.KeyBytes
	for i, f := range shape.Folds {
		op, ok := mergeOps[f.Op]
		if !ok {
			return merged, fmt.Errorf(
				"%s partitions the groups of tiles as rows, which states of several values are not: it has "+
					"counts, sums, min, max and bits",
				MPEGA)
		}
		column := kernels.Uint64
		switch {
		case f.Words() == 2:
			column = kernels.Int128
		case f.Op == kernels.SumFloat:
			column = kernels.Float64
		case f.Op == kernels.Min || f.Op == kernels.Max:
			column = wordType(shape.Columns[f.Column])
		}
		merged.Columns = append(merged.Columns, column)
		merged.Folds = append(merged.Folds, kernels.Fold{Op: op, Column: i, Other: -1})
	}
	if len(merged.Columns) > kernels.ColumnsMax {
		return merged, fmt.Errorf("%s makes a column of each of %d folds, more than the %d that a kernel takes", MPEGA,
			len(merged.Columns), kernels.ColumnsMax)
	}
	return merged, nil
}

// wordType returns the type of values that are extended to words.
func wordType(t kernels.ColumnType) kernels.ColumnType {
	switch t {
	case kernels.Int32:
		return kernels.Int64
	case kernels.Uint32:
		return kernels.Uint64
	}
	return t
}

// Ablation changes parts of how rows are grouped, to find out what each is good for. No change changes an answer. The
// zero value changes nothing.
type Ablation struct {
	// Bound sizes partitions: BoundTheorem or BoundTail. The default is the theorem's for MPEGA, and else the
	// smaller of both.
	Bound string

	// Oversized is what becomes of a set of partitions that is larger than the memory: OversizedFeedback loads its
	// rows into a table load by load, OversizedSplit partitions them again, OversizedCPU gives them to the CPU. The
	// default is feedback for MPEGA, and else feedback where a table is expected to take the groups, and a split
	// otherwise.
	Oversized string

	// NoMerge leaves each partition by itself, however small it is.
	NoMerge bool

	// LFMin and LFMax are the load factors of partition.Feedback. The defaults are 0.6 and 0.8, as
	// the paper's.
	LFMin, LFMax float64

	// LoadFactor is how full the tables of MPEGA, SPEGA, LPHGA, Chen and Global are where as many groups come as are
	// expected, in (0, 1]. The default, 0, is 1 for SP-EGA, and half for the others.
	LoadFactor float64

	// Streams is how many tiles a device has in its ring. The default is 4, or 12 with Decode.
	Streams int
}

// The values of Ablation's fields.
const (
	BoundTheorem = "theorem" // Theorem 1 of Wang, Shen, Lei
	BoundTail    = "tail"    // of the binomial distribution

	OversizedFeedback = "feedback"
	OversizedSplit    = "split"
	OversizedCPU      = "cpu"
)

// Bounds and Oversizeds list the values that Ablation's fields take.
var (
	Bounds     = []string{BoundTheorem, BoundTail}
	Oversizeds = []string{OversizedFeedback, OversizedSplit, OversizedCPU}
)

// Describe says in words what an algorithm does, so changed.
func (a *Ablation) Describe(algorithm Algorithm) string {
	parts := []string{algorithm.Describe()}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case a.Bound == BoundTail:
		add("partitions sized by the binomial tail")
	case a.Bound == BoundTheorem || algorithm == MPEGA:
		add("partitions sized by Theorem 1")
	}
	if a.NoMerge {
		add("partitions not merged")
	}
	if a.Oversized != "" {
		add("what is too large: %s", a.Oversized)
	}
	if low, high := a.loadFactors(); a.LFMin != 0 || a.LFMax != 0 || algorithm == MPEGA {
		add("load factors %g to %g", low, high)
	}
	switch {
	case a.LoadFactor == 0 && algorithm == LPHGA:
		add("two slots a row")
	case a.LoadFactor != 0 && algorithm.hasTable():
		add("tables filled to %g by the groups that are expected", a.LoadFactor)
	}
	if a.Streams != 0 {
		add("%d streams", a.Streams)
	}
	return strings.Join(parts, ", ")
}

const streamsMax = 64

// Validate reports every field that is out of its bounds.
func (a *Ablation) Validate() error {
	var errs knob.Errors
	check := func(ok bool, format string, args ...any) { errs.If(!ok, format, args...) }
	check(a.Bound == "" || slices.Contains(Bounds, a.Bound),
		"%s (%q) must be one of %s", knob.Name("engine.Ablation.Bound"), a.Bound,
		strings.Join(Bounds, ", "))
	check(a.Oversized == "" || slices.Contains(Oversizeds, a.Oversized),
		"%s (%q) must be one of %s", knob.Name("engine.Ablation.Oversized"), a.Oversized,
		strings.Join(Oversizeds, ", "))
	low, high := a.loadFactors()
	check(low > 0 && low < high && high <= 1,
		"%s (%g) and %s (%g) must be in (0, 1], the first below the second",
		knob.Name("engine.Ablation.LFMin"), low, knob.Name("engine.Ablation.LFMax"), high)
	check(a.LoadFactor >= 0 && a.LoadFactor <= 1,
		"%s (%g) must be in (0, 1]", knob.Name("engine.Ablation.LoadFactor"), a.LoadFactor)
	check(a.Streams >= 0 && a.Streams <= streamsMax,
		"%s (%d) must be in [1, %d]", knob.Name("engine.Ablation.Streams"), a.Streams, streamsMax)
	return errors.Join(errs...)
}

// Changed returns the fields that change something.
func (a *Ablation) Changed() []knob.Name {
	var set []knob.Name
	for _, f := range []struct {
		name knob.Name
		set  bool
	}{
		{"engine.Ablation.Bound", a.Bound != ""}, {"engine.Ablation.Oversized", a.Oversized != ""},
		{"engine.Ablation.NoMerge", a.NoMerge},
		{"engine.Ablation.LFMin", a.LFMin != 0}, {"engine.Ablation.LFMax", a.LFMax != 0},
		{"engine.Ablation.LoadFactor", a.LoadFactor != 0}, {"engine.Ablation.Streams", a.Streams != 0},
	} {
		if f.set {
			set = append(set, f.name)
		}
	}
	return set
}

// loadFactors returns LFMin and LFMax with their defaults.
func (a *Ablation) loadFactors() (low, high float64) {
	if low = a.LFMin; low == 0 {
		low = lfMinDefault
		if a.LFMax != 0 {
			low = min(low, a.LFMax*lfMinDefault/lfMaxDefault)
		}
	}
	if high = a.LFMax; high == 0 {
		high = max(lfMaxDefault, (1+low)/2)
	}
	return low, high
}
