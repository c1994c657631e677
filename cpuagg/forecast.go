package cpuagg

import (
	"math"
	"math/bits"
	"slices"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/table"
	"github.com/mpga/mpga/partition"
)

// Route is what happens to the rows of a run.
type Route string

// The routes.
const (
	RouteSingle  Route = "single group"  // no keys
	RouteDense   Route = "dense"         // the key is the group's number
	RouteHash    Route = "hash"          // the workers' tables hold all groups
	RoutePreAgg  Route = "pre-aggregate" // full tables are scattered, as states
	RouteScatter Route = "scatter"       // rows are scattered as they are
)

// Sampler looks at some rows of a run, to forecast the run. It belongs to one goroutine.
type Sampler struct {
	run    *Run
	seen   map[uint64]sampled // groups, by hash of the key
	hashes []uint64           // scratch
	part   uint32             // number of the part of the input that rows come from
	near   table.Nearness

	rows       int64
	pairs      int64 // sum of the groups of each part
	fill       int64 // rows that filled a worker's first table; 0 while it is not full
	keyBytes   int64 // of long strings in keys
	valueBytes int64 // of long strings in arguments
}

// sampled is a group of a sample.
type sampled struct {
	part        uint32 // the last that had the group
	rows, parts uint8  // that had the group: 1, or 2 for more
}

// NewSampler returns a sampler that has seen no row.
func (r *Run) NewSampler() *Sampler {
	return &Sampler{run: r, seen: make(map[uint64]sampled), hashes: make([]uint64, rowdata.TileRows),
		near: table.NewNearness(&r.bound.Keys, r.windowMax)}
}

// NextPart says that the rows to come are not neighbours of those before.
func (s *Sampler) NextPart() { s.part++ }

// Rows returns how many rows have been added.
func (s *Sampler) Rows() int64 { return s.rows }

// Add looks at the rows of a tile, and keeps none of the tile's memory.
func (s *Sampler) Add(t *rowdata.Tile) {
	b := s.run.bound
	hashes := s.hashes[:t.Rows]
	table.Hash(&b.Keys, t.Keys, partition.Seed(0), hashes)
	for i, h := range hashes {
		g, ok := s.seen[h]
		if !ok || g.part != s.part {
			s.pairs++
			g.parts = min(g.parts+1, 2)
		}
		g.part, g.rows = s.part, min(g.rows+1, 2)
		s.seen[h] = g
		if s.fill == 0 && len(s.seen) >= s.run.opt.TableGroups {
			s.fill = s.rows + int64(i) + 1
		}
	}
	s.rows += int64(t.Rows)
	s.near.Add(t.Keys)
	for _, w := range b.Keys.Longs {
		s.keyBytes += longBytes(t.Keys, w, b.Keys.Words)
	}
	for a := range b.Args {
		if arg := &b.Args[a]; arg.Words == 2 && arg.Column >= 0 && b.Columns[arg.Column].Kind == rowdata.Bytes {
			s.valueBytes += longBytes(t.Args[a], 0, 2)
		}
	}
}

// longBytes adds up the bytes outside the words of the strings at every stride-th word.
func longBytes(words []uint64, from, stride int) (n int64) {
	for at := from; at < len(words); at += stride {
		n += int64(8 * longWords(words[at:]))
	}
	return n
}

// Forecast is what a run is likely to do. Least and Most are certain, all other fields are
// estimates.
type Forecast struct {
	Route  Route // empty when it is not known
	Groups int64 // -1 when nothing is known
	High   int64 // more groups are unlikely: Groups, or far more where groups differ in size; -1 when nothing is known
	Least  int64 // groups that were seen
	Most   int64 // groups that rows, key ranges and NULLs allow; -1 when not known

	Window          int64            // keys that tables find by distance, without a hash; 0 when they hash
	Sizing          partition.Sizing // partitions that keep every table in the cache; zero when nothing is scattered
	Radix           partition.Radix  // of the scatter
	Tasks           int64            // after the merge
	Splits          int64            // partitions that outgrow a worker's memory
	RowsScattered   int64
	StatesScattered int64
	TableBytes      int64 // of the workers' tables together
	PageBytes       int64 // of all pages and their heaps
	OpenBytes       int64 // of the pages that are being written at one time
}

