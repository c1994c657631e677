package text

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cellWriter writes values as the cells of formats that people read.
type cellWriter struct {
	width      int  // terminal columns after which a cell is cut; 0 cuts none
	separators bool // separates thousands
	buf        []byte
}

// row returns the cells of a row.
func (w *cellWriter) row(columns []column, row int) tableRow {
	r := tableRow{cells: make([]string, len(columns))}
	for i := range columns {
		cell, valid := w.cell(&columns[i], row)
		r.cells[i] = cell
		if !valid {
			if r.nulls == nil {
				r.nulls = make([]bool, len(columns))
			}
			r.nulls[i] = true
		}
	}
	return r
}

// cell returns the cell of a value. It returns false for a NULL, which is that word.
func (w *cellWriter) cell(c *column, row int) (text string, valid bool) {
	if c.null != nil && c.null(row) {
		return "NULL", false
	}
	w.buf = c.appendSpaced(w.buf[:0], row)
	if w.separators && (c.form == formNumber || c.form == formFloat) {
		w.buf = separateThousands(w.buf)
	}
	return w.text(w.buf), true
}

// text returns a text without the characters that a terminal takes for commands, cut to the width
// of a cell. X4.
func (w *cellWriter) text(text []byte) string {
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
	if w.width == 0 {
		return b.String()
	}
	return widths.Truncate(b.String(), w.width, "…")
}

// cellBytesMax bounds the text that is looked at for one cell, far above what fits a terminal.
const cellBytesMax = 1 << 16

// separateThousands puts commas into the integer part of a number. Numbers with an exponent, NaN and
// infinities stay as they are.
func separateThousands(number []byte) []byte {
	start := 0
	if len(number) > 0 && number[0] == '-' {
		start = 1
	}
	end := start
	for end < len(number) && number[end] >= '0' && number[end] <= '9' {
		end++
	}
	if end-start <= 3 || bytes.IndexByte(number, 'e') >= 0 {
		return number
	}
	var out []byte
	for i, c := range number {
		if i > start && i < end && (end-i)%3 == 0 {
			out = append(out, ',')
		}
		out = append(out, c)
	}
	return out
}
