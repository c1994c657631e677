package text

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/mattn/go-runewidth"

	"github.com/mpga/mpga/internal/digits"
)

// TableEncoder keeps the first rows and draws them once the widths of their columns are known: at
// the end, or when the rows take much memory. Later rows are drawn as they come; a wider cell makes
// its column wider from there on. jedib0t/go-pretty v6.8 holds all rows until the end, where X2
// bounds them, and makes the command 199 kB larger.
type TableEncoder struct {
	to        io.Writer
	head      [2][]string     // names and types, by column
	right     []bool          // by column: its cells are numbers, at the right
	cells     [][]string      // cells of the rows that wait to be drawn, by row and column
	nulls     [][]bool        // for each of cells: the cell is a NULL, not the word
	bytes     int             // memory of cells, about
	width     []int           // terminal columns of each column; nil before the head is drawn
	drawn     int64           // rows that were drawn
	line      strings.Builder // drawn lines that are not yet written
	rows      int64           // rows that were given
	rowsShown int             // rows that are drawn at most; -1 draws all
	cellWidth int             // terminal columns of a cell at most
	color     bool            // dims types and NULLs
}

// widths counts terminal columns without asking the environment: the same rows give the same table.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// TableOptions say how a table looks. Every field but Color is set.
type TableOptions struct {
	RowsShown int  // rows that are drawn at most; -1 draws all
	CellWidth int  // terminal columns that a cell takes before it is cut
	Color     bool // dims types and NULLs
}

// NewTable starts a table.
func NewTable(to io.Writer, schema *arrow.Schema, opt TableOptions) (*TableEncoder, error) {
	if err := checkText(schema); err != nil {
		return nil, err
	}
	e := &TableEncoder{to: to, rowsShown: opt.RowsShown, cellWidth: opt.CellWidth, color: opt.Color}
	for _, field := range schema.Fields() {
		e.head[0] = append(e.head[0], e.cell([]byte(field.Name)))
		e.head[1] = append(e.head[1], e.cell([]byte(typeName(field.Type))))
		e.right = append(e.right, isNumber(field.Type))
	}
	return e, nil
}

func (e *TableEncoder) Write(batch arrow.RecordBatch) error {
	e.rows += batch.NumRows()
	room := int(batch.NumRows())
	if e.rowsShown >= 0 {
		room = min(room, e.rowsShown-int(e.drawn)-len(e.cells))
	}
	if room <= 0 {
		return nil
	}
	columns := newColumns(batch)
	var text []byte
	for row := range room {
		cells, nulls := make([]string, len(columns)), make([]bool, len(columns))
		for i := range columns {
			c := &columns[i]
			if c.null != nil && c.null(row) {
				cells[i], nulls[i] = "NULL", true
				continue
			}
			text = c.appendSpaced(text[:0], row)
			cells[i] = e.cell(text)
			e.bytes += len(cells[i]) + cellBytes
		}
		e.cells, e.nulls = append(e.cells, cells), append(e.nulls, nulls)
		if e.bytes >= tableBytesMax {
			if err := e.draw(); err != nil {
				return err
			}
		}
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

// cell returns a text without the characters that a terminal takes for commands, cut to the width
// of a cell. X4.
func (e *TableEncoder) cell(text []byte) string {
	var b strings.Builder
	for len(text) > 0 && b.Len() < cellBytesMax {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02X`, text[0])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
		text = text[size:]
	}
	return widths.Truncate(b.String(), e.cellWidth, "…")
}

// cellBytesMax bounds the text that is looked at for one cell, far above what fits a terminal.
const cellBytesMax = 1 << 16

// Close draws the rest of the table:
//
//	┌──────┬───────┐
//	│ name │     n │
//	│ utf8 │ int64 │
//	├──────┼───────┤
//	│ a    │    12 │
//	└──────┴───────┘
//	… 3,455 more rows
//	3,456 rows
func (e *TableEncoder) Close() error {
	if err := e.draw(); err != nil {
		return err
	}
	b := &e.line
	e.rule("└┴┘")
	if more := e.rows - e.drawn; more > 0 {
		fmt.Fprintf(b, "… %s\n", digits.Counted(more, "more row"))
	}
	fmt.Fprintf(b, "%s\n", digits.Counted(e.rows, "row"))
	return e.flush()
}

// draw writes the head, unless that is done, and the rows that wait.
func (e *TableEncoder) draw() error {
	first := e.width == nil
	e.widen()
	if first {
		e.rule("┌┬┐")
		for i, head := range e.head {
			e.row(head, func(int) bool { return i == 1 })
		}
		e.rule("├┼┤")
	}
	for i, cells := range e.cells {
		e.row(cells, func(column int) bool { return e.nulls[i][column] })
		if e.line.Len() >= flushBytes {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	e.drawn += int64(len(e.cells))
	clear(e.cells)
	e.cells, e.nulls, e.bytes = e.cells[:0], e.nulls[:0], 0
	return e.flush()
}

// flush writes the drawn lines.
func (e *TableEncoder) flush() error {
	_, err := io.WriteString(e.to, e.line.String())
	e.line.Reset()
	return err
}

// widen makes the columns as wide as the cells that wait.
func (e *TableEncoder) widen() {
	rows := [][][]string{e.cells}
	if e.width == nil {
		e.width = make([]int, len(e.right))
		rows = append(rows, e.head[:])
	}
	for _, list := range rows {
		for _, cells := range list {
			for i, cell := range cells {
				e.width[i] = max(e.width[i], widths.StringWidth(cell))
			}
		}
	}
}

// rule draws a line of the box from its left, middle and right corners.
func (e *TableEncoder) rule(corners string) {
	b, c := &e.line, []rune(corners)
	b.WriteRune(c[0])
	for i, w := range e.width {
		if i > 0 {
			b.WriteRune(c[1])
		}
		b.WriteString(strings.Repeat("─", w+2))
	}
	b.WriteRune(c[2])
	b.WriteByte('\n')
}

// row draws the cells of a row, some of them dimmed.
func (e *TableEncoder) row(cells []string, dim func(column int) bool) {
	b := &e.line
	for i, cell := range cells {
		pad := strings.Repeat(" ", e.width[i]-widths.StringWidth(cell))
		if e.color && dim(i) {
			cell = "\x1b[2m" + cell + "\x1b[0m"
		}
		if e.right[i] {
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

// typeName shortens what Arrow's names spell out.
func typeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return typeName(t.ValueType)
	case arrow.DecimalType:
		return fmt.Sprintf("decimal(%d,%d)", t.GetPrecision(), t.GetScale())
	case *arrow.MapType:
		return "map"
	case *arrow.StructType:
		return "struct"
	case arrow.ListLikeType:
		return typeName(t.Elem()) + "[]"
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return "timestamp[" + t.Unit.String() + ", " + t.TimeZone + "]"
		}
	}
	return t.String()
}
