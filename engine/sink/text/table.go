package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/dustin/go-humanize"
	"github.com/mattn/go-runewidth"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
)

// TableEncoder keeps the first rows and draws them once the widths of their columns are known: at
// the end, or when the rows take much memory. Later rows are drawn as they come; a wider cell makes
// its column wider from there on, unless the table has to fit a terminal. jedib0t/go-pretty v6.8
// holds all rows until the end, where X2 bounds them, and makes the command 199 kB larger.
type TableEncoder struct {
	to     io.Writer
	opt    TableOptions
	head   [2]tableRow     // names and types
	right  []bool          // by column: its cells are numbers, at the right
	waits  []tableRow      // rows that wait to be drawn
	last   []tableRow      // the last rows, opt.Tail at most, of those behind the first rows
	bytes  int             // memory of waits, about
	width  []int           // terminal columns of each column; nil before the head is drawn
	shown  []int           // columns that are drawn, in order; elided stands for columns left out
	drawn  int64           // rows that were drawn
	line   strings.Builder // drawn lines that are not yet written
	rows   int64           // rows that were given
	writer cellWriter
}

// tableRow has the cells of a row, by column.
type tableRow struct {
	cells []string
	nulls []bool // the cell is a NULL, not the word; nil of rows without NULLs
}

// widths counts terminal columns without asking the environment: the same rows give the same table.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// TableOptions say how a table looks. RowsShown and CellWidth are set.
type TableOptions struct {
	RowsShown  int  // rows that are drawn at most; -1 draws all
	Tail       int  // how many of RowsShown are the last rows, below a row of dots
	CellWidth  int  // terminal columns that a cell takes before it is cut
	Width      int  // terminal columns that the table has to fit; 0 is any width
	Color      bool // dims types and NULLs
	Separators bool // separates thousands: 1,234.5
}

// NewTable starts a table.
func NewTable(to io.Writer, schema *arrow.Schema, opt TableOptions) (*TableEncoder, error) {
	if err := checkText(schema); err != nil {
		return nil, err
	}
	e := &TableEncoder{to: to, opt: opt, writer: cellWriter{width: opt.CellWidth, separators: opt.Separators}}
	for _, field := range schema.Fields() {
		e.head[0].cells = append(e.head[0].cells, string(e.writer.text([]byte(field.Name))))
		e.head[1].cells = append(e.head[1].cells, string(e.writer.text([]byte(query.TypeName(field.Type)))))
		e.right = append(e.right, isNumber(field.Type))
	}
	e.head[1].nulls = slices.Repeat([]bool{true}, len(e.right)) // types are dimmed as NULLs are
	return e, nil
}

// Write counts the rows of the batch, and takes the first and the last ones that are to be shown.
func (e *TableEncoder) Write(batch arrow.RecordBatch) error {
	e.rows += batch.NumRows()
	rows := int(batch.NumRows())
	first := rows // of these are among the first rows
	if e.opt.RowsShown >= 0 {
		first = max(0, min(rows, e.opt.RowsShown-e.opt.Tail-int(e.drawn)-len(e.waits)))
	}
	columns := newColumns(batch)
	for row := range first {
		r := e.writer.row(columns, row)
		for _, cell := range r.cells {
			e.bytes += len(cell) + cellBytes
		}
		e.waits = append(e.waits, r)
		if e.bytes >= tableBytesMax {
			if err := e.draw(); err != nil {
				return err
			}
		}
	}
	for row := max(first, rows-e.opt.Tail); row < rows && e.opt.Tail > 0; row++ {
		e.last = append(e.last, e.writer.row(columns, row))
	}
	if extra := len(e.last) - e.opt.Tail; extra > 0 {
		e.last = slices.Delete(e.last, 0, extra)
	}
	return nil
}

const (
	// tableBytesMax is what rows that wait to be drawn may take: some ten thousand rows of a few
	// columns.
	tableBytesMax = 4 << 20

	// cellBytes is what a cell takes besides its text.
	cellBytes = 17
)

