package cpujoin

import (
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/partition"
)

// The sides of a join are the contents of the pages of Parts.
const (
	BuildSide scatter.Content = iota
	ProbeSide
)

// Parts are the rows of both sides of a join that outgrows its memory, by the partitions of their hashes: rows with
// equal keys are in one partition. Workers scatter batches at once.
type Parts struct {
	pass *scatter.Pass
	size [scatter.Contents][]partSize // by partition
}

// partSize is what a partition has of a side.
type partSize struct{ rows, bytes atomic.Int64 }

// NewParts returns 2^bits partitions, or fewer where memory is short, by the hash of a pass.
func NewParts(of scatter.Options, bits, pass int) *Parts {
	first := of.NewPass(partition.Radix(bits))
	first.Depth = pass
	return PartsOf(first)
}

// PartsOf returns the partitions of a pass.
func PartsOf(pass *scatter.Pass) *Parts {
	p := &Parts{pass: pass}
	for side := range p.size {
		p.size[side] = make([]partSize, pass.Radix.FanOut())
	}
	return p
}

// Scatterer moves batches of one side to partitions. One goroutine at a time uses it.
type Scatterer struct {
	to      *Parts
	side    scatter.Content
	mem     memory.Allocator
	pages   *store.BatchEncoder
	room    int64 // bytes of batches that are held
	batches []arrow.RecordBatch
	hashes  []uint64 // of all rows of batches
	bytes   int64    // of batches
}

// NewScatterer returns a scatterer that holds about room bytes of rows, and as many while it scatters them.
func (p *Parts) NewScatterer(side scatter.Content, room int64, m rowdata.Memory, mem memory.Allocator) *Scatterer {
	return &Scatterer{to: p, side: side, mem: mem, pages: store.NewBatchEncoder(m, mem), room: room}
}

// Hashes returns room for the hashes of the rows of a batch, which the caller writes before the next call of Add.
func (s *Scatterer) Hashes(rows int) []uint64 {
	n := len(s.hashes)
	s.hashes = slices.Grow(s.hashes, rows)[:n+rows]
	return s.hashes[n:]
}

// Hash writes the hashes of packed keys.
func (s *Scatterer) Hash(l *rowdata.KeyLayout, keys, hashes []uint64) {
	s.to.pass.Hash(l, keys, hashes)
}

// Add takes over a batch, whose hashes were written.
func (s *Scatterer) Add(batch arrow.RecordBatch) error {
	s.batches = append(s.batches, batch)
	s.bytes += rowdata.BatchBytes(batch)
	if s.bytes < s.room {
		return nil
	}
	return s.Flush()
}

// Flush moves the rows that are held.
func (s *Scatterer) Flush() error {
	defer s.Release()
	if len(s.hashes) == 0 {
		return nil
	}
	rows, ends := s.byPartition()
	all, err := s.gather(rows)
	if err != nil {
		return err
	}
	defer all.Release()
	pages := make([]scatter.PartitionPage, 0, len(ends))
	from := int64(0)
	for part, end := range ends {
		to := int64(end)
		if from == to {
			continue
		}
		of := all.NewSlice(from, to)
		page, err := s.pages.Page(of)
		of.Release()
		if err != nil {
			for _, p := range pages {
				p.Page.Release()
			}
			return err
		}
		size := &s.to.size[s.side][part]
		size.rows.Add(to - from)
		size.bytes.Add(page.Bytes())
		pages = append(pages, scatter.PartitionPage{Partition: part, Page: page})
		from = to
	}
	return s.to.pass.Partitions.Put(s.side, pages)
}

// byPartition returns the rows that are held in the order of their partitions, and where each partition ends.
func (s *Scatterer) byPartition() (rows []gather.Row, ends []int) {
	radix := s.to.pass.Radix
	ends = make([]int, radix.FanOut())
	for _, h := range s.hashes {
		ends[radix.Of(h)]++
	}
	next := 0
	for part, n := range ends {
		ends[part] = next
		next += n
	}
	rows = make([]gather.Row, len(s.hashes))
	at := 0
	for i, b := range s.batches {
		for row := range uint32(b.NumRows()) {
			part := radix.Of(s.hashes[at])
			rows[ends[part]] = gather.Row{Batch: uint32(i), Row: row}
			ends[part]++
			at++
		}
	}
	return rows, ends
}