// Forecast foretells what a run over total rows does with this many workers. A total of -1 is not
// known; fields that follow from the total are then not known either.
func (s *Sampler) Forecast(total int64, workers int) Forecast {
	r := s.run
	f := Forecast{Groups: -1, High: -1, Least: int64(len(s.seen)), Most: r.keysMost(total)}
	switch {
	case r.bound.Keys.Words == 0:
		f.Route, f.Groups, f.High, f.Least, f.Most = RouteSingle, 1, 1, 1, 1
	case s.rows > 0 && total >= 0:
		f.Groups, f.High = s.groups(total)
		if s.rows >= total {
			f.Most = f.Groups
		}
		if f.Most >= 0 {
			f.Groups, f.High = min(f.Groups, f.Most), min(f.High, f.Most)
		}
		f.Groups = max(f.Groups, f.Least)
		f.High = max(f.High, f.Groups)
	case total == 0:
		f.Groups, f.High = 0, 0
	}
	if r.Dense() {
		f.Route = RouteDense
		f.TableBytes = int64(workers) * r.stateBytes << r.bound.Keys.Bits
	}
	if f.Groups < 0 {
		return f
	}
	s.forecastTables(&f, total, workers)
	if f.Radix > 0 {
		f.OpenBytes = min(f.PageBytes, int64(workers*r.pages.PageBytes(f.Radix))<<f.Radix)
		s.forecastTasks(&f)
	}
	return f
}

// groups estimates the groups of total rows, and how many groups there are at most, as far as is likely.
// Neighbours in the input are no random sample, as sorted rows show: of a part it counts which groups it has,
// and not how many rows of each.
func (s *Sampler) groups(total int64) (estimate, high int64) {
	groups, once := int64(len(s.seen)), int64(0)
	if s.rows >= total {
		return groups, groups
	}
	for _, g := range s.seen {
		if s.part == 0 && g.rows == 1 || s.part > 0 && g.parts == 1 {
			once++
		}
	}
	drawn, all := s.rows, total
	if s.part > 0 {
		drawn, all = s.pairs, int64(float64(s.pairs)*float64(all)/float64(s.rows))
	}
	equal := groups
	if shown(float64(groups), float64(drawn)) < float64(groups)-0.5 {
		equal = partition.EqualGroups(drawn, groups, max(all, drawn))
	}
	careful, _, high := partition.EstimateGroups(drawn, groups, once, max(all, drawn))
	switch expected := float64(drawn) * math.Exp(-float64(drawn)/float64(max(equal, 1))); {
	case float64(once) > skewed*expected:
		return max(equal, careful), max(equal, high)
	case float64(once) > uneven*expected+deviations*math.Sqrt(float64(drawn-groups)):
		return equal, max(equal, high)
	}
	return equal, equal
}

// Where more groups are seen once than equal groups would be, they differ in size: by skewed, the estimate is another,
// and by less, by uneven and some standard deviations, there may be far more groups than a sample shows. Of equal
// groups, as many as are seen, how many are seen once hardly varies: by fewer than are seen twice.
const (
	skewed     = 1.5
	uneven     = 1.002
	deviations = 5
)

// keysMost returns how many keys there can be, -1 when nothing bounds them.
func (r *Run) keysMost(total int64) int64 {
	most := 1.0
	for i := range r.bound.Keys.Fields {
		f := &r.bound.Keys.Fields[i]
		if f.Interned || f.Kind.Words() == 2 {
			most = math.Inf(1)
			break
		}
		most *= float64(f.Span) + 1
		if f.Nullable {
			most += most / (float64(f.Span) + 1)
		}
	}
	switch {
	case total >= 0 && most >= float64(total):
		return total
	case most < math.MaxInt64:
		return int64(most)
	}
	return -1
}

