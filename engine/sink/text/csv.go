package text

import (
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// CSVEncoder writes CSV as RFC 4180 has it, but for \n at the end of a line. A NULL is an empty
// field and an empty string is "", so that NULL and the string stay apart; a file of one column has
// an empty line for a NULL.
type CSVEncoder struct {
	to        io.Writer
	delimiter byte
	special   [256]bool // bytes that a field cannot have outside quotes
	text      []byte
}

// NewCSV starts a file with fields between delimiters, and with a line of the columns' names if
// header is true.
func NewCSV(to io.Writer, schema *arrow.Schema, delimiter byte, header bool) (*CSVEncoder, error) {
	if err := checkText(schema); err != nil {
		return nil, err
	}
	e := &CSVEncoder{to: to, delimiter: delimiter}
	for _, c := range []byte{delimiter, '"', '\r', '\n'} {
		e.special[c] = true
	}
	if header {
		for i, field := range schema.Fields() {
			if i > 0 {
				e.text = append(e.text, e.delimiter)
			}
			start := len(e.text)
			e.text = e.quote(append(e.text, field.Name...), start)
		}
		e.text = append(e.text, '\n')
	}
	return e, nil
}

// Write appends a line for each row of the batch.
func (e *CSVEncoder) Write(batch arrow.RecordBatch) error {
	columns, out := newColumns(batch), e.text
	var err error
	for row := range int(batch.NumRows()) {
		for i := range columns {
			if i > 0 {
				out = append(out, e.delimiter)
			}
			c := &columns[i]
			if c.null != nil && c.null(row) {
				continue
			}
			if c.bytes != nil && len(c.bytes(row)) > pieceBytes {
				if out, err = e.long(out, c, row); err != nil {
					return err
				}
				continue
			}
			start := len(out)
			out = c.append(out, row)
			if c.form >= formString {
				out = e.quote(out, start)
			}
			if out, err = flushFull(e.to, out); err != nil {
				return err
			}
		}
		out = append(out, '\n')
		if out, err = flushFull(e.to, out); err != nil {
			return err
		}
	}
	e.text = out
	return nil
}

// long writes a long string or blob in pieces.
func (e *CSVEncoder) long(out []byte, c *column, row int) ([]byte, error) {
	quoted := slices.ContainsFunc(c.bytes(row), func(b byte) bool {
		return e.special[b] && (c.form != formBlob || b >= ' ') // a blob's other bytes are written in digits
	})
	if quoted {
		out = append(out, '"')
	}
	for piece := range slices.Chunk(c.bytes(row), pieceBytes) {
		switch {
		case c.form == formBlob && !quoted:
			out = appendBlob(out, piece)
		case c.form == formBlob:
			out = appendDoubled(out, appendBlob(nil, piece))
		case quoted:
			out = appendDoubled(out, piece)
		default:
			out = append(out, piece...)
		}
		var err error
		if out, err = flushFull(e.to, out); err != nil {
			return nil, err
		}
	}
	if quoted {
		out = append(out, '"')
	}
	return out, nil
}

// appendDoubled appends text with its quotes doubled.
func appendDoubled(dst, text []byte) []byte {
	for _, c := range text {
		dst = append(dst, c)
		if c == '"' {
			dst = append(dst, '"')
		}
	}
	return dst
}

// Close writes the text that is left: for no rows at all, the header.
func (e *CSVEncoder) Close() error {
	_, err := e.to.Write(e.text)
	return err
}

// quote puts the field that out has from start on in quotes, if it needs them.
func (e *CSVEncoder) quote(out []byte, start int) []byte {
	quotes, plain := 0, len(out) > start
	for _, c := range out[start:] {
		if e.special[c] {
			plain = false
			if c == '"' {
				quotes++
			}
		}
	}
	if plain {
		return out
	}
	from := len(out) - 1
	for range quotes + 2 {
		out = append(out, '"')
	}
	// From the back, so that nothing is overwritten before it is read.
	to := len(out) - 2
	for ; from >= start; from-- {
		out[to] = out[from]
		to--
		if out[from] == '"' {
			out[to] = '"'
			to--
		}
	}
	out[start] = '"'
	return out
}
