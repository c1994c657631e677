package hostdevice

import (
	"encoding/binary"

	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/kernels"
)

func (s *stream) Evaluate(e *kernels.Evaluation) error {
	o := s.operation("Evaluate", &kernels.Shape{})
	head := o.view(e.Head, kernels.EvaluationHeadBytes, true)
	inputs, outputs := make([]column, len(e.Inputs)), make([]column, len(e.Outputs))
	for i := range e.Inputs {
		inputs[i] = o.column(&e.Inputs[i], e.Rows, false)
	}
	for i := range e.Outputs {
		outputs[i] = o.column(&e.Outputs[i], e.Room, true)
	}
	rows, room, code, tables := int(e.Rows), int(e.Room), *e.Code, o.lookups(e)
	return o.enqueue(func() {
		machine := rowcode.NewMachine(&code)
		machine.Tables = tables
		cells := make([]rowcode.Cell, len(outputs))
		to, wrong := 0, uint32(0)
		for _, out := range outputs {
			clear(out.valid)
		}
		for _, marks := range tables.marks {
			clear(marks)
		}
		for row := range rows {
			ok := machine.Run(func(i int) rowcode.Cell { return inputs[i].cell(row) }, cells, func() {
				if to == room {
					wrong = 1
					return
				}
				for i := range outputs {
					if !outputs[i].set(to, cells[i]) {
						wrong = 1
					}
				}
				to++
			})
			if !ok {
				wrong = 1
			}
		}
		binary.LittleEndian.PutUint64(head, uint64(to))
		binary.LittleEndian.PutUint32(head[8:], wrong)
	})
}

// column is a kernels.Column with its memory.
type column struct {
	kernels.Column
	values []byte
	valid  []uint32 // nil where no value is NULL
}

func (o *operation) column(c *kernels.Column, rows int64, write bool) column {
	out := column{Column: *c, values: o.view(c.Values, rows*int64(c.Type.Bytes()), write)}
	if c.Valid.Buffer != nil {
		out.valid = view[uint32](o.view(c.Valid, (rows+31)/32*4, write))
	}
	return out
}

// isNull reports whether a row's value is NULL.
func (c *column) isNull(row int) bool { return c.valid != nil && c.valid[row/32]>>(row%32)&1 == 0 }

// word returns a row's value, extended as its type says.
func (c *column) word(row int) int64 {
	switch c.Type {
	case kernels.Int32:
		return int64(int32(binary.LittleEndian.Uint32(c.values[4*row:])))
	case kernels.Uint32:
		return int64(binary.LittleEndian.Uint32(c.values[4*row:]))
	}
	return int64(binary.LittleEndian.Uint64(c.values[8*row:]))
}

func (c *column) cell(row int) rowcode.Cell {
	return rowcode.Cell{Word: c.word(row), Null: c.isNull(row)}
}

// set writes a row's value. It returns false where that is NULL and is not to be.
func (c *column) set(row int, cell rowcode.Cell) bool {
	if cell.Null {
		cell.Word = 0
	} else if c.valid != nil {
		c.valid[row/32] |= 1 << (row % 32)
	}
	if c.Type.Bytes() == 4 {
		binary.LittleEndian.PutUint32(c.values[4*row:], uint32(cell.Word))
	} else {
		binary.LittleEndian.PutUint64(c.values[8*row:], uint64(cell.Word))
	}
	return !cell.Null || c.valid != nil
}

// lookups are the tables of an evaluation.
type lookups struct {
	joins   []*join
	tables  []joinTable
	fetched []column
	marks   [][]uint32 // by table; nil where no row is marked
}

func (o *operation) lookups(e *kernels.Evaluation) *lookups {
	l := &lookups{}
	for i := range e.Lookups {
		of := &e.Lookups[i]
		unique := e.Code.Lookups[i] != e.Code.Each
		j := &join{Join: kernels.Join{KeyBytes: 8, Unique: unique, Build: kernels.JoinSide{Count: of.Rows, Keys: of.Keys}}}
		j.build = o.joinSide(&j.Build, j.KeyBytes)
		l.joins, l.tables = append(l.joins, j), append(l.tables, o.joinTable(&j.Join, of.Table, false))
		l.marks = append(l.marks, nil)
		if of.Marks.Buffer != nil {
			l.marks[i] = view[uint32](o.view(of.Marks, kernels.BitmapBytes(of.Rows), true))
		}
	}
	for i := range e.Fetched {
		l.fetched = append(l.fetched, o.column(&e.Fetched[i], e.Lookups[e.Code.Fetched[i].Lookup].Rows, false))
	}
	return l
}

// Find implements rowcode.Tables.
func (l *lookups) Find(lookup int, key int64) (row int64, ok bool) {
	bytes := binary.LittleEndian.AppendUint64(nil, uint64(key))
	t := &l.tables[lookup]
	seen := t.slots[t.slot(l.joins[lookup], string(bytes), hashes(bytes, len(bytes), 1, 0)[0])]
	return int64(seen>>32) - 1, seen != 0
}

// Next implements rowcode.Tables.
func (l *lookups) Next(lookup int, row int64) (next int64, ok bool) {
	after := l.tables[lookup].next[row]
	return int64(after) - 1, after != 0
}

// Fetch implements rowcode.Tables.
func (l *lookups) Fetch(fetched int, row int64) rowcode.Cell {
	return l.fetched[fetched].cell(int(row))
}

// Mark implements rowcode.Tables.
func (l *lookups) Mark(lookup int, row int64) { l.marks[lookup][row/32] |= 1 << (row % 32) }
