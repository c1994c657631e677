package text

import (
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// MarkdownEncoder writes a table of Markdown, as GitHub's dialect has it: all rows, numbers at the
// right.
type MarkdownEncoder struct {
	to     io.Writer
	line   strings.Builder
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
	e.line.WriteString("|\n" + rule + "\n")
	return e, nil
}

// markdownEscapes keeps a cell within its column, and its signs from being read as Markdown.
var markdownEscapes = strings.NewReplacer(`|`, `\|`, `\`, `\\`, "`", "\\`", `*`, `\*`, `<`, `&lt;`)

func (e *MarkdownEncoder) cell(text string) {
	e.line.WriteString("| " + markdownEscapes.Replace(text) + " ")
}

func (e *MarkdownEncoder) Write(batch arrow.RecordBatch) error {
	columns := newColumns(batch)
	for row := range int(batch.NumRows()) {
		for i := range columns {
			cell, valid := e.writer.cell(&columns[i], row)
			if !valid {
				cell = ""
			}
			e.cell(cell)
		}
		e.line.WriteString("|\n")
		if e.line.Len() >= flushBytes {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *MarkdownEncoder) flush() error {
	_, err := io.WriteString(e.to, e.line.String())
	e.line.Reset()
	return err
}

// Close writes the rows that are still held.
func (e *MarkdownEncoder) Close() error { return e.flush() }
