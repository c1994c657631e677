package order

import (
	"bytes"
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
)

// Span is rows of a Reader, one behind the other. Their batches may be made later, by any goroutine, before the
// reader is released. A span must be released.
type Span struct {
	// Marks tell, by row, whether it differs from the row before it: a set of NewPrefix and NewKey. The first row of a
	// reader differs from none, and has both.
	Marks []uint8

	sort     *sorter
	from, to int               // of the entries of the sorter
	batch    arrow.RecordBatch // owned; nil of entries
}

// Marks of a row.
const (
	NewPrefix uint8 = 1 << iota // it differs in the first keys, of MarkPrefix
	NewKey                      // it differs in some key
)

// MarkPrefix makes the reader return spans, by NextSpan, whose marks compare the first prefix keys. It is called
// before any row is read; the order has no limit.
func (r *Reader) MarkPrefix(prefix int) { r.spans, r.sort.encoder.prefix = true, prefix }

// NextSpan returns the next rows, or nil at the end.
func (r *Reader) NextSpan() (span *Span, err error) {
	err = spawn.Call(func() (err error) {
		span, err = r.nextSpan()
		return err
	})
	return span, err
}

func (r *Reader) nextSpan() (*Span, error) {
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	spawn.Step()
	if r.more == nil {
		if err := r.start(); err != nil {
			return nil, err
		}
	}
	if r.marks != nil {
		from, to := r.at, min(r.at+r.batchRows, len(r.marks))
		if r.at = to; from == to {
			return nil, nil
		}
		return &Span{Marks: r.marks[from:to], sort: r.sort, from: from, to: to}, nil
	}
	if len(r.pending) == 0 {
		var err error
		if r.pending, err = r.more(); len(r.pending) == 0 {
			return nil, err
		}
	}
	batch := r.pending[0]
	r.pending = r.pending[1:]
	if r.peers == nil {
		r.peers = &peers{encoder: &keyEncoder{keys: r.by.Keys, prefix: r.sort.encoder.prefix}}
	}
	return &Span{Marks: r.peers.mark(batch), batch: batch, to: int(batch.NumRows())}, nil
}

// Slice returns some of the rows.
func (s *Span) Slice(from, to int) *Span {
	of := &Span{Marks: s.Marks[from:to], sort: s.sort, from: s.from + from, to: s.from + to}
	if s.batch != nil {
		of.batch = recordreader.Slice(s.batch, int64(from), int64(to))
	}
	return of
}

// Bytes returns how many bytes the rows take, or about as many.
func (s *Span) Bytes() int64 {
	if s.batch != nil {
		return rowdata.BatchBytes(s.batch)
	}
	return int64(s.to-s.from) * s.sort.rowBytes()
}

// Release gives the rows back.
func (s *Span) Release() {
	if s.batch != nil {
		s.batch.Release()
	}
}

// Batches returns the rows of spans that follow each other, in batches that the caller owns. The threads of the sort
// make them.
func Batches(spans []*Span) (batches []arrow.RecordBatch, err error) {
	if len(spans) == 0 {
		return nil, nil
	}
	if s := spans[0]; s.batch == nil {
		return s.sort.gather(s.sort.batches, s.sort.entries[s.from:spans[len(spans)-1].to])
	}
	for _, s := range spans {
		s.batch.Retain()
		batches = append(batches, s.batch)
	}
	return batches, nil
}

// markRows is how many rows a worker marks at a time.
const markRows = 1 << 16

// mark returns the marks of all rows, which are sorted.
func (s *sorter) mark(ctx context.Context) ([]uint8, error) {
	marks := make([]uint8, len(s.entries))
	same := s.sameLong
	if s.isPacked {
		same = s.samePacked()
	}
	err := s.workers.each(ctx, (len(marks)+markRows-1)/markRows, func(i int) error {
		for row := max(i*markRows, 1); row < min((i+1)*markRows, len(marks)); row++ {
			prefix, key := same(&s.entries[row-1], &s.entries[row])
			if !prefix {
				marks[row] = NewPrefix | NewKey
			} else if !key {
				marks[row] = NewKey
			}
		}
		return nil
	})
	if len(marks) > 0 {
		marks[0] = NewPrefix | NewKey
	}
	return marks, err
}

// samePacked returns a function that says whether two rows have the same first keys, and the same keys.
func (s *sorter) samePacked() func(a, b *entry) (prefix, key bool) {
	behind := s.packing.bitsOf(len(s.packing.columns)) - s.packing.bitsOf(s.encoder.prefix)
	mask := [2]uint64{^uint64(0), ^uint64(0) << behind}
	if behind > 64 {
		mask[0] <<= behind - 64
	}
	return func(a, b *entry) (prefix, key bool) {
		differ := [2]uint64{a.head[0] ^ b.head[0], a.head[1] ^ b.head[1]}
		return differ[0]&mask[0]|differ[1]&mask[1] == 0, differ[0]|differ[1] == 0
	}
}

// sameLong says whether two rows have the same first keys, and the same keys.
func (s *sorter) sameLong(a, b *entry) (prefix, key bool) {
	ofA, ofB := &s.long[a.batch], &s.long[b.batch]
	if a.head == b.head && s.encoder.short {
		return true, true
	}
	n := ofA.prefixes[a.row]
	if prefix = n == ofB.prefixes[b.row]; !prefix {
		return false, false
	}
	if s.encoder.short {
		return sameBytes(a, b, int(n)), false
	}
	keyA, keyB := ofA.at(a.row), ofB.at(b.row)
	return bytes.Equal(keyA[:n], keyB[:n]), bytes.Equal(keyA, keyB)
}

// sameBytes says whether the first n bytes of two heads are equal.
func sameBytes(a, b *entry, n int) bool {
	differ := [2]uint64{a.head[0] ^ b.head[0], a.head[1] ^ b.head[1]}
	if n < 8 {
		return differ[0]>>(64-8*n) == 0
	}
	return differ[0] == 0 && differ[1]>>(64-8*(n-8)) == 0
}

// peers tells which rows, of rows in order, differ from the row before. It is not safe for concurrent use.
type peers struct {
	encoder *keyEncoder
	last    []byte // the key of the last row
	prefix  uint32 // of last: where its first keys end
	any     bool   // a row was seen
}

// mark returns the marks of the rows of a batch.
func (p *peers) mark(batch arrow.RecordBatch) []uint8 {
	marks := make([]uint8, batch.NumRows())
	_, long := p.encoder.encode(nil, batch, 0)
	for row := range marks {
		key, n := long.at(uint32(row)), long.prefixes[row]
		switch {
		case !p.any || !bytes.Equal(key[:n], p.last[:p.prefix]):
			marks[row] = NewPrefix | NewKey
		case !bytes.Equal(key, p.last):
			marks[row] = NewKey
		default:
			continue
		}
		p.last, p.prefix, p.any = append(p.last[:0], key...), n, true
	}
	return marks
}
