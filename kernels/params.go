package kernels

// The structs of params.h, as kernels take them; a test compares sizes and offsets.

type foldParam struct {
	op, typ, otherType uint8
	words              uint8
	column, other      int16
	offset             uint32
	unit               uint32
}

type shapeParam struct {
	keyBytes    uint32
	folds       uint32
	columns     uint32
	stateWords  uint32
	fold        [FoldsMax]foldParam
	columnBytes [ColumnsMax]uint8
}

type rowsParam struct {
	count   uint64
	keys    uint64
	columns [ColumnsMax]uint64
	valid   [ColumnsMax]uint64
}

type groupsParam struct {
	capacity uint64
	status   uint64
	keys     uint64
	states   [FoldsMax]uint64
}

const groupsStatusBytes = 64

// makeShapeParam turns a shape into what kernels read.
func makeShapeParam(shape *Shape) shapeParam {
	p := shapeParam{keyBytes: uint32(shape.KeyBytes), folds: uint32(len(shape.Folds)), columns: uint32(len(shape.Columns))}
	for i, c := range shape.Columns {
		p.columnBytes[i] = uint8(c.Bytes())
	}
	typeOf := func(column int) uint8 {
		if column < 0 {
			return 0
		}
		return uint8(shape.Columns[column])
	}
	for i, f := range shape.Folds {
		p.fold[i] = foldParam{
			op: uint8(f.Op), typ: typeOf(f.Column), otherType: typeOf(f.Other), words: uint8(f.Words()),
			column: int16(f.Column), other: int16(f.Other), offset: p.stateWords, unit: uint32(f.Unit),
		}
		p.stateWords += uint32(f.Words())
	}
	return p
}

// rows turns rows into addresses.
func (o *operation) rows(shape *Shape, rows *Rows) rowsParam {
	p := rowsParam{count: uint64(rows.Count), keys: o.address(rows.Keys, rows.Count*int64(shape.KeyBytes))}
	for i, c := range shape.Columns {
		p.columns[i] = o.address(rows.Columns[i], rows.Count*int64(c.Bytes()))
		if i < len(rows.Valid) {
			p.valid[i] = o.address(rows.Valid[i], ceilDiv(rows.Count, 32)*4)
		}
	}
	return p
}

// groups turns groups into addresses.
func (o *operation) groups(shape *Shape, groups *Groups) groupsParam {
	p := groupsParam{
		capacity: uint64(groups.Capacity),
		status:   o.address(groups.Status, groupsStatusBytes),
		keys:     o.address(groups.Keys, groups.Capacity*int64(shape.KeyBytes)),
	}
	for i, f := range shape.Folds {
		p.states[i] = o.address(groups.States[i], groups.Capacity*int64(f.Words())*8)
	}
	return p
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
