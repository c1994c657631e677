package text

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
)

// MarkdownEncoder writes a table of Markdown, as GitHub's dialect has it: all rows, numbers at the
// right.
type MarkdownEncoder struct {
	to     io.Writer
	lines  []byte // that are not yet written
	writer cellWriter
}

// NewMarkdown starts a table. separators says whether thousands are separated.
func NewMarkdown(to io.Writer, schema *arrow.Schema, separators bool) (*MarkdownEncoder, error) {
	if err := checkText(schema); err != nil {
		return nil, err
	}
	e := &MarkdownEncoder{to: to, writer: cellWriter{separators: separators}}
	rule := "|"
	for _, f := range schema.Fields() {
		e.cell(e.writer.text([]byte(f.Name)))
		if isNumber(f.Type) {
			rule += "--:|"
		} else {
			rule += "---|"
		}
	}
	e.lines = append(e.lines, "|\n"+rule+"\n"...)
	return e, nil
}

// cell appends a cell: within its column, and with no sign that is read as Markdown.
func (e *MarkdownEncoder) cell(text []byte) {
	out := append(e.lines, "| "...)
	for _, c := range text {
		switch c {
		case '|', '\\', '`', '*':
			out = append(out, '\\', c)
		case '<':
			out = append(out, "&lt;"...)
		default:
			out = append(out, c)
		}
	}
	e.lines = append(out, ' ')
}

// Write appends a row of the table for each row of the batch.
func (e *MarkdownEncoder) Write(batch arrow.RecordBatch) error {
	columns := newColumns(batch)
	for row := range int(batch.NumRows()) {
		for i := range columns {
			cell, valid := e.writer.cell(&columns[i], row)
			if !valid {
				cell = nil
			}
			e.cell(cell)
		}
		var err error
		if e.lines, err = flushFull(e.to, append(e.lines, "|\n"...)); err != nil {
			return err
		}
	}
	return nil
}

// Close writes the rows that are still held.
func (e *MarkdownEncoder) Close() error {
	_, err := e.to.Write(e.lines)
	return err
}
