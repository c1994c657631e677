// Package bench measures the group-by kernels of a device, with data that is there already, and
// checks each answer: how many groups, and what their states add up to.
package bench

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// Case is rows to be grouped.
type Case struct {
	Rows   int64
	Groups int64
	// Skew is the exponent of a Zipf distribution of the keys, 0 for a uniform distribution, or
	// SelfSimilar: four fifths of the rows have one fifth of the keys, and so on within that fifth.
	Skew  float64
	Every bool // each key has a row at least: as many keys as Groups, where these are no more than the rows
	Shape Shape
}

// SelfSimilar is a Skew.
const SelfSimilar = -1

// Shape is one of the shapes that are measured.
type Shape struct {
	Name string
	kernels.Shape
}

func sum(column int, op kernels.FoldOp) kernels.Fold {
	return kernels.Fold{Op: op, Column: column, Other: -1}
}

// twoMaxima has the maxima of two columns of 4 bytes, as Wu et al. (SIGMOD 2025, section 5.2.1) measure.
func twoMaxima(keyBytes int) kernels.Shape {
	return kernels.Shape{
		KeyBytes: keyBytes,
		Columns:  []kernels.ColumnType{kernels.Uint32, kernels.Uint32},
		Folds:    []kernels.Fold{sum(0, kernels.Max), sum(1, kernels.Max)},
	}
}

// ShapeOf returns the shape of a name.
func ShapeOf(name string) (Shape, error) {
	if i := slices.IndexFunc(Shapes, func(s Shape) bool { return s.Name == name }); i >= 0 {
		return Shapes[i], nil
	}
	var names []string
	for _, s := range Shapes {
		names = append(names, s.Name)
	}
	return Shape{}, fmt.Errorf("%q: want one of %s", name, strings.Join(names, ", "))
}

// Shapes are the shapes that are measured, by name.
var Shapes = []Shape{
	{"u32", kernels.Shape{KeyBytes: 4, Columns: []kernels.ColumnType{kernels.Uint32}, Folds: []kernels.Fold{sum(0, kernels.Sum64)}}},
	{"i64", kernels.Shape{KeyBytes: 8, Columns: []kernels.ColumnType{kernels.Int64}, Folds: []kernels.Fold{sum(0, kernels.Sum128)}}},
	{"f64", kernels.Shape{KeyBytes: 8, Columns: []kernels.ColumnType{kernels.Float64}, Folds: []kernels.Fold{sum(0, kernels.SumFloat)}}},
	{"3sums", kernels.Shape{
		KeyBytes: 8,
		Columns:  []kernels.ColumnType{kernels.Int64, kernels.Int64, kernels.Int64},
		Folds:    []kernels.Fold{sum(0, kernels.Sum128), sum(1, kernels.Sum128), sum(2, kernels.Sum128), {Op: kernels.Count, Column: -1, Other: -1}},
	}},
	{"2max32", twoMaxima(4)},
	{"2max64", twoMaxima(8)},
}

// Result is what one plan took for one case.
type Result struct {
	Plan    kernels.Plan
	Nanos   int64 // median
	Groups  int64
	Lost    int64   // rows that no slot took, of RunLossy: the times are of the others
	Probes  float64 // a row, in tables in device memory
	Scratch int64   // bytes
}

// ErrWrong is a wrong answer.
var ErrWrong = errors.New("the answer is wrong")

// bytesRead are the bytes of the keys and columns, which every plan reads at least once.
func (c *Case) bytesRead() int64 {
	width := c.Shape.KeyBytes
	for _, t := range c.Shape.Columns {
		width += t.Bytes()
	}
	return c.Rows * int64(width)
}

// Runner runs cases on a device.
type Runner struct {
	device  kernels.Device
	stream  kernels.Stream
	buffers []kernels.Buffer
	repeats int
}

// NewRunner returns a runner that times each plan so many times.
func NewRunner(device kernels.Device, repeats int) (*Runner, error) {
	stream, err := device.NewStream()
	return &Runner{device: device, stream: stream, repeats: repeats}, err
}

// Close frees the runner's stream.
func (r *Runner) Close() error { return r.stream.Close() }

func (r *Runner) alloc(n int64) (kernels.Span, error) {
	b, err := r.device.Alloc(max(n, 1))
	if err != nil {
		return kernels.Span{}, err
	}
	r.buffers = append(r.buffers, b)
	return kernels.Span{Buffer: b}, nil
}

