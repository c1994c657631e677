package cpuagg

import (
	"context"
	"errors"
	"io"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
)

// merger reads sorted runs as one sequence, in order. Equal elements of sets become one element.
type merger struct {
	order order
	sets  bool       // the fold is a set
	heads []*runHead // a binary heap: the head whose element comes first is at the root
	given bool       // next has returned the element of the root
}

// runHead is the next element of a run.
type runHead struct {
	prefix  uint64 // of element, by order.prefix
	element []uint64
	pages   scatter.Pages
	page    *rowdata.Page
	row     int // of page: behind element
}

// newMerger begins to merge. The caller closes the merger, also after an error.
func newMerger(ctx context.Context, o order, runs []sortedRun) (*merger, error) {
	m := &merger{order: o, sets: o.fold.Kind == rowdata.FoldDistinct || o.fold.Kind == rowdata.FoldHistogram}
	for _, r := range runs {
		h := &runHead{pages: r.Pages()}
		m.heads = append(m.heads, h)
		if err := m.step(ctx, h); err != nil { // a run is not empty
			return m, err
		}
	}
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.siftDown(i)
	}
	return m, nil
}

// next returns the next element, which is valid until the next call, or io.EOF.
func (m *merger) next(ctx context.Context) ([]uint64, error) {
	if m.given {
		if err := m.advance(ctx, 0); err != nil {
			return nil, err
		}
	}
	if len(m.heads) == 0 {
		return nil, io.EOF
	}
	m.given = true
	first := m.heads[0]
	for m.sets {
		second := m.second()
		if second == 0 || !m.equal(first, m.heads[second]) {
			break
		}
		m.combine(first.element, m.heads[second].element)
		if err := m.advance(ctx, second); err != nil {
			return nil, err
		}
	}
	return first.element, nil
}

// second returns the index of the head that comes after the first; 0 when there is none.
func (m *merger) second() int {
	switch {
	case len(m.heads) < 2:
		return 0
	case len(m.heads) > 2 && m.before(m.heads[2], m.heads[1]):
		return 2
	}
	return 1
}

// combine adds an element to an equal one of a set.
func (m *merger) combine(element, other []uint64) {
	if m.order.fold.Kind == rowdata.FoldHistogram {
		kw := m.order.fold.OrderWords()
		element[kw] += other[kw]
		element[kw+1] = min(element[kw+1], other[kw+1])
	}
}

// advance goes on to the next element of a head, or drops the head at its end.
func (m *merger) advance(ctx context.Context, i int) error {
	err := m.step(ctx, m.heads[i])
	if errors.Is(err, io.EOF) {
		m.heads[i].close()
		last := len(m.heads) - 1
		m.heads[i] = m.heads[last]
		m.heads = m.heads[:last]
		err = nil
	}
	if err == nil && i < len(m.heads) {
		m.siftDown(i)
	}
	return err
}

// step reads the next element of a head.
func (m *merger) step(ctx context.Context, h *runHead) error {
	for h.page == nil || h.row == h.page.Rows {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		h.release()
		page, err := h.pages.Next()
		if err != nil {
			return err
		}
		h.page, h.row = page, 0
	}
	w := m.order.fold.ElementWords
	h.element = h.page.Words[h.row*w : (h.row+1)*w]
	h.prefix = m.order.prefix(h.element)
	h.row++
	return nil
}

func (m *merger) before(a, b *runHead) bool {
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return m.order.compare(a.element, b.element) < 0
}

func (m *merger) equal(a, b *runHead) bool {
	return a.prefix == b.prefix && m.order.compare(a.element, b.element) == 0
}

func (m *merger) siftDown(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heads); child++ {
			if m.before(m.heads[child], m.heads[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heads[i], m.heads[least] = m.heads[least], m.heads[i]
		i = least
	}
}

// close ends the reading.
func (m *merger) close() {
	for _, h := range m.heads {
		h.close()
	}
}

func (h *runHead) release() {
	if h.page != nil {
		h.page.Release()
		h.page = nil
	}
}

func (h *runHead) close() {
	h.release()
	h.pages.Close()
}
