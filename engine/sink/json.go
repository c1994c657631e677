package sink

import (
	"encoding/base64"
	"io"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// jsonEncoder writes one object per line.
type jsonEncoder struct {
	to   io.Writer
	keys [][]byte // `{"a":` and `,"b":`
	line []byte
}

// flushBytes is how much text is gathered before it is handed on.
const flushBytes = 1 << 16

func newJSON(to io.Writer, schema *arrow.Schema) (encoder, error) {
	if err := checkText(schema); err != nil {
		return nil, err
	}
	e := &jsonEncoder{to: to}
	for i, field := range schema.Fields() {
		key := []byte{','}
		if i == 0 {
			key[0] = '{'
		}
		e.keys = append(e.keys, append(appendJSONString(key, []byte(field.Name)), ':'))
	}
	return e, nil
}

func (e *jsonEncoder) write(batch arrow.RecordBatch) error {
	columns, err := newColumns(batch)
	if err != nil {
		return err
	}
	out := e.line[:0]
	for row := range int(batch.NumRows()) {
		for i := range columns {
			out = append(out, e.keys[i]...)
			out = columns[i].appendJSON(out, row)
		}
		out = append(out, '}', '\n')
		if len(out) >= flushBytes {
			if _, err := e.to.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	e.line = out
	_, err = e.to.Write(out)
	return err
}

func (e *jsonEncoder) close() error { return nil }

// appendJSON appends the value of a row, NULL included.
func (c *column) appendJSON(dst []byte, row int) []byte {
	if c.null != nil && c.null(row) {
		return append(dst, "null"...)
	}
	switch c.form {
	case formFloat:
		start := len(dst)
		dst = c.append(dst, row)
		if last := dst[len(dst)-1]; last < '0' || last > '9' { // NaN and infinities are words
			return quoteTail(dst, start)
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

// quoteTail puts what dst has from start on in quotes.
func quoteTail(dst []byte, start int) []byte {
	dst = append(dst, '"', '"')
	copy(dst[start+1:len(dst)-1], dst[start:])
	dst[start] = '"'
	return dst
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
func appendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
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
	return append(dst, '"')
}