// Data is a case's rows on a device.
type Data struct {
	Case     Case
	rows     kernels.Rows
	distinct int64
	sum      uint64 // of each column, modulo 2^64
	maxima   uint64 // what the maxima of the groups add up to
}

// Put draws the rows of a case and copies them to the device.
func (r *Runner) Put(c Case) (*Data, error) {
	keys, values := make([]uint64, c.Rows), make([]uint64, c.Rows)
	d := &Data{Case: c}
	var err error
	if d.sum, err = draw(&c, keys, values); err != nil {
		return nil, err
	}
	d.distinct, d.maxima = tally(keys, values, &c)
	err = parallel(c.Rows, func(begin, end int64) {
		for i := begin; i < end; i++ {
			keys[i] = scramble(keys[i], c.Shape.KeyBytes)
		}
	})
	if err != nil {
		return nil, err
	}
	d.rows.Count = c.Rows
	if d.rows.Keys, err = r.put(narrow(keys, c.Shape.KeyBytes)); err != nil {
		return nil, err
	}
	err = r.putColumns(d, values)
	return d, err
}

// putColumns copies the values to the device, once for each column of the shape.
func (r *Runner) putColumns(d *Data, values []uint64) error {
	var host []byte // of the column before
	for i, t := range d.Case.Shape.Columns {
		if i == 0 || t != d.Case.Shape.Columns[i-1] {
			host = narrow(valuesOf(t, values), t.Bytes())
		}
		at, err := r.put(host)
		if err != nil {
			return err
		}
		d.rows.Columns = append(d.rows.Columns, at)
	}
	return nil
}

// valuesOf returns the words of a column that has values.
func valuesOf(t kernels.ColumnType, values []uint64) []uint64 {
	if t != kernels.Float64 {
		return values
	}
	column := make([]uint64, len(values))
	for i, v := range values {
		column[i] = math.Float64bits(float64(v))
	}
	return column
}

func (r *Runner) put(host []byte) (kernels.Span, error) {
	at, err := r.alloc(int64(len(host)))
	if err != nil {
		return at, err
	}
	return at, r.stream.Copy(kernels.Copy{Device: at, Host: host})
}

// Drop frees the memory of all cases.
func (r *Runner) Drop() error { return r.freeFrom(0) }

// Run times a plan, after a run whose answer it checks. A wrong answer is ErrWrong.
func (r *Runner) Run(d *Data, plan kernels.Plan) (Result, error) { return r.run(d, plan, false) }

// RunLossy times a plan whose table may take fewer rows than there are. The answer is checked if it took all.
func (r *Runner) RunLossy(d *Data, plan kernels.Plan) (Result, error) { return r.run(d, plan, true) }

func (r *Runner) run(d *Data, plan kernels.Plan, lossy bool) (res Result, err error) {
	before := len(r.buffers)
	defer func() { err = errors.Join(err, r.freeFrom(before)) }()
	res = Result{Plan: plan, Scratch: r.scratchBytes(d, plan)}
	into, aggregate, err := r.prepare(d, plan)
	if err != nil {
		return res, err
	}
	if _, err := kernels.Time(r.stream, aggregate); err != nil {
		return res, err
	}
	if err := r.check(d, into, &res); err != nil && (res.Lost == 0 || !lossy) {
		return res, err
	}
	res.Nanos, err = r.median(aggregate)
	return res, err
}

func (r *Runner) scratchBytes(d *Data, plan kernels.Plan) int64 {
	return plan.AggregateScratch(&d.Case.Shape.Shape, d.rows.Count, r.device.Properties())
}

// prepare takes the memory of a plan. It returns where the groups will be, and what enqueues the
// aggregation.
func (r *Runner) prepare(d *Data, plan kernels.Plan) (into *kernels.Groups, aggregate func() error, err error) {
	shape := &d.Case.Shape.Shape
	scratch, err := r.alloc(r.scratchBytes(d, plan))
	if err != nil {
		return nil, nil, err
	}
	into, err = r.allocGroups(shape, d.distinct)
	return into, func() error { return r.stream.Aggregate(shape, plan, &d.rows, into, scratch) }, err
}

// Probes returns the average number of slots that a plan looks at for a row, and how many rows
// found none, in one run.
func (r *Runner) Probes(d *Data, plan kernels.Plan) (probes float64, lost int64, err error) {
	before := len(r.buffers)
	defer func() { err = errors.Join(err, r.freeFrom(before)) }()
	into, aggregate, err := r.prepare(d, plan)
	if err != nil {
		return 0, 0, err
	}
	status := make([]uint64, 8)
	if err := errors.Join(aggregate(), r.get(into.Status, status)); err != nil {
		return 0, 0, err
	}
	return float64(status[3]) / float64(d.rows.Count), int64(status[2]), nil
}