// Close draws the rest of the table:
//
//	┌─────────┬────────┐
//	│ name    │      n │
//	│ VARCHAR │ BIGINT │
//	├─────────┼────────┤
//	│ a       │     12 │
//	└─────────┴────────┘
//	… 3,455 more rows
//	3,456 rows
func (e *TableEncoder) Close() error {
	left := e.rows - e.drawn - int64(len(e.waits)) - int64(len(e.last)) // out of the table
	if left > 0 && len(e.last) > 0 {
		dots := tableRow{cells: slices.Repeat([]string{"·"}, len(e.right))}
		e.waits = append(e.waits, dots)
		e.drawn--
	}
	e.waits = append(e.waits, e.last...)
	if err := e.draw(); err != nil {
		return err
	}
	e.rule("└┴┘")
	e.footer(left)
	return e.flush()
}

// footer tells how many rows there are, and what the table leaves out.
func (e *TableEncoder) footer(left int64) {
	b := &e.line
	if left > 0 && len(e.last) == 0 {
		fmt.Fprintf(b, "… %s\n", digits.Counted(left, "more row"))
	}
	b.WriteString(digits.Counted(e.rows, "row"))
	if left > 0 && len(e.last) > 0 {
		fmt.Fprintf(b, " (%s shown)", humanize.Comma(e.drawn))
	}
	if shown := len(e.shown) - 1; slices.Contains(e.shown, elided) {
		fmt.Fprintf(b, ", %s (%d shown)", digits.Counted(int64(len(e.right)), "column"), shown)
	}
	b.WriteByte('\n')
}

// draw writes the head, unless that is done, and the rows that wait.
func (e *TableEncoder) draw() error {
	first := e.width == nil
	e.widen()
	if first {
		e.rule("┌┬┐")
		e.row(e.head[0])
		e.row(e.head[1])
		e.rule("├┼┤")
	}
	for _, r := range e.waits {
		e.row(r)
		if e.line.Len() >= flushBytes {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	e.drawn += int64(len(e.waits))
	clear(e.waits)
	e.waits, e.bytes = e.waits[:0], 0
	return e.flush()
}

// flush writes the drawn lines.
func (e *TableEncoder) flush() error {
	_, err := io.WriteString(e.to, e.line.String())
	e.line.Reset()
	return err
}

// widen makes the columns as wide as the cells that wait. A table that has to fit a terminal keeps
// the widths of its first rows, but for numbers, which are not cut.
func (e *TableEncoder) widen() {
	first := e.width == nil
	if first {
		e.width = make([]int, len(e.right))
	}
	for _, r := range e.waits {
		for i, cell := range r.cells {
			if first || e.opt.Width == 0 || e.right[i] {
				e.width[i] = max(e.width[i], widths.StringWidth(cell))
			}
		}
	}
	if !first {
		return
	}
	heads := make([]int, len(e.right))
	for _, head := range e.head {
		for i, cell := range head.cells {
			heads[i] = max(heads[i], widths.StringWidth(cell))
		}
	}
	e.shown, e.width = fit(e.opt.Width, heads, e.width, e.right)
}

// rule draws a line of the box from its left, middle and right corners.
func (e *TableEncoder) rule(corners string) {
	b, c := &e.line, []rune(corners)
	b.WriteRune(c[0])
	for i, column := range e.shown {
		if i > 0 {
			b.WriteRune(c[1])
		}
		b.WriteString(strings.Repeat("─", e.widthOf(column)+2))
	}
	b.WriteRune(c[2])
	b.WriteByte('\n')
}

// widthOf returns the terminal columns of a column that is drawn.
func (e *TableEncoder) widthOf(column int) int {
	if column == elided {
		return 1
	}
	return e.width[column]
}

// row draws the cells of a row, some of them dimmed.
func (e *TableEncoder) row(r tableRow) {
	b := &e.line
	for _, column := range e.shown {
		cell, dim, right := "…", false, false
		if column != elided {
			cell, dim, right = r.cells[column], r.nulls != nil && r.nulls[column], e.right[column]
			if e.opt.Width > 0 {
				cell = widths.Truncate(cell, e.width[column], "…")
			}
		}
		pad := strings.Repeat(" ", e.widthOf(column)-widths.StringWidth(cell))
		if e.opt.Color && dim {
			cell = "\x1b[2m" + cell + "\x1b[0m"
		}
		if right {
			cell = pad + cell
		} else {
			cell += pad
		}
		b.WriteString("│ " + cell + " ")
	}
	b.WriteString("│\n")
}

func isNumber(t arrow.DataType) bool {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return isNumber(d.ValueType)
	}
	return arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) || arrow.IsDecimal(t.ID())
}
