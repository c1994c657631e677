package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
)

// stepQuery is what a step asks.
type stepQuery struct {
	statement     *sql.Select
	text          string // as SQL
	overflow      query.Overflow
	deterministic bool
	zone          string
}

// inputTable is the name of what a step reads, in its statement.
const inputTable = "input"

// query reads the texts of the step. The fields of its errors begin with a dot.
func (s *Step) query() (*stepQuery, error) {
	v := validation{}
	q := &stepQuery{deterministic: s.Deterministic, zone: s.TimeZone}
	var err error
	q.overflow, err = query.ParseOverflow(s.Overflow)
	v.add(".overflow", err)
	_, err = time.LoadLocation(s.TimeZone)
	v.add(".timezone", err)
	clauses := len(s.clauses()) > 0 || s.Limit != 0
	switch {
	case s.SQL != "" && clauses:
		v.add(".sql", errors.New("give sql alone, or by, agg, where, having, order_by and limit in place of it"))
	case s.SQL != "":
		q.text = strings.TrimSpace(s.SQL)
		q.statement, err = sql.Parse(s.SQL)
		if err == nil {
			err = errors.Join(s.checkFrom(q.statement), s.readable())
		}
		v.add(".sql", err)
	case len(s.By) == 0 && len(s.Agg) == 0:
		v.add("", errors.New("give sql, or by, agg or both"))
	case s.Limit < 0:
		v.add(".limit", fmt.Errorf("%d: want 1 or more", s.Limit))
	default:
		v.add("", s.compose(q))
	}
	return q, v.err()
}

// clause is a text of a step that is a part of a statement.
type clause struct{ Field, Text string }

// clauses returns the parts in the order in which sql.Compose puts them together.
func (s *Step) clauses() []clause {
	var list []clause
	for i, text := range s.By {
		list = append(list, clause{fmt.Sprintf(".by[%d]", i), text})
	}
	for i, text := range s.Agg {
		list = append(list, clause{fmt.Sprintf(".agg[%d]", i), text})
	}
	for _, c := range []clause{{".where", s.Where}, {".having", s.Having}, {".order_by", s.OrderBy}} {
		if c.Text != "" {
			list = append(list, c)
		}
	}
	return list
}

// compose makes a statement of the parts.
func (s *Step) compose(q *stepQuery) (err error) {
	parts := sql.Clauses{By: s.By, Agg: s.Agg, Where: s.Where, Having: s.Having, OrderBy: s.OrderBy}
	if s.Limit > 0 {
		parts.Limit = &s.Limit
	}
	q.statement, err = sql.Compose(inputTable, parts)
	var at *sql.ClauseError
	if errors.As(err, &at) {
		field := "." + strings.ReplaceAll(at.Clause, "-", "_")
		if at.Clause == "by" || at.Clause == "agg" {
			field += fmt.Sprintf("[%d]", at.Index)
		}
		return Errors{{Field: field, Err: at.Err}}
	}
	if err == nil {
		q.text = s.composedText(len(q.statement.GroupBy))
	}
	return err
}

// composedText writes the parts as one statement with the given number of keys.
func (s *Step) composedText(keys int) string {
	var b strings.Builder
	write := func(word, text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString(word + text)
		}
	}
	word := "SELECT "
	for _, text := range append(slices.Clone(s.By), s.Agg...) {
		write(word, text)
		word = ", "
	}
	write(" FROM ", inputTable)
	write(" WHERE ", s.Where)
	for i := range keys {
		word = ", "
		if i == 0 {
			word = " GROUP BY "
		}
		write(word, strconv.Itoa(i+1))
	}
	write(" HAVING ", s.Having)
	write(" ORDER BY ", s.OrderBy)
	if s.Limit > 0 {
		write(" LIMIT ", strconv.FormatInt(s.Limit, 10))
	}
	return b.String()
}

// clauseAt returns the field and the byte within it of a byte of a composed statement.
func (s *Step) clauseAt(offset int) (field string, within int) {
	for _, c := range s.clauses() {
		if offset <= len(c.Text) {
			return c.Field, offset
		}
		offset -= len(c.Text) + 1
	}
	return "", 0
}

// prepare plans the query over a source, which may be nil, and tables. The caller closes it.
func (q *stepQuery) prepare(
	ctx context.Context, eng *engine.Engine, source scan.Source, tables map[string]plan.Table,
) (*plan.Query, error) {
	if source != nil {
		tables[inputTable] = plan.Table{Source: source}
	}
	return plan.Prepare(ctx, eng, q.statement, plan.Options{
		Tables:        tables,
		Overflow:      q.overflow,
		Deterministic: q.deterministic,
		TimeZone:      q.zone,
	})
}

// bind returns the columns of the result for an input of a schema, and tables.
func (q *stepQuery) bind(
	ctx context.Context, eng *engine.Engine, input *arrow.Schema, tables map[string]plan.Table,
) (*arrow.Schema, error) {
	prepared, err := q.prepare(ctx, eng, scan.Batches(input, nil), maps.Clone(tables))
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	return prepared.Schema(), nil
}
