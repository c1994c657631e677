package scan

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/internal/spawn"
)

// Listed is a file of a table whose files a list names. The list says what is in a file before it is opened.
type Listed struct {
	Name  string
	Rows  int64 // of the file, deleted ones among them
	Live  int64 // Rows without the deleted ones; -1 where that is not known
	Bytes int64

	// Constants are decode.File.Constants.
	Constants map[string]any

	// Bounds are of columns, by name. A column that is not there may have any value.
	Bounds map[string]predicate.Bounds

	// Excludes says whether a term on a column, whose name is given, is surely not TRUE for any row; nil: never. It
	// knows what bounds do not tell, as hashes of values.
	Excludes func(column string, t *predicate.Term) bool

	// Open opens the file, whose Constants are not nil: those above are added.
	Open func(ctx context.Context) (decode.File, error)
}

// openers is how many files of a list are opened at the same time, at least: an object store takes long to answer.
const openers = 16

// listed is the Source of a list of files. Files are opened when their rows are to be read, those alone that a
// condition leaves.
type listed struct {
	of     []Listed
	schema *arrow.Schema
	whole  Whole
	starts []uint64 // by file: the position of its first row

	mu  sync.Mutex
	all *table // of all files; nil before they are opened
}

// NewListed returns the table of files of a list, which has the columns of whole.Schema.
//
// Requires: whole.Listed.
func NewListed(files []Listed, whole Whole) (Source, error) {
	shape, err := NewTable(nil, nil, whole)
	if err != nil {
		return nil, err
	}
	l := &listed{of: files, schema: shape.Schema(), whole: whole, starts: make([]uint64, len(files))}
	var start uint64
	for i := range files {
		l.starts[i] = start
		start += uint64(files[i].Rows)
	}
	return l, nil
}

// Schema implements Source.
func (l *listed) Schema() *arrow.Schema { return l.schema }

// Stats implements Source, by the list while the files are not opened.
func (l *listed) Stats() Stats {
	l.mu.Lock()
	all := l.all
	l.mu.Unlock()
	if all != nil {
		return all.Stats()
	}
	var stats Stats
	for i := range l.of {
		stats.Rows = decode.AddKnown(stats.Rows, l.of[i].Live)
		stats.Bytes += l.of[i].Bytes
	}
	return stats
}

// Splits implements Source.
func (l *listed) Splits(ctx context.Context, columns []int) ([]Split, error) {
	t, err := l.table(ctx)
	if err != nil {
		return nil, err
	}
	return t.Splits(ctx, columns)
}

// Narrow implements Narrower.
func (l *listed) Narrow(ctx context.Context, p Predicate) (Source, bool, error) {
	t, err := l.table(ctx)
	if err != nil {
		return nil, false, err
	}
	return t.Narrow(ctx, p)
}

// table returns the table of all files.
func (l *listed) table(ctx context.Context) (*table, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		all, err := l.open(ctx, numbersTo(len(l.of)))
		if err != nil {
			return nil, err
		}
		l.all = all
	}
	return l.all, nil
}

// open returns the table of some of the files.
func (l *listed) open(ctx context.Context, files []int) (*table, error) {
	inputs := make([]decode.File, len(files))
	whole := l.whole
	whole.starts = make([]uint64, len(files))
	workers, ctx := spawn.WithContext(ctx)
	workers.SetLimit(max(openers, runtime.GOMAXPROCS(0)))
	for i, file := range files {
		of := &l.of[file]
		whole.starts[i] = l.starts[file]
		workers.Go(func() (err error) {
			if inputs[i], err = of.Open(ctx); err != nil {
				return err
			}
			maps.Copy(inputs[i].Constants, of.Constants)
			if rows := inputs[i].Span(); rows != uint64(of.Rows) {
				return fmt.Errorf("%w: %s has %d rows, where the table says %d", ErrCorrupt, of.Name, rows, of.Rows)
			}
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	t, err := NewTable(inputs, nil, whole)
	if err != nil {
		return nil, err
	}
	return t.(*table), nil
}

// filter opens the files that a condition leaves, and returns their table without what the condition excludes.
func (l *listed) filter(ctx context.Context, test *condition) (Filtered, error) {
	var left []int
	by := Pruning{}
	for i := range l.of {
		of := &l.of[i]
		reason, excluded := of.excluded(l.schema, test.terms)
		if !excluded {
			left = append(left, i)
			continue
		}
		by.Files++
		by.Rows = decode.AddKnown(by.Rows, of.Live)
		by.By[reason].Files++
		by.By[reason].Rows += max(of.Live, 0)
	}
	if len(left) == len(l.of) {
		t, err := l.table(ctx)
		if err != nil {
			return nil, err
		}
		return newFilteredTable(ctx, t, test)
	}
	t, err := l.open(ctx, left)
	if err != nil {
		return nil, err
	}
	f, err := newFilteredTable(ctx, t, test)
	if err != nil {
		return nil, err
	}
	f.pruning.Files += by.Files
	f.pruning.Rows = decode.AddKnown(f.pruning.Rows, by.Rows)
	for i := range by.By {
		f.pruning.By[i].Files += by.By[i].Files
		f.pruning.By[i].Rows += by.By[i].Rows
	}
	return f, nil
}

// excluded says whether a condition is surely not TRUE for any row of the file, and by what.
func (f *Listed) excluded(schema *arrow.Schema, c *predicate.Conjunction) (by PruneReason, excluded bool) {
	if by, excluded = f.excludes(schema, c.Terms); excluded {
		return by, true
	}
	for _, alternatives := range c.AnyOf {
		if !slices.ContainsFunc(alternatives, func(terms []predicate.Term) bool {
			_, no := f.excludes(schema, terms)
			return !no
		}) {
			return PrunedByStatistics, true
		}
	}
	return 0, false
}

// excludes says whether one of some terms is surely not TRUE for any row of the file, and by what.
func (f *Listed) excludes(schema *arrow.Schema, terms []predicate.Term) (by PruneReason, excluded bool) {
	for i := range terms {
		t := &terms[i]
		name := schema.Field(t.Column).Name
		if value, ok := f.Constants[name]; ok {
			if b := decode.BoundsOf(value); t.Excludes(&b) {
				return PrunedByFolder, true
			}
			continue
		}
		if b, ok := f.Bounds[name]; ok && t.Excludes(&b) {
			return PrunedByStatistics, true
		}
		if f.Excludes != nil && f.Excludes(name, t) {
			return PrunedByFolder, true
		}
	}
	return 0, false
}