// median times work, after one run to warm up.
func (r *Runner) median(work func() error) (int64, error) {
	var nanos []int64
	for i := 0; i <= r.repeats; i++ {
		took, err := kernels.Time(r.stream, work)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			nanos = append(nanos, took)
		}
	}
	slices.Sort(nanos)
	return nanos[len(nanos)/2], nil
}

// freeFrom frees the buffers beyond the first n.
func (r *Runner) freeFrom(n int) error {
	_, err := kernels.Time(r.stream, func() error { return nil }) // copies to them may be under way
	errs := []error{err}
	buffers := r.buffers[n:]
	r.buffers = r.buffers[:n:n]
	for _, b := range buffers {
		errs = append(errs, b.Free())
	}
	return errors.Join(errs...)
}

func (r *Runner) allocGroups(shape *kernels.Shape, capacity int64) (*kernels.Groups, error) {
	g := &kernels.Groups{Capacity: capacity}
	var err error
	if g.Status, err = r.alloc(64); err != nil {
		return nil, err
	}
	filled := func(bytes int64) (kernels.Span, error) {
		at, err := r.alloc(bytes)
		if err != nil {
			return at, err
		}
		return at, r.stream.Fill(at, bytes, 0xDB)
	}
	if g.Keys, err = filled(capacity * int64(shape.KeyBytes)); err != nil {
		return nil, err
	}
	for _, f := range shape.Folds {
		at, err := filled(capacity * int64(f.Words()) * 8)
		if err != nil {
			return nil, err
		}
		g.States = append(g.States, at)
	}
	return g, nil
}

// check compares the number of groups, and what the states of each fold add up to, with the rows'.
func (r *Runner) check(d *Data, g *kernels.Groups, res *Result) error {
	status := make([]uint64, 8)
	if err := r.get(g.Status, status); err != nil {
		return err
	}
	res.Groups, res.Lost, res.Probes = int64(status[0]), int64(status[2]), float64(status[3])/float64(d.Case.Rows)
	if status[0] != uint64(d.distinct) || status[1] != uint64(d.Case.Rows) || status[2] != 0 {
		return fmt.Errorf("%d groups of %d rows, %d overflow, want %d of %d: %w",
			status[0], status[1], status[2], d.distinct, d.Case.Rows, ErrWrong)
	}
	for i := range d.Case.Shape.Folds {
		if err := r.checkFold(d, g, i); err != nil {
			return err
		}
	}
	return nil
}

// checkFold compares what the states of a fold add up to with the rows'.
func (r *Runner) checkFold(d *Data, g *kernels.Groups, fold int) error {
	f := &d.Case.Shape.Folds[fold]
	words := f.Words()
	states := make([]uint64, d.distinct*int64(words))
	if err := r.get(g.States[fold], states); err != nil {
		return err
	}
	total := uint64(0)
	for i := 0; i < len(states); i += words {
		if f.Op == kernels.SumFloat {
			states[i] = uint64(math.Float64frombits(states[i]))
		}
		total += states[i]
	}
	want := d.sum
	switch f.Op {
	case kernels.Count:
		want = uint64(d.Case.Rows)
	case kernels.Max:
		want = d.maxima
	}
	if total != want {
		return fmt.Errorf("the groups' states of fold %d add up to %d, want %d: %w", fold, total, want, ErrWrong)
	}
	return nil
}

func (r *Runner) get(from kernels.Span, words []uint64) error {
	return r.getBytes(from, narrow(words, 8))
}

func (r *Runner) getBytes(from kernels.Span, host []byte) error {
	if err := r.stream.Copy(kernels.Copy{Device: from, Host: host, Out: true}); err != nil {
		return err
	}
	_, err := kernels.Time(r.stream, func() error { return nil })
	return err
}

// Floor returns the nanoseconds in which the device reads the rows once, as fast as it fills
// memory: the least that any plan takes.
func (r *Runner) Floor(c *Case) (nanos int64, err error) {
	least, err := r.fill()
	return least * c.bytesRead() / fillBytes, err
}

// Bandwidth returns the bytes a second with which the device fills its memory.
func (r *Runner) Bandwidth() (float64, error) {
	least, err := r.fill()
	return fillBytes / (float64(least) / 1e9), err
}

