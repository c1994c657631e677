package web

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

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
			digits.Counted(drawn, "row"), strconv.FormatInt(k.Rows, 10))
	}
	answer(r.w, http.StatusOK, map[string]any{"picture": picture.String(), "note": note, "values": values})
	return nil
}

// chartOf makes the chart that a request asks for: kind, x, and y once for each series. values are the
// cells of the rows drawn, x first.
func (r *request) chartOf(k *server.Kept) (c *chart.Rows, values [][]any, err error) {
	q := r.URL.Query()
	columns := append([]string{q.Get("x")}, q["y"]...)
	if len(columns) < 2 || len(columns) > 1+seriesMax {
		return nil, nil, fmt.Errorf("a chart has a column x, and 1 to %d columns y", seriesMax)
	}
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
	for _, i := range at[1:] {
		if !described[i].Number {
			return nil, nil, fmt.Errorf("column %s: %s is no number", described[i].Name, described[i].Type)
		}
		c.Columns = append(c.Columns, chart.Column{Name: described[i].Name})
	}
	named := c.Kind == chart.Bars || !x.Number && !x.Date
	err = k.Page(0, most, func(batch arrow.RecordBatch) error {
		values = append(values, addRows(c, batch, at, named)...)
		return nil
	})
	return c, values, err
}

// addRows adds the rows of a batch to a chart, and returns them as cells. named rows have a name in
// place of a number.
func addRows(c *chart.Rows, batch arrow.RecordBatch, at []int, named bool) [][]any {
	cells := make([][]any, batch.NumRows())
	for n, i := range at {
		column := batch.Column(i)
		appendTo := text.Appender(column)
		for row := range cells {
			value, valid := appendTo(nil, row)
			switch {
			case n > 0:
				series := &c.Columns[n-1]
				series.Values = append(series.Values, parsed(value, valid))
			case named && !valid:
				c.Names = append(c.Names, "NULL")
			case named:
				c.Names = append(c.Names, cellText(value, cellBytesMax))
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
