package stream

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/partition"
)

// areas is how many partitions a device has at work at once: one is copied in while the groups of
// another leave. Kernels take little time beside the copies, and fewer areas are larger, which
// makes larger pieces.
const areas = 2

// Process is the partition-processing phase: it calls emit with all groups that Options.TakeStates
// does not get, from several goroutines at once. emit releases the groups. Options.TakeRows and
// TakeStates have all that they get of a partition before its groups are emitted.
func (r *Run) Process(emit func(context.Context, *Groups) error) error {
	if err := r.EndInput(); err != nil {
		return err
	}
	if invariants.Enabled {
		emit = r.account.checked(r.opt.Shape.KeyBytes, emit)
	}
	err := r.lastGroups(func(g *Groups) error { return taken(emit(r.ctx, g)) })
	if err == nil {
		err = r.processPartitions(emit)
	}
	if g := r.held; err == nil && g != nil {
		r.held = nil
		err = taken(emit(r.ctx, g))
	}
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	err = wrapDevice(err)
	r.fail(err)
	return err
}

// lastGroups gives all groups of the table, if a device has one, to a function. Where the groups
// leave in parts, they are the CPU's: should the device fail between two parts, nobody could tell
// which keys had been emitted.
func (r *Run) lastGroups(take func(*Groups) error) error {
	i := slices.IndexFunc(r.devices, func(d *device) bool { return d.table != nil })
	if i < 0 {
		return nil
	}
	return r.devices[i].lastGroups(func(g *Groups, all bool) error {
		if all {
			return take(g)
		}
		return r.giveStates(g)
	})
}

// giveStates gives groups to the CPU, and their memory back.
func (r *Run) giveStates(g *Groups) error { return errors.Join(taken(r.takeStates(g)), g.Release()) }

// holdTable takes the groups of a table out before partitions are aggregated, which need its
// memory. The groups are held until the groups of all partitions are emitted; or they are the
// CPU's, where there is no room for them.
func (r *Run) holdTable() error {
	if len(r.blocks) == 0 {
		return nil
	}
	return r.lastGroups(func(g *Groups) error {
		r.held = g
		return nil
	})
}

// mergeTables merges the tables of several devices into the largest: each may have groups of any
// key. The CPU gets groups that find no slot there, and all groups of all tables where tables have
// refused rows: another may have their keys.
func (r *Run) mergeTables() error {
	if len(r.devices) == 1 {
		return nil
	}
	var into *device
	for _, d := range r.devices {
		if d.table != nil && len(r.blocks) == 0 && (into == nil || d.table.Slots > into.table.Slots) {
			into = d
		}
	}
	for _, d := range r.devices {
		if d.table == nil || d == into {
			continue
		}
		invariants.Sometimes("stream: the table of a device is merged into another's")
		err := d.lastGroups(func(g *Groups, _ bool) error {
			if into == nil {
				return r.giveStates(g)
			}
			return errors.Join(into.insertGroups(g), g.Release())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Held returns groups of a table that have not been emitted, or nil: when Process fails after it
// has emitted partitions, the held groups of these partitions belong to them. The run keeps the
// memory.
func (r *Run) Held() *Groups { return r.held }

// dropTiles gives back the device memory of the tiles. Requires: the device's lock is held.
func (d *device) dropTiles() error {
	var errs []error
	for _, t := range d.tiles {
		errs = append(errs, t.drop())
	}
	return errors.Join(errs...)
}

// processPartitions aggregates the partitions of RouteScatter.
func (r *Run) processPartitions(emit func(context.Context, *Groups) error) (err error) {
	if len(r.blocks) == 0 {
		return nil
	}
	if err := r.openRankings(); err != nil {
		return err
	}
	var list []*area
	defer func() {
		for _, a := range list {
			err = errors.Join(err, failure(a.release()))
		}
	}()
	limit := int64(math.MaxInt64)
	sizes := sizesOf(r.blocks, 1<<r.radix)
	number, rows := r.areasFor(sizes)
	for _, d := range r.devices {
		made, areaErr := d.newAreas(number, rows)
		list = append(list, made...)
		if areaErr != nil {
			return areaErr
		}
		for _, a := range made {
			limit = min(limit, a.layout.rows.capacity)
		}
	}
	sets := r.merge(sizes, limit)
	rowsOf := func(set []int) int64 { return sumOf(sizes, set) }
	slices.SortStableFunc(sets, func(a, b []int) int { return cmp.Compare(rowsOf(b), rowsOf(a)) }) // the largest first
	queue := make(chan []int, len(sets))
	r.count(func(c *Counters) {
		c.Sizes = sizes
		for _, set := range sets {
			c.Tasks = append(c.Tasks, rowsOf(set))
			queue <- set
		}
	})
	close(queue)
	group, ctx := spawn.WithContext(r.ctx)
	for _, a := range list {
		group.Go(func() error {
			for set := range queue {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				spawn.Step()
				if err := a.process(ctx, set, rowsOf(set), emit); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// merge joins partitions to sets of at most limit rows; a partition of more rows is a set by itself. Sets of
// neighbours, which need fewer copies, are taken unless they are more than the other sets.
func (r *Run) merge(sizes []int64, limit int64) (sets [][]int) {
	if !r.opt.NoMerge {
		sets = partition.Merge(sizes, limit)
		if near := partition.MergeNeighbours(sizes, limit); len(near) <= len(sets) {
			invariants.Sometimes("stream: sets are of neighbours")
			return near
		}
		invariants.Sometimes("stream: sets are not of neighbours")
		return sets
	}
	for p, n := range sizes {
		if n > 0 {
			sets = append(sets, []int{p})
		}
	}
	return sets
}

// setRowsMin is how many rows make a set of partitions at least, where there are enough: fewer take no longer to be
// copied than a kernel to be launched.
const setRowsMin = 16 << 20

// areasFor returns how many areas a device is to have, and of how many rows at most, for partitions of such sizes:
// with some sets for each, one is aggregated while others are copied, and memory that nobody needs takes time, too.
func (r *Run) areasFor(sizes []int64) (number int, rows int64) {
	total := int64(0)
	for _, n := range sizes {
		total += n
	}
	if total <= setRowsMin || len(sizes) == 1 {
		return 1, total
	}
	return areas, max(ceilDiv(total, int64(2*areas*len(r.devices))), slices.Max(sizes), setRowsMin)
}

// newAreas shares the free memory of a device among `number` areas, each of at most `rows` rows,
// rounded up to areaStep.
func (d *device) newAreas(number int, rows int64) (list []*area, err error) {
	d.mu.Lock()
	err = d.dropTiles()
	bytes := (d.limit - d.used) / int64(number)
	d.mu.Unlock()
	for i := 0; i < number && err == nil; i++ {
		var a *area
		if a, err = d.newArea(i, bytes, rows); err == nil {
			list = append(list, a)
		}
	}
	return list, err
}

// Waiting returns how many rows wait in partitions to be processed. EndInput has returned.
func (r *Run) Waiting() (rows int64) {
	for _, b := range r.blocks {
		rows += b.rows
	}
	return rows
}

// sumOf returns the rows of a set of partitions.
func sumOf(sizes []int64, set []int) (n int64) {
	for _, p := range set {
		n += sizes[p]
	}
	return n
}

// sizesOf returns the rows of each partition of blocks.
func sizesOf(blocks []*block, partitions int) []int64 {
	sizes := make([]int64, partitions)
	for _, b := range blocks {
		for p := range sizes {
			sizes[p] += b.offsets[p+1] - b.offsets[p]
		}
	}
	return sizes
}