// gather makes a batch of rows that are held.
func (s *Scatterer) gather(rows []gather.Row) (arrow.RecordBatch, error) {
	schema := s.batches[0].Schema()
	columns := make([]arrow.Array, 0, schema.NumFields())
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	from := make([]arrow.Array, len(s.batches))
	for i := range schema.NumFields() {
		for j, b := range s.batches {
			from[j] = b.Column(i)
		}
		c, err := gather.Column(s.mem, from, rows)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return array.NewRecordBatch(schema, columns, int64(len(rows))), nil
}

// Release drops the rows that are held.
func (s *Scatterer) Release() {
	for _, b := range s.batches {
		b.Release()
	}
	clear(s.batches)
	s.batches, s.hashes, s.bytes = s.batches[:0], s.hashes[:0], 0
}

// Task is partitions that are joined at once.
type Task struct {
	of         *Parts
	partitions []int
	Rows       int64 // of the build side
	Bytes      int64 // that they take in memory, with their tables
	largest    bool  // it has nearly all rows of the task that was split
}

// Tasks merges partitions greedily to tasks whose build sides take up to most bytes. A larger partition is a task
// of its own. rowBytes is what a row takes beside its columns.
func (p *Parts) Tasks(most, rowBytes int64) []*Task {
	sizes := make([]int64, p.pass.Radix.FanOut())
	all := int64(0)
	for i := range sizes {
		b := &p.size[BuildSide][i]
		sizes[i] = b.bytes.Load() + rowBytes*b.rows.Load()
		if p.size[ProbeSide][i].rows.Load() > 0 {
			sizes[i]++
		}
		all += b.rows.Load()
	}
	var tasks []*Task
	for _, list := range partition.Merge(sizes, most) {
		t := &Task{of: p, partitions: list}
		for _, i := range list {
			t.Bytes += sizes[i]
			t.Rows += p.size[BuildSide][i].rows.Load()
		}
		t.largest = p.pass.Depth > 0 && t.Rows > all-all/shrinkLeast
		tasks = append(tasks, t)
	}
	return tasks
}

// shrinkLeast is the part of the rows of a task that a split must take away from its largest partition, to be worth
// another.
const shrinkLeast = 20

// CanSplit says whether another pass may make smaller tasks of this one.
func (t *Task) CanSplit() bool {
	return !t.largest && t.of.pass.Depth < scatter.SplitsMax && t.Rows > 1
}

// Split begins the pass that scatters the task again. The build side must have up to most bytes.
func (t *Task) Split(most int64) *Parts {
	of := &scatter.Task{Pass: t.of.pass, Partitions: t.partitions, Rows: t.Rows}
	return PartsOf(of.Split(max(int64(float64(t.Rows)*float64(most)/float64(max(t.Bytes, 1))), 1)))
}

// Take hands over the pages of a side.
func (t *Task) Take(side scatter.Content) scatter.Pages { return &taskPages{of: t, side: side} }

// taskPages is the pages of all partitions of a task.
type taskPages struct {
	of   *Task
	side scatter.Content
	next int           // of the partitions
	in   scatter.Pages // nil before the first
}

// Next implements scatter.Pages.
func (p *taskPages) Next() (*rowdata.Page, error) {
	for {
		if p.in != nil {
			page, err := p.in.Next()
			if page != nil || !errors.Is(err, io.EOF) || p.next == len(p.of.partitions) {
				return page, err
			}
			p.in.Close()
		}
		p.in = p.of.of.pass.Partitions.Take(p.of.partitions[p.next], p.side)
		p.next++
	}
}

// Close implements scatter.Pages.
func (p *taskPages) Close() {
	if p.in != nil {
		p.in.Close()
	}
}
