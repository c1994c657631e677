package json

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
)

// sampleBytesMax bounds the text in which rows of the sample are looked for. A lower RowLimit does, too:
// more text is read for a row that is not whole alone.
const sampleBytesMax = 16 << 20

// sample is what the first rows of a text say of its columns.
type sample struct {
	scanner
	rowsMax  int // that are looked at
	bytesMax int // of the text in which rows are looked for
	memory   *reserve.Allocator
	held     int64 // bytes of memory, for the columns

	names    []string // of the columns, as they come first
	keys     []string // of the columns, with quotes and colon, as they are written first
	columns  map[string]int32
	guesses  []columnGuess
	repeated []bool // by column: its strings repeat; nil until settle
	rows     int
	many     bool // a row goes on behind its line, or shares the line with another
}

// newSample returns a sample of the file without rows.
func (c *File) newSample(mem *reserve.Allocator) *sample {
	rowsMax := c.opt.SampleRows
	if rowsMax == textfile.SampleAll {
		rowsMax = math.MaxInt
	}
	return &sample{
		rowsMax: rowsMax, bytesMax: min(sampleBytesMax, c.RowLimit), memory: mem, columns: make(map[string]int32),
	}
}

// drop gives back the memory of a sample that is not needed any more.
func (m *sample) drop() {
	m.memory.Drop(m.held)
	m.held = 0
}

// take looks at the rows behind buf[p]. It returns false where more text is needed to say all that
// the sample is to say.
func (m *sample) take(buf []byte, p int, array, whole bool) (enough bool, err error) {
	m.open(buf)
	r := rows{array: array, limit: math.MaxInt}
	for m.rows < m.rowsMax {
		q, err := r.next(&m.scanner, p)
		switch {
		case err != nil:
			return false, err
		case q == failed:
			return m.ends(&r, p, whole)
		}
		m.many = m.many || r.behind && bytes.IndexByte(buf[p:q], '\n') < 0
		if p = m.object(q); p == failed && !m.short() {
			return false, m.failure()
		}
		if p == failed {
			return m.ends(&r, q, whole)
		}
		m.many = m.many || bytes.IndexByte(buf[q:p], '\n') >= 0
		m.rows++
		r.behind = true
	}
	next := bytes.TrimLeft(m.text[p:m.size], " \t\r,")
	if len(next) == 0 && !whole && m.size < m.bytesMax {
		return false, nil // the line of the last row may go on
	}
	m.many = m.many || len(next) > 0 && next[0] == '{'
	return true, nil
}

// ends says whether a sample is enough that ends at p, because the text that has been read ends.
func (m *sample) ends(r *rows, p int, whole bool) (enough bool, err error) {
	if whole {
		return true, r.end(&m.scanner, p, true)
	}
	return m.rows > 0 && m.size >= m.bytesMax, nil
}

// object looks at the object at p.
func (m *sample) object(p int) int {
	if p = m.space(p + 1); p == failed {
		return failed
	}
	for m.text[p] != '}' {
		var column int32
		if p, column = m.key(p); p == failed {
			return failed
		}
		end, k := m.value(p)
		if end == failed {
			return failed
		}
		if k != kindNull {
			value := m.text[p:end]
			if k == kindString {
				value = value[1 : len(value)-1]
			}
			m.guesses[column].add(k, value, m.rowsMax)
		}
		p = end
		if p = m.member(p); p == failed {
			return failed
		}
	}
	return p + 1
}

// key reads the key at p, and returns where its value is.
func (m *sample) key(p int) (value int, column int32) {
	if m.text[p] != '"' {
		return m.fail(p, errKey), 0
	}
	end := m.str(p + 1)
	if end == failed {
		return failed, 0
	}
	key := m.text[p+1 : end]
	name := nameOf(key, m.escaped)
	if value = m.colon(end + 1); value == failed {
		return failed, 0
	}
	column, known := m.columns[name]
	if !known && !utf8.ValidString(name) {
		return m.fail(p, fmt.Errorf("a key that is not valid UTF-8: %s", decode.QuoteInvalid([]byte(name)))), 0
	}
	if !known {
		m.makeRoom()
		column = int32(len(m.names))
		m.columns[name] = column
		m.names = append(m.names, name)
		m.keys = append(m.keys, `"`+string(key)+`":`)
		m.guesses = append(m.guesses, columnGuess{})
	}
	return value, column
}

// makeRoom holds the memory of another column. It doubles what is held, as the columns' map does, so that
// a refusal names a limit that grows as fast.
func (m *sample) makeRoom() {
	if need := int64(len(m.names)+1) * textfile.KnownColumnBytes; need > m.held {
		m.memory.Hold(need)
		m.held += need
	}
}

// nameOf returns the name that a key stands for.
func nameOf(key []byte, escaped bool) string {
	if escaped {
		return string(unescape(nil, key))
	}
	return string(key)
}

// repeats says of each column whether its strings repeat.
func (m *sample) repeats() []bool {
	repeats := make([]bool, len(m.guesses))
	for i := range m.guesses {
		g := &m.guesses[i]
		repeats[i] = g.values&hasString != 0 && !g.varied && g.strings.Repeat(m.rows)
	}
	return repeats
}

// settle gives up the text and the strings: what is left takes little memory.
func (m *sample) settle() {
	m.repeated, m.scanner = m.repeats(), scanner{}
	for i := range m.guesses {
		m.guesses[i].strings = fields.Distinct{}
	}
}

// vary notes that the strings of a column do not repeat.
func (m *sample) vary(name string) {
	if column, known := m.columns[name]; known {
		m.guesses[column].varied = true
	}
}

var errUTF16 = errors.New("UTF-16 text; convert it to UTF-8")

// start returns where the rows of a text begin, and whether they are elements of an array; or false
// where the text is blank.
func start(buf []byte) (at int, array, ok bool, err error) {
	switch {
	case bytes.HasPrefix(buf, []byte{0xEF, 0xBB, 0xBF}):
		at = 3
	case bytes.HasPrefix(buf, []byte{0xFF, 0xFE}), bytes.HasPrefix(buf, []byte{0xFE, 0xFF}):
		return 0, false, false, errUTF16
	}
	at += len(buf[at:]) - len(bytes.TrimLeft(buf[at:], " \t\r\n"))
	switch {
	case at == len(buf):
		return at, false, false, nil
	case buf[at] == '[':
		return at + 1, true, true, nil
	case buf[at] == '{':
		return at, false, true, nil
	}
	return 0, false, false, &textfile.Error{At: at, Reason: errRow}
}
