package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/engine/sql"
)

// query is what a step asks: a statement, or keys and aggregates.
type query struct {
	statement *sql.Select // nil of keys and aggregates
	spec      spec.Query  // of a statement, Overflow and Deterministic alone
	text      string      // as SQL
}

// inputTable is what a statement calls that which its step reads.
const inputTable = "input"

// query reads the texts of the step. The fields of its errors begin with a dot.
func (s *Step) query() (query, error) {
	v := validation{}
	q := query{spec: spec.Query{Deterministic: s.Deterministic}}
	var err error
	q.spec.Overflow, err = spec.ParseOverflow(s.Overflow)
	v.add(".overflow", err)
	grouped := len(s.By) > 0 || len(s.Agg) > 0
	switch {
	case s.SQL != "" && grouped:
		v.add(".sql", errors.New("give sql, or by and agg, not both"))
	case s.SQL != "":
		q.text = s.SQL
		q.statement, err = sql.Parse(s.SQL)
		v.add(".sql", err)
		if err == nil {
			v.add(".sql", checkFrom(q.statement))
		}
	case grouped:
		s.parseGroups(&q, &v)
	default:
		v.add("", errors.New("give sql, or by, agg or both"))
	}
	return q, v.err()
}

// parseGroups reads keys and aggregates.
func (s *Step) parseGroups(q *query, v *validation) {
	for i, text := range s.By {
		keys, err := sql.ParseKeys(text)
		v.add(fmt.Sprintf(".by[%d]", i), err)
		q.spec.Keys = append(q.spec.Keys, keys...)
	}
	for i, text := range s.Agg {
		aggregates, err := sql.ParseAggregates(text)
		v.add(fmt.Sprintf(".agg[%d]", i), err)
		q.spec.Aggregates = append(q.spec.Aggregates, aggregates...)
	}
	if len(v.errs) == 0 {
		v.add("", q.spec.Validate())
		q.text = specText(q.spec)
	}
}

// checkFrom refuses a statement that reads anything but what its step does: a job could not tell
// whether that has changed.
func checkFrom(s *sql.Select) error {
	for s.From != nil && s.From.Query != nil {
		s = s.From.Query
	}
	if s.From != nil && (s.From.File || s.From.Name != inputTable) {
		return s.ErrorAt(s.From.At, "a step reads what stands behind its from: write FROM "+inputTable)
	}
	return nil
}

// rows is the result of a query.
type rows interface {
	array.RecordReader
	Stats() engine.Stats // complete when Next has returned false
}

// start runs the query over a source. The caller releases the rows, and calls end then.
func (q *query) start(ctx context.Context, eng *engine.Engine, source scan.Source) (_ rows, end func(), err error) {
	if q.statement == nil {
		result, err := eng.Aggregate(ctx, source, q.spec)
		if err != nil {
			return nil, nil, err
		}
		return result, func() {}, nil
	}
	prepared, err := q.prepare(ctx, eng, source)
	if err != nil {
		return nil, nil, err
	}
	result, err := prepared.Run(ctx)
	if err != nil {
		prepared.Close()
		return nil, nil, err
	}
	return result, prepared.Close, nil
}

func (q *query) prepare(ctx context.Context, eng *engine.Engine, source scan.Source) (*plan.Query, error) {
	return plan.Prepare(ctx, eng, q.statement, plan.Options{
		Tables:        map[string]plan.Table{inputTable: {Source: source}},
		Overflow:      q.spec.Overflow,
		Deterministic: q.spec.Deterministic,
	})
}

// bind returns the columns of the result for an input of a schema.
func (q *query) bind(ctx context.Context, eng *engine.Engine, input *arrow.Schema) (*arrow.Schema, error) {
	if q.statement == nil {
		bound, err := spec.Bind(q.spec, input, nil)
		if err != nil {
			return nil, err
		}
		return bound.Schema, nil
	}
	prepared, err := q.prepare(ctx, eng, scan.Batches(input, nil))
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	return prepared.Schema(), nil
}
