package main

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// writeTable writes a table's rows, in order, in equal parts to files: all files appear, or none.
func writeTable(ctx context.Context, table *gen.Table, paths []string, opt sink.Options, threads int) (err error) {
	writers := make([]sink.Writer, 0, len(paths))
	defer func() {
		for _, w := range writers {
			err = errors.Join(err, w.Abort()) // nothing after Commit
		}
	}()
	for _, path := range paths {
		w, err := sink.Create(ctx, path, table.Schema(), opt)
		if err != nil {
			return err
		}
		writers = append(writers, w)
	}
	objects, _ := opt.FS.(vfs.Objects)
	committed := make([]bool, len(writers))
	// Files are written at the same time, and the blocks of each made at the same time.
	files, fileCtx := spawn.WithContext(ctx)
	files.SetLimit(threads)
	for i, w := range writers {
		part := rowRange{table.Rows() * int64(i) / int64(len(writers)), table.Rows() * int64(i+1) / int64(len(writers))}
		files.Go(func() error {
			err := writeRows(fileCtx, table, part, w, max(1, threads/len(writers)))
			if err == nil && objects != nil && objects.IsObject(paths[i]) { // an object holds memory until its commit
				err = w.Commit()
				committed[i] = err == nil
			}
			return err
		})
	}
	err = files.Wait()
	for i, w := range writers {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && !committed[i] {
			err = w.Commit()
			committed[i] = err == nil
		}
	}
	for i, path := range paths {
		if err != nil && committed[i] {
			err = errors.Join(err, opt.FS.Remove(path))
		}
	}
	return err
}

// rowRange is the rows from low up to, not including, high.
type rowRange struct{ low, high int64 }

// cut returns the part of the range that a split of rows from start on has, counted in the split.
func (r rowRange) cut(start, rows int64) rowRange {
	return rowRange{max(r.low-start, 0), min(r.high-start, rows)}
}

// writeRows makes the blocks of a range of rows, ahead of the writer by as many as there are
// workers, and writes them in order.
func writeRows(ctx context.Context, table *gen.Table, rows rowRange, w sink.Writer, workers int) error {
	columns := make([]int, table.Schema().NumFields())
	for i := range columns {
		columns[i] = i
	}
	splits, err := table.Splits(ctx, columns)
	if err != nil {
		return err
	}
	group, ctx := spawn.WithContext(ctx)
	queue := make(chan chan []arrow.RecordBatch, workers-1) // and one that is being written
	group.Go(func() error {
		defer close(queue)
		for _, split := range splits {
			part := rows.cut(int64(split.Position()), split.Rows())
			if part.low >= part.high {
				continue
			}
			block := make(chan []arrow.RecordBatch, 1)
			select {
			case queue <- block:
			case <-ctx.Done():
				return ctx.Err()
			}
			group.Go(func() error {
				batches, err := readSplit(ctx, split, part)
				block <- batches
				return err
			})
		}
		return nil
	})
	group.Go(func() error {
		for block := range queue {
			select {
			case batches := <-block:
				if err := writeBatches(ctx, w, batches); err != nil {
					return err
				}
			case <-ctx.Done():
			}
		}
		return ctx.Err()
	})
	return group.Wait()
}

// readSplit returns a part of a split's rows.
func readSplit(ctx context.Context, split scan.Split, part rowRange) (batches []arrow.RecordBatch, err error) {
	reader, err := split.Open(ctx, scan.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	for row := int64(0); reader.Next(); {
		batch := reader.RecordBatch()
		in := part.cut(row, batch.NumRows())
		if in.low < in.high {
			batches = append(batches, batch.NewSlice(in.low, in.high))
		}
		row += batch.NumRows()
	}
	return batches, reader.Err()
}

// writeBatches writes the batches and releases them, also batches that an error leaves unwritten.
func writeBatches(ctx context.Context, w sink.Writer, batches []arrow.RecordBatch) (err error) {
	for _, batch := range batches {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = w.Write(batch)
		}
		batch.Release()
	}
	return err
}
