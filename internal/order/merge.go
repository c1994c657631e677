package order

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/store"
)

// cursor is a place in a run.
type cursor struct {
	reader  *store.BatchReader
	batch   arrow.RecordBatch // nil at the end
	entries []entry           // of the batch
	long    longKeys          // of the batch
	row     int               // of the batch: the next row
	number  int               // of the run: breaks ties. O2.
	source  int               // place of the batch in merger.sources; -1 where it is not there
}

// merger merges runs.
type merger struct {
	sort    *sorter
	cursors []*cursor // a heap, the least row in front
	all     []*cursor // with the cursors that are at their end

	sources []arrow.RecordBatch // owned; the batches that at refers to
	at      []entry             // rows of sources, to be gathered
}

func (s *sorter) newMerger(runs []*run) (*merger, error) {
	m := &merger{sort: s}
	for i, r := range runs {
		c := &cursor{reader: r.open(s.opt.RunAllocator), number: i}
		m.all = append(m.all, c)
		if err := s.load(c); err != nil {
			m.close()
			return nil, err
		}
		if c.batch != nil {
			m.cursors = append(m.cursors, c)
		}
	}
	for i := len(m.cursors)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return m, nil
}

// load makes the next batch of a run current, or none at the end.
func (s *sorter) load(c *cursor) (err error) {
	if c.batch != nil {
		c.batch.Release()
	}
	if c.batch, err = c.reader.Next(); c.batch == nil {
		return err
	}
	c.row, c.source = 0, -1
	c.entries, c.long = s.encoder.encode(c.entries[:0], c.batch, 0)
	return nil
}

// less compares the rows of two cursors.
func (a *cursor) less(b *cursor) bool {
	c := compareHeads(&a.entries[a.row], &b.entries[b.row])
	if c == 0 && a.long.ends != nil {
		c = compareLong(a.long.at(uint32(a.row)), b.long.at(uint32(b.row)))
	}
	if c == 0 {
		return a.number < b.number
	}
	return c < 0
}

// sink restores the heap below a cursor.
func (m *merger) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.cursors); child++ {
			if m.cursors[child].less(m.cursors[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.cursors[i], m.cursors[least] = m.cursors[least], m.cursors[i]
		i = least
	}
}

// next returns the next rows, at most the given number, or none at the end.
func (m *merger) next(rows int) ([]arrow.RecordBatch, error) {
	defer m.dropSources()
	for len(m.at) < rows && len(m.cursors) > 0 {
		c := m.cursors[0]
		if c.source < 0 {
			c.batch.Retain()
			c.source = len(m.sources)
			m.sources = append(m.sources, c.batch)
		}
		m.at = append(m.at, entry{batch: uint32(c.source), row: uint32(c.row)})
		if c.row++; c.row == len(c.entries) {
			if err := m.sort.load(c); err != nil {
				return nil, err
			}
			if c.batch == nil {
				last := len(m.cursors) - 1
				m.cursors[0] = m.cursors[last]
				m.cursors = m.cursors[:last]
			}
		}
		m.sink(0)
	}
	if len(m.at) == 0 {
		return nil, nil
	}
	return m.sort.gather(m.sources, m.at)
}

func (m *merger) dropSources() {
	for _, b := range m.sources {
		b.Release()
	}
	for _, c := range m.cursors {
		c.source = -1
	}
	m.sources, m.at = m.sources[:0], m.at[:0]
}

func (m *merger) close() {
	for _, c := range m.all {
		if c.batch != nil {
			c.batch.Release()
			c.batch = nil
		}
		c.reader.Close()
	}
	m.all, m.cursors = nil, nil
}

// copyTo writes the first rows to a run, as many as the sort wants.
func (m *merger) copyTo(ctx context.Context, w *runWriter) error {
	s := m.sort
	for left := s.wanted; left > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		batches, err := m.next(int(min(left, int64(s.rowsOf(s.batchBytes())))))
		if len(batches) == 0 {
			return err
		}
		for _, b := range batches {
			left -= b.NumRows()
		}
		if err := w.write(batches); err != nil {
			return err
		}
	}
	return nil
}