// forecastTables foretells what the workers' tables do with the rows, which it takes to come in
// random order. It follows Worker.Add.
func (s *Sampler) forecastTables(f *Forecast, total int64, workers int) {
	r := s.run
	flushed, limit := int64(r.opt.TableGroups), int64(r.opt.TableGroups*tableGrowth)
	if f.Route == "" && !r.opt.NoPreAgg {
		f.Window = s.near.Window(f.Groups)
	}
	if f.Window > 0 {
		limit = int64(r.directLimit())
	}
	share := total / int64(workers)
	groups := min(f.Groups, int64(shown(float64(f.Groups), float64(share)))+1) // that one worker sees
	stateBytes := r.stateBytes + s.perRow(s.keyBytes) + s.heapBytes(f.Groups, total)
	if f.Route == "" && groups <= limit && !r.opt.NoPreAgg {
		f.Route = RouteHash
	}
	switch f.Route {
	case RouteSingle, RouteDense, RouteHash:
		switch {
		case f.Window > 0:
			f.TableBytes = int64(workers) * (4*f.Window + doubled(groups)*stateBytes)
		case f.Route != RouteDense:
			f.TableBytes = int64(workers) * tableBytes(groups, stateBytes)
		}
		if f.Route == RouteHash && workers > 1 && int64(workers)*groups > mergeGroupsMax {
			s.forecastRadix(f)
			f.StatesScattered = int64(workers) * groups
			f.PageBytes = f.StatesScattered * stateBytes
		}
		return
	}
	s.forecastRadix(f)
	fill := s.fill // rows until a table is full
	if f.Window > 0 {
		flushed, fill = limit, 0
	}
	f.TableBytes = int64(workers) * tableBytes(flushed, stateBytes)
	if fill == 0 {
		fill = int64(-float64(f.Groups) * math.Log1p(-min(float64(flushed)/float64(f.Groups), 0.999)))
	}
	fill = max(fill, flushed)
	rowBytes := r.rowBytes + s.perRow(s.keyBytes) + s.perRow(s.valueBytes)
	flat := r.opt.NoPreAgg || fill*r.rowBytes < payOff*flushed*stateBytes && !r.opt.AlwaysPreAgg
	if flat {
		f.Route = RouteScatter
		preAgg := min(total, int64(workers)*fill*(1+share/retryRows))
		f.RowsScattered = total - preAgg
		f.StatesScattered = int64(float64(preAgg) / float64(fill) * float64(flushed))
	} else {
		f.Route = RoutePreAgg
		f.StatesScattered = min(total, int64(float64(total)/float64(fill)*float64(flushed)))
	}
	f.PageBytes = f.RowsScattered*rowBytes + f.StatesScattered*stateBytes
}

// shown returns how many of d equal groups n rows are expected to show.
func shown(d, n float64) float64 { return -d * math.Expm1(-n/max(d, 1)) }

// perRow returns how many of the sample's bytes a row has.
func (s *Sampler) perRow(bytes int64) int64 { return bytes / max(s.rows, 1) }

// heapBytes foretells how many bytes of a heap a group's states take.
func (s *Sampler) heapBytes(groups, total int64) (n int64) {
	const doubling = 1.5 // blocks are of powers of two
	rows := float64(total) / float64(max(groups, 1))
	for i := range s.run.bound.Folds {
		fold := &s.run.bound.Folds[i]
		elements := rows
		switch {
		case !fold.Grows():
			continue
		case fold.Kind == rowdata.FoldTop:
			elements = min(rows, float64(fold.Limit))
		case fold.Kind == rowdata.FoldSketch:
			elements = min(rows, rowdata.SketchRegisterCount/8)
		}
		n += int64(elements * doubling * 8 * float64(max(fold.ElementWords, 1)))
	}
	return n
}

// tableBytes returns how many bytes slots, keys and states of a table take, which double as they
// grow.
func tableBytes(groups, stateBytes int64) int64 {
	const slotBytes = 16
	return doubled(groups) * (slotBytes + stateBytes)
}

// doubled returns the room for n that doubling leads to.
func doubled(n int64) int64 { return 1 << bits.Len64(uint64(max(n, 1)-1)) }

// forecastRadix foretells the fan-out.
func (s *Sampler) forecastRadix(f *Forecast) {
	r := s.run
	f.Radix = r.pages.LimitRadix(r.radix(f.Groups))
	if size, err := partition.Size(max(f.Groups, 1), int64(tableGroups(r.bound)), partitionFailure); err == nil {
		f.Sizing = size
	}
}

// forecastTasks foretells the merge, of partitions of one size, and which will be split again.
func (s *Sampler) forecastTasks(f *Forecast) {
	r := s.run
	fanOut := int64(f.Radix.FanOut())
	each := (f.RowsScattered + f.StatesScattered + fanOut - 1) / fanOut
	f.Tasks = int64(len(partition.Merge(slices.Repeat([]int64{each}, int(fanOut)), r.taskRows(each*fanOut, f.Groups))))
	groups := f.Groups / max(f.Tasks, 1)
	if share := r.opt.WorkerBytes() / splitShare; groups > 1 && tableBytes(groups, r.stateBytes) > share {
		f.Splits = f.Tasks
	}
}
