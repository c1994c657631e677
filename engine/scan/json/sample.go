package json

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/mpga/mpga/engine/scan/internal/decode"
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

	columns *members // the keys of rows
	known   int      // members of all objects
	rows    int
	many    bool // a row goes on behind its line, or shares the line with another
}

// newSample returns a sample of the file without rows.
func (c *File) newSample(mem *reserve.Allocator) *sample {
	rowsMax := c.opt.SampleRows
	if rowsMax == textfile.SampleAll {
		rowsMax = math.MaxInt
	}
	return &sample{
		rowsMax: rowsMax, bytesMax: min(sampleBytesMax, c.RowLimit), memory: mem, columns: newMembers(),
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
		if p = m.object(q, m.columns); p == failed && !m.short() {
			return false, m.failureIn(q)
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

// object looks at the object at p, whose keys are members.
func (m *sample) object(p int, of *members) int {
	return m.objectOf(p, func(key []byte) (*columnGuess, error) { return m.memberOf(of, key) })
}

// objectOf looks at the object at p. member returns the guess of a key, which is the string that was read last.
func (m *sample) objectOf(p int, member func(key []byte) (*columnGuess, error)) int {
	if p = m.space(p + 1); p == failed {
		return failed
	}
	for m.text[p] != '}' {
		if m.text[p] != '"' {
			return m.fail(p, errKey)
		}
		end := m.str(p + 1)
		if end == failed {
			return failed
		}
		g, err := member(m.text[p+1 : end])
		if err != nil {
			return m.fail(p, err)
		}
		if p = m.colon(end + 1); p == failed {
			return failed
		}
		if p = m.look(p, g); p == failed {
			return failed
		}
		if p = m.member(p); p == failed {
			return failed
		}
	}
	return p + 1
}

// memberOf returns the guess of a key.
func (m *sample) memberOf(of *members, key []byte) (*columnGuess, error) {
	at, known := of.places[string(key)]
	name := ""
	if !known || m.escaped {
		name = nameOf(key, m.escaped)
		at, known = of.places[name]
	}
	if !known {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("a key that is not valid UTF-8: %s", decode.QuoteInvalid([]byte(name)))
		}
		m.makeRoom()
		at = int32(len(of.names))
		of.add(name, `"`+string(key)+`":`)
	}
	of.counts[at]++
	return &of.guesses[at], nil
}

// look notes the value at p in a guess, and returns where the value ends.
func (m *sample) look(p int, g *columnGuess) int {
	c := m.text[p]
	if c != '{' && c != '[' || m.depth == depthMax {
		end, k := m.value(p)
		if end != failed && k != kindNull {
			value := m.text[p:end]
			if k == kindString {
				value = value[1 : len(value)-1]
			}
			g.add(k, value, m.rowsMax)
		}
		return end
	}
	m.depth++
	defer func() { m.depth-- }()
	if c == '[' {
		g.values |= hasArray
		return m.array(p, g.ofElements())
	}
	g.values |= hasObject
	g.objects++
	if g.members != nil && len(g.members.names) > membersMax {
		g.collapse()
	}
	if g.isMap {
		values := g.ofElements()
		return m.objectOf(p, func([]byte) (*columnGuess, error) { return values, nil })
	}
	if g.members == nil {
		g.members = newMembers()
	}
	return m.object(p, g.members)
}

// array looks at the elements of the array at p.
func (m *sample) array(p int, g *columnGuess) int {
	if p = m.space(p + 1); p == failed {
		return failed
	}
	for m.text[p] != ']' {
		if p = m.look(p, g); p == failed {
			return failed
		}
		if p = m.nextElement(p); p == failed {
			return failed
		}
	}
	return p + 1
}

// makeRoom holds the memory of another member. It doubles what is held, as maps of members do, so that
// a refusal names a limit that grows as fast.
func (m *sample) makeRoom() {
	m.known++
	if need := int64(m.known) * textfile.KnownColumnBytes; need > m.held {
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

// settle gives up the text and the strings: what is left takes little memory.
func (m *sample) settle() {
	m.scanner = scanner{}
	for i := range m.columns.guesses {
		m.columns.guesses[i].settle(m.rows)
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
