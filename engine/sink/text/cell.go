package text

import (
	"bytes"
	"fmt"
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
		r.cells[i] = string(cell)
		if !valid {
			if r.nulls == nil {
				r.nulls = make([]bool, len(columns))
			}
			r.nulls[i] = true
		}
	}
	return r
}

// cell returns the cell of a value, valid until the next call. It returns false for a NULL, which is
// that word.
func (w *cellWriter) cell(c *column, row int) (text []byte, valid bool) {
	if c.null != nil && c.null(row) {
		return []byte("NULL"), false
	}
	w.buf = c.appendSpaced(w.buf[:0], row)
	if w.separators && (c.form == formNumber || c.form == formFloat) {
		w.buf = separateThousands(w.buf)
	}
	return w.text(w.buf), true
}

// text returns a text without the characters that a terminal takes for commands, cut to the width
// of a cell. X4.
func (w *cellWriter) text(text []byte) []byte {
	text = printable(text)
	if w.width == 0 || len(text) <= w.width { // no character has fewer bytes than terminal columns
		return text
	}
	return []byte(widths.Truncate(string(text), w.width, "…"))
}

// printable returns the text itself where it is printable ASCII, as nearly all texts are, else a copy
// with escapes for all characters that do not print.
func printable(text []byte) []byte {
	plain := 0
	for plain < len(text) && text[plain] >= ' ' && text[plain] < 0x7f {
		plain++
	}
	if plain == len(text) || plain >= cellBytesMax {
		return text[:min(plain, cellBytesMax)]
	}
	out := append(make([]byte, 0, min(len(text), cellBytesMax)+len(`\u0000`)), text[:plain]...)
	for text = text[plain:]; len(text) > 0 && len(out) < cellBytesMax; {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02X`, text[0])
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case !unicode.IsPrint(r):
			out = fmt.Appendf(out, `\u%04X`, r)
		default:
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
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
