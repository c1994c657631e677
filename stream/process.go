package stream

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/partition"
)

// areas is how many partitions a device has at work at once: one is copied in while the groups of another
// leave. Kernels take little beside that, and fewer areas are larger, which makes larger pieces.
const areas = 2

// Process is the partition-processing phase: it calls emit with all groups that Options.TakeStates does not
// get, from several goroutines at once. emit releases what it takes. What Options.TakeRows and TakeStates
// have had of a partition they had before its groups are emitted.
func (r *Run) Process(emit func(context.Context, *Groups) error) error {
	if err := r.EndInput(); err != nil {
		return err
	}
	if invariants.Enabled {
		emit = r.account.checked(r, emit)
	}
	err := r.processTable(emit)
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

// processTable emits the groups of a table. Parts of them are the CPU's: should the device fail between two, nobody
// could tell which keys had been emitted.
func (r *Run) processTable(emit func(context.Context, *Groups) error) error {
	d := r.tableOf()
	if d == nil {
		return nil
	}
	return d.lastGroups(func(g *Groups, all bool) error {
		if all {
			return taken(emit(r.ctx, g))
		}
		return r.giveStates(g)
	})
}

// giveStates gives groups to the CPU, and their memory back.
func (r *Run) giveStates(g *Groups) error { return errors.Join(taken(r.takeStates(g)), g.Release()) }

// holdTable takes the groups of a table out before partitions are aggregated, which need its memory. They are held until
// those of all partitions are emitted; or they are the CPU's, where there is no room for them.
func (r *Run) holdTable() error {
	d := r.tableOf()
	if d == nil || len(r.blocks) == 0 {
		return nil
	}
	return d.lastGroups(func(g *Groups, all bool) error {
		if all {
			r.held = g
			return nil
		}
		return r.giveStates(g)
	})
}

// tableOf returns the device that has a table, if one has.
func (r *Run) tableOf() *device {
	for _, d := range r.devices {
		if d.table != nil {
			return d
		}
	}
	return nil
}

// mergeTables merges the tables of several devices into one of them: keys may be in any. Groups that find no slot
// there are the CPU's; all are, if tables have refused rows, whose keys another may have.
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

// Held returns groups of a table that have not been emitted, or nil: when Process fails after it has emitted
// partitions, the groups of their keys here belong to them. The run keeps the memory.
func (r *Run) Held() *Groups { return r.held }

// dropTiles gives back the device memory of the tiles. Requires: the device's lock is held.
func (d *device) dropTiles() error {
	var errs []error
	for _, t := range d.tiles {
		errs = append(errs, t.leave(), t.dropInput())
	}
	return errors.Join(errs...)
}

// partitionQueue hands out sets of partitions, the largest first.
type partitionQueue struct {
	mu   sync.Mutex
	sets [][]int
}

func (q *partitionQueue) take() ([]int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.sets) == 0 {
		return nil, false
	}
	set := q.sets[0]
	q.sets = q.sets[1:]
	return set, true
}

// processPartitions aggregates the partitions of RouteScatter.
func (r *Run) processPartitions(emit func(context.Context, *Groups) error) (err error) {
	if len(r.blocks) == 0 {
		return nil
	}
	var list []*area
	defer func() {
		for _, a := range list {
			err = errors.Join(err, failure(a.release()))
		}
	}()
	limit := int64(0)
	for _, d := range r.devices {
		made, areaErr := d.newAreas()
		list = append(list, made...)
		if areaErr != nil {
			return areaErr
		}
		for _, a := range made {
			if limit == 0 || a.layout.rows.capacity < limit {
				limit = a.layout.rows.capacity
			}
		}
	}
	sizes := sizesOf(r.blocks, 1<<r.radix)
	sets := partition.Merge(sizes, limit)
	rowsOf := func(set []int) int64 { return sumOf(sizes, set) }
	slices.SortStableFunc(sets, func(a, b []int) int { return int(min(max(rowsOf(b)-rowsOf(a), -1), 1)) })
	r.count(func(c *Counters) {
		c.Sizes = sizes
		for _, set := range sets {
			c.Tasks = append(c.Tasks, rowsOf(set))
		}
	})
	queue := &partitionQueue{sets: sets}
	group, ctx := spawn.WithContext(r.ctx)
	for _, a := range list {
		group.Go(func() error {
			for ctx.Err() == nil {
				set, ok := queue.take()
				if !ok {
					return nil
				}
				spawn.Step()
				if err := a.process(ctx, set, rowsOf(set), emit); err != nil {
					return err
				}
			}
			return context.Cause(ctx)
		})
	}
	return group.Wait()
}

// newAreas shares what is free of a device among its areas.
func (d *device) newAreas() (list []*area, err error) {
	d.mu.Lock()
	err = d.dropTiles()
	bytes := (d.limit - d.used) / areas
	d.mu.Unlock()
	for i := range areas {
		if err != nil {
			break
		}
		var a *area
		if a, err = d.newArea(i, bytes); err == nil {
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
