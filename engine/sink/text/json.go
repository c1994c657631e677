package text

import (
	"encoding/base64"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// JSONEncoder writes one object per line.
type JSONEncoder struct {
	to   io.Writer
	keys [][]byte // `{"a":` and `,"b":`
	line []byte
}

const (
	// flushBytes is how much text is gathered before it is handed on.
	flushBytes = 1 << 16

	// pieceBytes is how much of a long value becomes text at a time. Base 64 makes it of whole
	// groups of 3 bytes.
	pieceBytes = 3 << 14
)

// flushFull writes text that is long, and returns the text that is left to write.
func flushFull(to io.Writer, text []byte) ([]byte, error) {
	if len(text) < flushBytes {
		return text, nil
	}
	_, err := to.Write(text)
	return text[:0], err
}

// NewJSON starts a file of objects whose keys are the columns' names.
func NewJSON(to io.Writer, schema *arrow.Schema) (*JSONEncoder, error) {
	if err := checkText(schema); err != nil {
		return nil, err
	}
	e := &JSONEncoder{to: to}
	for i, field := range schema.Fields() {
		key := []byte{','}
		if i == 0 {
			key[0] = '{'
		}
		e.keys = append(e.keys, append(appendJSONString(key, []byte(field.Name)), ':'))
	}
	return e, nil
}

// Write appends a line with an object for each row of the batch.
func (e *JSONEncoder) Write(batch arrow.RecordBatch) error {
	columns, out := newColumns(batch), e.line[:0]
	var err error
	for row := range int(batch.NumRows()) {
		for i := range columns {
			out = append(out, e.keys[i]...)
			c := &columns[i]
			if c.bytes != nil && (c.null == nil || !c.null(row)) && len(c.bytes(row)) > pieceBytes {
				out, err = e.long(out, c, row)
			} else {
				out, err = flushFull(e.to, c.appendJSON(out, row))
			}
			if err != nil {
				return err
			}
		}
		out = append(out, '}', '\n')
		if out, err = flushFull(e.to, out); err != nil {
			return err
		}
	}
	e.line = out
	_, err = e.to.Write(out)
	return err
}

// long writes a long string or blob in pieces.
func (e *JSONEncoder) long(out []byte, c *column, row int) ([]byte, error) {
	out = append(out, '"')
	for rest := c.bytes(row); len(rest) > 0; {
		piece := rest[:min(pieceBytes, len(rest))]
		if c.form == formBlob {
			out = base64.StdEncoding.AppendEncode(out, piece)
		} else {
			piece = wholeRunes(piece, rest)
			out = appendJSONText(out, piece)
		}
		rest = rest[len(piece):]
		var err error
		if out, err = flushFull(e.to, out); err != nil {
			return nil, err
		}
	}
	return append(out, '"'), nil
}

// wholeRunes returns the beginning of a text, without a character at its end whose bytes go on
// behind it.
func wholeRunes(begin, text []byte) []byte {
	if len(begin) == len(text) {
		return begin
	}
	for cut := len(begin) - 1; cut > len(begin)-utf8.UTFMax; cut-- {
		if utf8.RuneStart(begin[cut]) {
			if _, size := utf8.DecodeRune(text[cut:]); cut+size > len(begin) {
				return begin[:cut]
			}
			return begin
		}
	}
	return begin
}

// Close does nothing: Write has passed on every line.
func (e *JSONEncoder) Close() error { return nil }

// appendJSON appends the value of a row, NULL included.
func (c *column) appendJSON(dst []byte, row int) []byte {
	if c.null != nil && c.null(row) {
		return append(dst, "null"...)
	}
	switch c.form {
	case formNested:
		return c.json(dst, row)
	case formFloat:
		start := len(dst)
		dst = c.append(dst, row)
		if last := dst[len(dst)-1]; last < '0' || last > '9' { // NaN and infinities are words
			return append(slices.Insert(dst, start, '"'), '"')
		}
		return dst
	case formTime:
		dst = append(dst, '"')
		return append(c.append(dst, row), '"')
	case formString:
		start := len(dst)
		dst = append(dst, '"')
		dst = c.append(dst, row)
		if jsonSafe(dst[start+1:]) {
			return append(dst, '"')
		}
		return appendJSONString(dst[:start], append([]byte(nil), dst[start+1:]...))
	case formBlob:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, c.bytes(row))
		return append(dst, '"')
	}
	return c.append(dst, row)
}

// jsonSafe says that a string needs no escapes: no controls, quotes, backslashes, and ASCII only,
// as that is quick to see.
func jsonSafe(s []byte) bool {
	for _, c := range s {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}

// appendJSONString appends s in quotes. Bytes that are not UTF-8 become U+FFFD.
func appendJSONString(dst, s []byte) []byte { return append(appendJSONText(append(dst, '"'), s), '"') }

// appendJSONText appends s as it stands between the quotes of JSON.
func appendJSONText(dst, s []byte) []byte {
	for len(s) > 0 {
		c := s[0]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(s)
			dst = utf8.AppendRune(dst, r)
			s = s[size:]
			continue
		}
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			if c < ' ' || c == 0x7f {
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			} else {
				dst = append(dst, c)
			}
		}
		s = s[1:]
	}
	return dst
}
