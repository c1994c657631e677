package web

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine/sink/text"
	"github.com/mpga/mpga/internal/digits"
)

// W5: of charts. More bars are not told apart, and more points are not drawn at once.
const (
	barsMax   = 120
	pointsMax = 2000
	seriesMax = 8
)

// chart answers with a picture of the first rows of a result, and with its values.
func (s *Service) chart(r *request) error {
	k, release, err := r.kept()
	if err != nil {
		return err
	}
	if k, release, err = r.byX(k, release); err != nil {
		return err
	}
	c, values, err := r.chartOf(k)
	if err := errors.Join(err, release()); err != nil {
		return err
	}
	var picture bytes.Buffer
	if err := c.Write(&picture); err != nil {
		return err
	}
	drawn, note := int64(len(values)), ""
	switch {
	case picture.Len() == 0:
		note = "There is no number to draw."
	case drawn < k.Rows:
		note = fmt.Sprintf("The first %s of %s, in the order of the rows.",
			digits.Counted(drawn, "row"), humanize.Comma(k.Rows))
	}
	if by := distinct(c.By); by > chart.Colours {
		const text = "%s Of %d values, the %d with the largest totals are shown."
		note = strings.TrimSpace(fmt.Sprintf(text, note, by, chart.Colours))
	}
	answer(r.w, http.StatusOK, map[string]any{"picture": picture.String(), "note": note, "values": values})
	return nil
}

// byX returns rows in the order of x, where a line has more of them than are drawn and the reader has chosen no order:
// otherwise the first rows could be from anywhere. The rows are released as they were.
func (r *request) byX(k *server.Kept, release func() error) (*server.Kept, func() error, error) {
	q := r.URL.Query()
	if chart.Kind(q.Get("kind")) != chart.Lines || k.Rows <= pointsMax || q.Has("sort") {
		return k, release, nil
	}
	column, err := r.number("x", 0)
	if err == nil && column >= 0 && int(column) < k.Schema.NumFields() {
		var ordered *server.Kept
		var releaseOrdered func() error
		if ordered, releaseOrdered, err = k.Ordered(r.Context(), server.Order{Column: int(column)}); err == nil {
			return ordered, func() error { return errors.Join(releaseOrdered(), release()) }, nil
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return k, release, nil // chartOf refuses the column
}

// distinct returns how many values a list has.
func distinct(list []string) int {
	seen := map[string]bool{}
	for _, v := range list {
		seen[v] = true
	}
	return len(seen)
}

// chartOf makes the chart that a request asks for: kind, x, y once for each series, and perhaps by, a column whose
// values are series of the one y. values are the cells of the rows drawn: x, by, the ys.
func (r *request) chartOf(k *server.Kept) (c *chart.Rows, values [][]any, err error) {
	q := r.URL.Query()
	if n := len(q["y"]); n < 1 || n > seriesMax || q.Has("by") && n > 1 {
		return nil, nil, fmt.Errorf("a chart has a column x, and 1 to %d columns y, or one and a column by", seriesMax)
	}
	columns := slices.Concat([]string{q.Get("x")}, q["by"], q["y"])
	at := make([]int, len(columns))
	for i, name := range columns {
		if at[i], err = strconv.Atoi(name); err != nil || at[i] < 0 || at[i] >= k.Schema.NumFields() {
			return nil, nil, fmt.Errorf("%w: the result has no column %q", server.ErrUnknown, name)
		}
	}
	described := columnsOf(k.Schema)
	x := described[at[0]]
	c = &chart.Rows{Kind: chart.Kind(q.Get("kind")), X: x.Name, Dates: x.Date}
	most := int64(pointsMax)
	switch c.Kind {
	case chart.Bars:
		most, c.Dates = barsMax, false
	case chart.Lines, chart.Scatter:
	default:
		return nil, nil, fmt.Errorf("kind %q: want one of bar, line, scatter", q.Get("kind"))
	}
	for _, i := range at[len(at)-len(q["y"]):] {
		if !described[i].Number {
			return nil, nil, fmt.Errorf("column %s: %s is no number", described[i].Name, described[i].Type)
		}
		c.Columns = append(c.Columns, chart.Column{Name: described[i].Name})
	}
	named := c.Kind == chart.Bars || !x.Number && !x.Date
	if q.Has("by") {
		c.By = []string{}
	}
	err = k.Page(0, most, func(batch arrow.RecordBatch) error {
		values = append(values, addRows(c, batch, at, named)...)
		return nil
	})
	return c, values, err
}

// addRows adds the rows of a batch to a chart, and returns them as cells. at has the columns x, by where the chart has
// one, and the ys. named rows have a name in place of a number.
func addRows(c *chart.Rows, batch arrow.RecordBatch, at []int, named bool) [][]any {
	cells := make([][]any, batch.NumRows())
	first := len(at) - len(c.Columns) // y
	for n, i := range at {
		column := batch.Column(i)
		appendTo := text.Appender(column)
		for row := range cells {
			value, valid := appendTo(nil, row)
			switch {
			case n >= first:
				series := &c.Columns[n-first]
				series.Values = append(series.Values, parsed(value, valid))
			case n > 0:
				c.By = append(c.By, nameText(value, valid))
			case named:
				c.Names = append(c.Names, nameText(value, valid))
			case c.Dates:
				c.At = append(c.At, secondsOf(column, row))
			default:
				c.At = append(c.At, parsed(value, valid))
			}
			if valid {
				cells[row] = append(cells[row], cellText(value, cellBytesMax))
			} else {
				cells[row] = append(cells[row], nil)
			}
		}
	}
	return cells
}

// nameText returns a value as a name in a chart.
func nameText(value []byte, valid bool) string {
	if !valid {
		return "NULL"
	}
	return cellText(value, cellBytesMax)
}

// parsed returns a number that was written as text; NaN of NULL.
func parsed(value []byte, valid bool) float64 {
	if v, err := strconv.ParseFloat(string(value), 64); valid && err == nil {
		return v
	}
	return math.NaN()
}

// secondsOf returns a date in seconds since 1970; NaN of NULL.
func secondsOf(column arrow.Array, row int) float64 {
	if column.IsNull(row) {
		return math.NaN()
	}
	switch a := column.(type) {
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit.Multiplier()
		return float64(a.Value(row)) * unit.Seconds()
	case *array.Date32:
		return float64(a.Value(row)) * (24 * time.Hour).Seconds()
	case *array.Date64:
		return float64(a.Value(row)) / 1000
	}
	return math.NaN()
}
