package plan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
)

// about opens what a verb tells about a statement as a table.
func (p *planner) about(ctx context.Context, f *sql.About) (*relation, error) {
	switch f.Verb {
	case sql.Describe:
		rel, err := p.subject(ctx, f.Query)
		if err != nil {
			return nil, err
		}
		return tableOf(describeSchema, describeRows(rel.schema)), nil
	case sql.Summarize:
		return p.summary(ctx, f.Query)
	case sql.ExplainAnalyze:
		return p.analyzed(ctx, f.Query)
	}
	return p.explained(ctx, f.Query)
}

// explained opens what EXPLAIN tells about a statement, which does not run, as a table.
func (p *planner) explained(ctx context.Context, s *sql.Select) (*relation, error) {
	about, err := p.plan(ctx, s)
	if err != nil {
		return nil, err
	}
	defer about.Close()
	if err := p.narrow(ctx, about); err != nil {
		return nil, err
	}
	text, err := about.Explain(ctx)
	if err != nil {
		return nil, err
	}
	return tableOf(explainSchema, [][]string{{"physical_plan"}, {text}}), nil
}

// analyzed opens what EXPLAIN ANALYZE tells about a statement, which runs when the table is read.
func (p *planner) analyzed(ctx context.Context, s *sql.Select) (*relation, error) {
	about, err := p.plan(ctx, s)
	if err != nil {
		return nil, err
	}
	p.subqueries = append(p.subqueries, about)
	if err := p.narrow(ctx, about); err != nil {
		return nil, err
	}
	return relationOf(newStream(&analyzeNode{about}, "analyzed plan")), nil
}

// analyzeNode has what EXPLAIN ANALYZE tells about a statement, which it runs.
type analyzeNode struct{ about *Query }

func (n *analyzeNode) input() node           { return n.about }
func (n *analyzeNode) schema() *arrow.Schema { return explainSchema }

// read implements readerNode.
func (n *analyzeNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	text, err := n.about.analyze(ctx, r)
	if err != nil {
		return nil, err
	}
	batch := textBatch(explainSchema, [][]string{{"analyzed_plan"}, {text}})
	return array.NewRecordReader(explainSchema, []arrow.RecordBatch{batch})
}

// subject opens what DESCRIBE or SUMMARIZE is about: the result of a statement, or a whole table, whose
// columns may have types that no expression takes.
func (p *planner) subject(ctx context.Context, s *sql.Select) (*relation, error) {
	parts := s.Distinct || s.Where != nil || s.GroupBy != nil || s.GroupAll || s.Having != nil ||
		s.OrderBy != nil || s.OrderAll != nil || s.Limit != nil || s.Offset != nil
	if len(s.Items) == 1 && s.Items[0].Expr == nil && s.From != nil && !parts {
		rel, err := p.from(ctx, s, s.From)
		if err == nil {
			rel, err = rel.only(s.Items[0])
		}
		return rel, located(s, err)
	}
	return p.derived(ctx, s)
}

// The columns of DESCRIBE and EXPLAIN, by DuckDB's names.
var (
	describeSchema = textColumns("column_name", "column_type", "null", "key", "default", "extra")
	explainSchema  = textColumns("explain_key", "explain_value")
)

func textColumns(names ...string) *arrow.Schema {
	fields := make([]arrow.Field, len(names))
	for i, name := range names {
		fields[i] = arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// describeRows returns the columns of DESCRIBE that have values. Any column may have NULLs: files of
// the same pattern need not agree on it.
func describeRows(of *arrow.Schema) [][]string {
	columns := make([][]string, 3)
	for _, f := range of.Fields() {
		columns[0] = append(columns[0], f.Name)
		columns[1] = append(columns[1], query.TypeName(f.Type))
		columns[2] = append(columns[2], "YES")
	}
	return columns
}

// tableOf is the relation of columns of strings.
func tableOf(schema *arrow.Schema, columns [][]string) *relation {
	return tableRelation(scan.Batches(schema, []arrow.RecordBatch{textBatch(schema, columns)}), "")
}

// textBatch returns columns of strings. Columns that are not given are NULL.
func textBatch(schema *arrow.Schema, columns [][]string) arrow.RecordBatch {
	rows := len(columns[0])
	arrays := make([]arrow.Array, schema.NumFields())
	for i := range arrays {
		if i >= len(columns) {
			arrays[i] = nulls(arrow.BinaryTypes.String, rows)
			continue
		}
		arrays[i] = stringsOf(columns[i])
	}
	defer releaseAll(arrays)
	return array.NewRecordBatch(schema, arrays, int64(rows))
}

func stringsOf(values []string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewArray()
}
