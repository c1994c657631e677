package logical

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/recordreader"
)

// about binds what a verb tells about a statement, as a table.
func (b *binder) about(ctx context.Context, f *sql.About) (*scope, error) {
	switch f.Verb {
	case sql.Describe:
		r, err := b.subject(ctx, f.Query)
		if err != nil {
			return nil, err
		}
		rows := TextBatch(describeSchema, DescribeRows(r.schema))
		return b.tableScope(scan.Batches(describeSchema, []arrow.RecordBatch{rows}), ""), nil
	case sql.Summarize:
		return b.summary(ctx, f.Query)
	}
	n, err := b.statement(ctx, f.Query)
	if err != nil {
		return nil, err
	}
	analyze := f.Verb == sql.ExplainAnalyze
	return scopeOf(&Explain{In: n, Of: f.Query, Analyze: analyze, columns: fixedColumns(&b.ids, ExplainSchema)}), nil
}

// subject opens what DESCRIBE or SUMMARIZE is about: the result of a statement, or a whole table, whose
// columns may have types that no expression takes.
func (b *binder) subject(ctx context.Context, s *sql.Select) (*scope, error) {
	parts := s.Distinct || s.Where != nil || s.GroupBy != nil || s.GroupAll || s.Having != nil ||
		s.OrderBy != nil || s.OrderAll != nil || s.Limit != nil || s.Offset != nil
	if len(s.Items) == 1 && s.Items[0].Expr == nil && s.Items[0].Star == nil && s.From != nil && !parts {
		r, err := b.from(ctx, s, s.From)
		if err == nil {
			r, err = r.only(s.Items[0])
		}
		return r, Located(s, err)
	}
	return b.derived(ctx, s)
}

// ExplainSchema has the columns of EXPLAIN, by DuckDB's names.
var ExplainSchema = textColumns("explain_key", "explain_value")

// describeSchema has the columns of DESCRIBE, by DuckDB's names.
var describeSchema = textColumns("column_name", "column_type", "null", "key", "default", "extra")

// tablesSchema has the column of SHOW TABLES, by DuckDB's name.
var tablesSchema = textColumns("name")

func textColumns(names ...string) *arrow.Schema {
	fields := make([]arrow.Field, len(names))
	for i, name := range names {
		fields[i] = arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// DescribeRows returns the columns of DESCRIBE that have values. Any column may have NULLs: files of
// the same pattern need not agree on it.
func DescribeRows(of *arrow.Schema) [][]string {
	columns := make([][]string, 3)
	for _, f := range of.Fields() {
		columns[0] = append(columns[0], f.Name)
		columns[1] = append(columns[1], query.TypeName(f.Type))
		columns[2] = append(columns[2], "YES")
	}
	return columns
}

// TextBatch returns columns of strings. Columns that are not given are NULL.
func TextBatch(schema *arrow.Schema, columns [][]string) arrow.RecordBatch {
	rows := len(columns[0])
	arrays := make([]arrow.Array, schema.NumFields())
	for i := range arrays {
		if i >= len(columns) {
			arrays[i] = array.MakeArrayOfNull(memory.DefaultAllocator, arrow.BinaryTypes.String, rows)
			continue
		}
		arrays[i] = Strings(columns[i])
	}
	defer func() { recordreader.ReleaseAll(arrays) }()
	return array.NewRecordBatch(schema, arrays, int64(rows))
}

// Strings returns an array of texts.
func Strings(values []string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewArray()
}