const fillBytes = 1 << 30

// fill returns the least nanoseconds in which the device fills fillBytes.
func (r *Runner) fill() (least int64, err error) {
	before := len(r.buffers)
	at, err := r.alloc(fillBytes)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.freeFrom(before)) }()
	least = math.MaxInt64
	for range r.repeats {
		nanos, err := kernels.Time(r.stream, func() error { return r.stream.Fill(at, fillBytes, 1) })
		if err != nil {
			return 0, err
		}
		least = min(least, nanos)
	}
	return least, nil
}

// scramble spreads ranks over all keys, one to one.
func scramble(rank uint64, keyBytes int) uint64 {
	if keyBytes == 4 {
		return uint64(partition.Mix32(uint32(rank)))
	}
	return partition.Mix64(rank)
}

// narrow returns the low bytes of each word.
func narrow(words []uint64, width int) []byte {
	if width == 8 {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
	}
	low := make([]uint32, len(words))
	for i, w := range words {
		low[i] = uint32(w)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(low))), len(low)*4)
}

// valuesEnd is above all values.
const valuesEnd = 1000

// draw fills keys with ranks below c.Groups and values with numbers below valuesEnd, and returns the
// sum of the values.
func draw(c *Case, keys, values []uint64) (uint64, error) {
	rank := ranks(c)
	var mu sync.Mutex
	total := uint64(0)
	err := parallel(c.Rows, func(begin, end int64) {
		sum := uint64(0)
		for i := begin; i < end; i++ {
			h := partition.Mix64(uint64(i) + 1)
			values[i] = h % valuesEnd
			sum += values[i]
			if keys[i] = uint64(i); !c.Every || i >= c.Groups {
				keys[i] = rank(i, partition.Mix64(h+0x9e3779b97f4a7c15))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		total += sum
	})
	return total, err
}

// ranks returns how a row's rank is made of 64 random bits.
func ranks(c *Case) func(row int64, random uint64) uint64 {
	n := float64(c.Groups)
	unit := func(random uint64) float64 { return (float64(random>>11) + 0.5) / (1 << 53) }
	switch {
	case c.Skew == 0 && c.Groups >= c.Rows:
		return func(row int64, _ uint64) uint64 { return uint64(row) }
	case c.Skew == 0:
		return func(_ int64, random uint64) uint64 { return random % uint64(c.Groups) }
	case c.Skew == SelfSimilar: // Gray et al., SIGMOD 1994
		power := math.Log(0.2) / math.Log(0.8)
		return func(_ int64, random uint64) uint64 {
			return min(uint64(n*math.Pow(unit(random), power)), uint64(c.Groups-1))
		}
	case c.Skew == 1:
		return func(_ int64, random uint64) uint64 {
			return min(uint64(math.Pow(n+1, unit(random)))-1, uint64(c.Groups-1))
		}
	}
	// The inverse of the distribution function of the density x^-s from 1 to n+1.
	s := 1 - c.Skew
	high := math.Pow(n+1, s) - 1
	return func(_ int64, random uint64) uint64 {
		return min(uint64(math.Pow(1+unit(random)*high, 1/s))-1, uint64(c.Groups-1))
	}
}

// tally returns how many ranks there are, and, where a fold is a maximum, what the maxima of the
// ranks' values add up to.
func tally(ranks, values []uint64, c *Case) (distinct int64, maxima uint64) {
	hasMax := slices.ContainsFunc(c.Shape.Folds, func(f kernels.Fold) bool { return f.Op == kernels.Max })
	most := make([]uint16, max(c.Groups, c.Rows)) // value + 1; 0 of a rank that has not come
	done := int64(0)                              // ranks whose maximum is known
	for i, rank := range ranks {
		value := uint16(values[i] + 1)
		if most[rank] == 0 {
			distinct++
		}
		if most[rank] >= value {
			continue
		}
		if most[rank] = value; value == valuesEnd {
			done++
		}
		if distinct == c.Groups && (!hasMax || done == c.Groups) {
			break
		}
	}
	for _, value := range most {
		maxima += uint64(max(value, 1) - 1)
	}
	return distinct, maxima
}

// parallel splits [0, n) over all processors.
func parallel(n int64, work func(begin, end int64)) error {
	workers := int64(runtime.GOMAXPROCS(0))
	var group spawn.Group
	for w := range workers {
		group.Go(func() error {
			work(n*w/workers, n*(w+1)/workers)
			return nil
		})
	}
	return group.Wait()
}
