//go:build cgo && linux

package kernels

func (s *cudaStream) Sample(*Shape, *Rows, Span) error { return errNoKernels }

func (s *cudaStream) Aggregate(*Shape, Plan, *Rows, *Groups, Span) error { return errNoKernels }

func (s *cudaStream) Merge(*Shape, Plan, *Groups, int64, *Groups, Span) error { return errNoKernels }

func (s *cudaStream) Scatter(*Shape, *Rows, uint64, int, *Rows, Span, Span) error {
	return errNoKernels
}

func (s *cudaStream) ResetTable(*Shape, Table) error { return errNoKernels }

func (s *cudaStream) Insert(*Shape, *Rows, Table, *Rows, Span) error { return errNoKernels }

func (s *cudaStream) Compact(*Shape, Table, *Groups) error { return errNoKernels }
