//go:build cgo && linux

package kernels

func (s *cudaStream) Sample(shape *Shape, rows *Rows, registers Span) error {
	return sample(s, shape, rows, registers)
}

func (s *cudaStream) Aggregate(shape *Shape, plan Plan, rows *Rows, into *Groups, scratch Span) error {
	return aggregate(s, shape, plan, rows, into, scratch)
}

func (s *cudaStream) Merge(shape *Shape, plan Plan, in *Groups, count int64, into *Groups, scratch Span) error {
	return merge(s, shape, plan, in, count, into, scratch)
}

func (s *cudaStream) Scatter(shape *Shape, rows *Rows, seed uint64, radixBits int, into *Rows, offsets, scratch Span) error {
	return scatter(s, shape, rows, seed, radixBits, into, offsets, scratch)
}

func (s *cudaStream) ResetTable(shape *Shape, table Table) error { return resetTable(s, shape, table) }

func (s *cudaStream) Insert(shape *Shape, rows *Rows, table Table, overflow *Rows, status Span) error {
	return insert(s, shape, rows, table, overflow, status)
}

func (s *cudaStream) Compact(shape *Shape, table Table, into *Groups) error {
	return compact(s, shape, table, into)
}
