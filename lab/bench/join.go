package bench

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/joins"
	"github.com/mpga/mpga/partition"
)

// JoinCase is two sides to be joined.
type JoinCase struct {
	BuildRows, ProbeRows int64
	KeyBytes             int
	// Keys that both sides draw from, so that many rows of both may have a key; 0: build rows have unique keys, and
	// probe rows draw from these.
	Keys int64
	// MatchRatio is the share of the build rows whose keys probe rows draw; the others have keys that no probe row has,
	// as Wu et al. have it (SIGMOD 2025, section 5.1.6).
	MatchRatio float64
	Skew       float64 // of the probe rows' keys, as Case.Skew
	// BuildColumns and ProbeColumns are the bytes of the values of each payload column.
	BuildColumns, ProbeColumns []int
}

// JoinData is a case's sides on a device.
type JoinData struct {
	Case  JoinCase
	query joins.Query
	pairs int64  // that an inner join gives
	sum   uint64 // of their keys, modulo 2^64
}

// JoinResult is what a join took.
type JoinResult struct {
	Nanos   int64 // median
	Pairs   int64
	Scratch int64            // bytes
	Stages  [numStages]int64 // nanoseconds of one run, in which each stage ends before the next begins
}

// strayRank is added to the ranks of build rows that no probe row matches.
const strayRank = 1 << 31

// payload returns the value of a column in a row that has a key. Columns of the probe side are numbered on.
func payload(key uint64, column int) uint64 { return partition.Mix64(key + uint64(column)*0x9e3779b9) }

// PutJoin draws the sides of a case and copies them to the device.
func (r *Runner) PutJoin(c JoinCase) (*JoinData, error) {
	d := &JoinData{Case: c, query: joins.Query{KeyBytes: c.KeyBytes, Unique: c.Keys == 0}}
	matching := int64(c.MatchRatio * float64(c.BuildRows))
	build, probe := make([]uint64, c.BuildRows), make([]uint64, c.ProbeRows)
	ranksEnd := c.BuildRows
	if c.Keys > 0 {
		ranksEnd = c.Keys
	}
	counts := make([]uint32, ranksEnd) // build rows of a rank that matches
	err := parallel(c.BuildRows, func(begin, end int64) {
		for i := begin; i < end; i++ {
			rank := uint64(i)
			if c.Keys > 0 {
				rank = partition.Mix64(rank+77) % uint64(c.Keys)
			}
			if isStray := partition.Mix64(uint64(i)+5)%uint64(max(c.BuildRows, 1)) >= uint64(matching); isStray {
				build[i] = scramble(rank+strayRank, c.KeyBytes)
				continue
			}
			atomic.AddUint32(&counts[rank], 1)
			build[i] = scramble(rank, c.KeyBytes)
		}
	})
	if err != nil {
		return nil, err
	}
	draw := func(_ int64, random uint64) uint64 { return random % uint64(ranksEnd) }
	if c.Skew != 0 {
		draw = ranks(&Case{Rows: c.ProbeRows, Groups: ranksEnd, Skew: c.Skew})
	}
	var pairs, sum atomic.Uint64
	err = parallel(c.ProbeRows, func(begin, end int64) {
		n, s := uint64(0), uint64(0)
		for i := begin; i < end; i++ {
			rank := draw(i, partition.Mix64(uint64(i)+991))
			probe[i] = scramble(rank, c.KeyBytes)
			n, s = n+uint64(counts[rank]), s+uint64(counts[rank])*probe[i]
		}
		pairs.Add(n)
		sum.Add(s)
	})
	if err != nil {
		return nil, err
	}
	d.pairs, d.sum = int64(pairs.Load()), sum.Load()
	if d.query.Build, err = r.putSide(build, c.KeyBytes, c.BuildColumns, 0); err != nil {
		return nil, err
	}
	d.query.Probe, err = r.putSide(probe, c.KeyBytes, c.ProbeColumns, len(c.BuildColumns))
	return d, err
}

// putSide copies a side to the device. Its columns are numbered from first on.
func (r *Runner) putSide(keys []uint64, keyBytes int, columns []int, first int) (joins.Side, error) {
	s := joins.Side{Count: int64(len(keys))}
	var err error
	if s.Keys, err = r.put(narrow(keys, keyBytes)); err != nil {
		return s, err
	}
	for i, bytes := range columns {
		values := make([]uint64, len(keys))
		err := parallel(s.Count, func(begin, end int64) {
			for row := begin; row < end; row++ {
				values[row] = payload(keys[row], first+i)
			}
		})
		if err != nil {
			return s, err
		}
		at, err := r.put(narrow(values, bytes))
		if err != nil {
			return s, err
		}
		s.Columns = append(s.Columns, joins.Column{Bytes: bytes, Values: at})
	}
	return s, nil
}

