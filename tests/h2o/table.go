package h2o

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sink"
)

// Write generates a table by its name, such as G1_1e6_1e2_0_0, as a Parquet file.
func Write(ctx context.Context, name, file string) error {
	opt, err := gen.ParseH2O(name)
	if err != nil {
		return err
	}
	table, err := gen.H2O(opt)
	if err != nil {
		return err
	}
	return WriteTable(ctx, table, file)
}

// WriteTable writes columns of a generated table, or all where none are named, as a Parquet file.
func WriteTable(ctx context.Context, table scan.Source, file string, names ...string) error {
	var columns []int
	var fields []arrow.Field
	for i, field := range table.Schema().Fields() {
		if len(names) == 0 || slices.Contains(names, field.Name) {
			columns, fields = append(columns, i), append(fields, field)
		}
	}
	splits, err := table.Splits(ctx, columns)
	if err != nil {
		return err
	}
	w, err := sink.Create(context.Background(), file, arrow.NewSchema(fields, nil), sink.Options{})
	if err != nil {
		return err
	}
	for _, s := range splits {
		if err := copySplit(ctx, w, s); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Commit()
}

func copySplit(ctx context.Context, w sink.Writer, s scan.Split) error {
	r, err := s.Open(ctx, scan.OpenOptions{})
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
		if err := w.Write(r.RecordBatch()); err != nil {
			return err
		}
	}
	return r.Err()
}
