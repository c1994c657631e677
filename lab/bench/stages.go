package bench

import (
	"github.com/mpga/mpga/kernels"
)

// Stage is a part of a join, as Wu et al. break times down (SIGMOD 2025, section 5.1.2). The columns that GFTR moves
// count as the transformation here, since they move with the keys.
type Stage int

// The stages.
const (
	Transform Stage = iota
	Match
	Materialise
	numStages
)

// stages is a stream that times the operators of joins. It waits for each.
type stages struct {
	kernels.Stream
	nanos [numStages]int64
}

func (s *stages) time(stage Stage, work func() error) error {
	nanos, err := kernels.Time(s.Stream, work)
	s.nanos[stage] += nanos
	return err
}

func (s *stages) Partition(shape *kernels.Shape, rows *kernels.Rows, radixBits int, into *kernels.Rows,
	offsets, scratch kernels.Span) error {
	return s.time(Transform, func() error { return s.Stream.Partition(shape, rows, radixBits, into, offsets, scratch) })
}

func (s *stages) NumberRows(into kernels.Span, count int64) error {
	return s.time(Transform, func() error { return s.Stream.NumberRows(into, count) })
}

func (s *stages) Sort(sorting *kernels.Sorting, scratch kernels.Span) error {
	return s.time(Transform, func() error { return s.Stream.Sort(sorting, scratch) })
}

func (s *stages) BuildTable(j *kernels.Join, t kernels.JoinTable) error {
	return s.time(Match, func() error { return s.Stream.BuildTable(j, t) })
}

func (s *stages) ProbeTable(j *kernels.Join, t kernels.JoinTable) error {
	return s.time(Match, func() error { return s.Stream.ProbeTable(j, t) })
}

func (s *stages) JoinPartitions(j *kernels.Join, p kernels.JoinPartitions, scratch kernels.Span) error {
	return s.time(Match, func() error { return s.Stream.JoinPartitions(j, p, scratch) })
}

func (s *stages) JoinSorted(j *kernels.Join, scratch kernels.Span) error {
	return s.time(Match, func() error { return s.Stream.JoinSorted(j, scratch) })
}

func (s *stages) Gather(g *kernels.Gathering) error {
	return s.time(Materialise, func() error { return s.Stream.Gather(g) })
}
