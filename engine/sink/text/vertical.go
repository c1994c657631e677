package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/digits"
)

// VerticalEncoder writes a line for each field of a row, below a line with the number of the row.
type VerticalEncoder struct {
	to     io.Writer
	opt    TableOptions
	names  []string // of the columns, padded to the same width
	lines  []byte   // that are not yet written
	rows   int64    // rows that were given
	writer cellWriter
}

// NewVertical starts a list of rows. Of the options, RowsShown, Color and Separators count.
func NewVertical(to io.Writer, schema *arrow.Schema, opt TableOptions) (*VerticalEncoder, error) {
	if err := checkText(schema); err != nil {
		return nil, err
	}
	e := &VerticalEncoder{to: to, opt: opt, writer: cellWriter{separators: opt.Separators}}
	widest := 0
	for _, f := range schema.Fields() {
		e.names = append(e.names, string(e.writer.text([]byte(f.Name))))
		widest = max(widest, widths.StringWidth(e.names[len(e.names)-1]))
	}
	for i, name := range e.names {
		e.names[i] = strings.Repeat(" ", widest-widths.StringWidth(name)) + name
	}
	return e, nil
}

// Write counts the rows of the batch, and appends a line for each field of the first RowsShown.
func (e *VerticalEncoder) Write(batch arrow.RecordBatch) error {
	columns := newColumns(batch)
	for row := range int(batch.NumRows()) {
		e.rows++
		if e.opt.RowsShown >= 0 && e.rows > int64(e.opt.RowsShown) {
			continue
		}
		e.lines = fmt.Appendf(e.lines, "── row %d ──\n", e.rows)
		for i := range columns {
			cell, valid := e.writer.cell(&columns[i], row)
			e.lines = append(append(e.lines, e.names[i]...), " = "...)
			if e.opt.Color && !valid {
				e.lines = append(append(append(e.lines, "\x1b[2m"...), cell...), "\x1b[0m\n"...)
			} else {
				e.lines = append(append(e.lines, cell...), '\n')
			}
		}
		var err error
		if e.lines, err = flushFull(e.to, e.lines); err != nil {
			return err
		}
	}
	return nil
}

// Close writes how many rows there are.
func (e *VerticalEncoder) Close() error {
	if more := e.rows - int64(e.opt.RowsShown); e.opt.RowsShown >= 0 && more > 0 {
		e.lines = fmt.Appendf(e.lines, "… %s\n", digits.Counted(more, "more row"))
	}
	e.lines = fmt.Appendf(e.lines, "%s\n", digits.Counted(e.rows, "row"))
	_, err := e.to.Write(e.lines)
	return err
}