// RunJoin times an inner join with all columns and the keys, after a run whose answer it checks: how many pairs there
// are, that each row has the values of its key, and what the keys add up to. A wrong answer is ErrWrong.
func (r *Runner) RunJoin(
	d *JoinData, algorithm joins.Algorithm, parts kernels.JoinPartitions,
) (res JoinResult, err error) {
	before := len(r.buffers)
	defer func() { err = errors.Join(err, r.freeFrom(before)) }()
	q, device := d.query, r.device.Properties()
	q.Algorithm, q.Partitions = algorithm, parts
	out, err := r.joinOutput(d)
	if err != nil {
		return res, err
	}
	res.Scratch = q.Scratch(device, out.Capacity)
	scratch, err := r.alloc(res.Scratch)
	if err != nil {
		return res, err
	}
	join := func() error { return q.Enqueue(r.stream, device, out, scratch) }
	if _, err := kernels.Time(r.stream, join); err != nil {
		return res, err
	}
	if err := r.checkJoin(d, out); err != nil {
		return res, err
	}
	timed := &stages{Stream: r.stream}
	if err := q.Enqueue(timed, device, out, scratch); err != nil {
		return res, err
	}
	res.Pairs, res.Stages = d.pairs, timed.nanos
	res.Nanos, err = r.median(join)
	return res, err
}

// joinOutput returns room for the pairs of an inner join.
func (r *Runner) joinOutput(d *JoinData) (*joins.Output, error) {
	out := &joins.Output{Capacity: d.pairs}
	var err error
	if out.Status, err = r.alloc(kernels.JoinStatusBytes); err != nil {
		return nil, err
	}
	if out.ProbeKeys, err = r.alloc(d.pairs * int64(d.Case.KeyBytes)); err != nil {
		return nil, err
	}
	if out.Build, err = r.columnRoom(d.query.Build.Columns, d.pairs); err != nil {
		return nil, err
	}
	out.Probe, err = r.columnRoom(d.query.Probe.Columns, d.pairs)
	return out, err
}

func (r *Runner) columnRoom(like []joins.Column, rows int64) (room []joins.Column, err error) {
	for _, c := range like {
		at, err := r.alloc(rows * int64(c.Bytes))
		if err != nil {
			return nil, err
		}
		room = append(room, joins.Column{Bytes: c.Bytes, Values: at})
	}
	return room, nil
}

func (r *Runner) checkJoin(d *JoinData, out *joins.Output) error {
	status := make([]uint64, kernels.JoinStatusBytes/8)
	if err := r.get(out.Status, status); err != nil {
		return err
	}
	if status[0] != uint64(d.pairs) {
		return fmt.Errorf("%d pairs, want %d: %w", status[0], d.pairs, ErrWrong)
	}
	keys, err := r.getColumn(out.ProbeKeys, d.pairs, d.Case.KeyBytes)
	if err != nil {
		return err
	}
	sum := uint64(0)
	for row := range d.pairs {
		sum += keys(row)
	}
	if sum != d.sum {
		return fmt.Errorf("keys add up to %d, want %d: %w", sum, d.sum, ErrWrong)
	}
	for i, c := range append(append([]joins.Column{}, out.Build...), out.Probe...) {
		if err := r.checkColumn(keys, c, i, d.pairs); err != nil {
			return err
		}
	}
	return nil
}

// checkColumn holds the values of a column to the keys of their rows.
func (r *Runner) checkColumn(keys func(int64) uint64, c joins.Column, number int, rows int64) error {
	values, err := r.getColumn(c.Values, rows, c.Bytes)
	if err != nil {
		return err
	}
	var wrong atomic.Int64
	err = parallel(rows, func(begin, end int64) {
		for row := begin; row < end; row++ {
			want := payload(keys(row), number)
			if c.Bytes == 4 {
				want = uint64(uint32(want))
			}
			if values(row) != want {
				wrong.Add(1)
			}
		}
	})
	if err == nil && wrong.Load() > 0 {
		err = fmt.Errorf("column %d has %d wrong values of %d: %w", number, wrong.Load(), rows, ErrWrong)
	}
	return err
}

// getColumn returns the values of a column that was copied to the host.
func (r *Runner) getColumn(at kernels.Span, rows int64, bytes int) (func(row int64) uint64, error) {
	words := make([]uint64, (rows*int64(bytes)+7)/8)
	if bytes == 8 {
		return func(row int64) uint64 { return words[row] }, r.get(at, words)
	}
	if err := r.getBytes(at, narrow(words, 8)[:4*rows]); err != nil {
		return nil, err
	}
	return func(row int64) uint64 { return uint64(uint32(words[row/2] >> (32 * (row % 2)))) }, nil
}
