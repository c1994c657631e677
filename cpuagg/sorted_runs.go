package cpuagg

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
)

// SortedRuns is the elements of a state that are outside the memory, in sorted runs.
type SortedRuns struct {
	order order
	runs  []sortedRun
}

// sortedRun is elements in a spool, in order.
type sortedRun struct {
	scatter.Spool
	elements, bytes int64
}

// Len returns the number of elements. Runs of a set may share elements, which count once for each
// run.
func (r *SortedRuns) Len() (n int64) {
	for _, run := range r.runs {
		n += run.elements
	}
	return n
}

// Bytes returns the length of the elements' strings together.
func (r *SortedRuns) Bytes() (n int64) {
	for _, run := range r.runs {
		n += run.bytes
	}
	return n
}

// Elements merges the runs: the elements of a list by position, other elements by value; each
// element of a set comes once. An element is valid until the next element; an error comes last,
// without an element.
func (r *SortedRuns) Elements(ctx context.Context) iter.Seq2[[]uint64, error] {
	return func(yield func([]uint64, error) bool) {
		m, err := newMerger(ctx, r.order, r.runs)
		defer m.close()
		for err == nil {
			var element []uint64
			if element, err = m.next(ctx); err == nil && !yield(element, nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(nil, err)
		}
	}
}

// add sorts elements and writes them as one more run.
func (r *SortedRuns) add(w *Worker, elements []uint64) error {
	r.order.sort(elements)
	ew := r.order.fold.ElementWords
	return r.write(w, func(run *runWriter) error {
		for ; len(elements) > 0; elements = elements[ew:] {
			if err := run.add(elements[:ew]); err != nil {
				return err
			}
		}
		return nil
	})
}

// write adds a run that a function fills.
func (r *SortedRuns) write(w *Worker, fill func(*runWriter) error) error {
	w.run.counters.Runs.Add(1)
	layout := r.order.fold.ElementLayout()
	run := &runWriter{sortedRun: sortedRun{Spool: w.run.pages.Store.NewSpool(&layout)}, fold: r.order.fold,
		memory: w.run.opt.Memory}
	err := fill(run)
	if err == nil {
		err = run.end()
	}
	if err != nil {
		run.release()
		return err
	}
	r.runs = append(r.runs, run.sortedRun)
	return nil
}

// reduce merges runs until there are at most n, as few elements as that takes.
func (r *SortedRuns) reduce(ctx context.Context, w *Worker, n int) error {
	slices.SortFunc(r.runs, func(a, b sortedRun) int { return int(a.elements - b.elements) })
	for len(r.runs) > n {
		invariants.Sometimes("cpuagg: sorted runs are merged to fewer")
		several := r.runs[:min(n, len(r.runs)-n+1)]
		err := r.write(w, func(run *runWriter) error {
			for element, err := range (&SortedRuns{r.order, several}).Elements(ctx) {
				if err == nil {
					err = run.add(element)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, run := range several {
			run.Discard()
		}
		r.runs = slices.Delete(r.runs, 0, len(several))
	}
	return nil
}

// discard gives the space of all runs back.
func (r *SortedRuns) discard() {
	for _, run := range r.runs {
		run.Discard()
	}
	r.runs = nil
}

// runPageBytes is the size of a run's pages. A merge holds a page of each run, as stored and as
// words, and as many bytes that are read ahead.
const (
	runPageBytes = 64 << 10
	runReadBytes = 3 * runPageBytes
)

// runWriter writes elements to a run.
type runWriter struct {
	sortedRun
	fold   *rowdata.Fold
	memory rowdata.Memory
	page   *rowdata.Page
}

// add writes an element behind the elements before.
func (w *runWriter) add(element []uint64) error {
	ew := w.fold.ElementWords
	if w.page != nil && ((w.page.Rows+1)*ew > len(w.page.Words) || w.page.Heap.Bytes() > runPageBytes) {
		if err := w.put(); err != nil {
			return err
		}
	}
	if w.page == nil {
		w.page = rowdata.NewPage(w.memory, runPageBytes/8/ew*ew)
	}
	row := w.page.Words[w.page.Rows*ew:][:ew]
	copy(row, element)
	if w.fold.Long {
		w.page.Heap.Keep(rowdata.AsBytes2(row[:2]))
		w.bytes += int64(rowdata.AsBytes2(row[:2]).Len())
	}
	w.page.Rows++
	w.elements++
	return nil
}

// put writes the open page.
func (w *runWriter) put() error {
	page := w.page
	w.page = nil
	return w.Put(page)
}

// end writes the open page, and ends the spool.
func (w *runWriter) end() error {
	if w.page != nil {
		if err := w.put(); err != nil {
			return err
		}
	}
	return w.End()
}

// release drops what was written.
func (w *runWriter) release() {
	if w.page != nil {
		w.page.Release()
		w.page = nil
	}
	w.Discard()
}
