package device

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/stream"
)

// decodeCode lets devices compute the layout's columns and keys of the columns of pages, or tells why they
// cannot.
func (l *Layout) decodeCode(d *stream.Decoding, p *scan.Paged) (columns []int, err error) {
	b, filter, of := p.Build()
	var outputs []rowcode.Value
	for i := range l.columns {
		c := &l.columns[i]
		if c.words > 0 {
			return nil, fmt.Errorf("column %q takes more than 64 bits", l.bound.Columns[c.column].Name)
		}
		v := of[c.column]
		if c.double {
			if v, err = doubleOf(b, v, &l.bound.Columns[c.column]); err != nil {
				return nil, err
			}
		}
		outputs = append(outputs, v)
	}
	for _, column := range l.bound.KeyColumns {
		outputs = append(outputs, of[column])
	}
	keys := slices.Clone(outputs[len(l.columns):]) // of strings, inputs as they are
	for column, v := range of {
		if !l.needs(column) { // count(x) of what has no NULL is count(*), but an error of x is one
			outputs[0] = b.Reach(v, outputs[0])
		}
	}
	program := b.Program(filter, outputs)
	columns = slices.Repeat([]int{-1}, len(p.Columns))
	inputs := program.Inputs()
	if len(inputs) > kernels.InputsMax {
		return nil, fmt.Errorf("its expressions read %d columns, more than %d", len(inputs), kernels.InputsMax)
	}
	for _, i := range inputs {
		c, err := encodedInput(&p.Columns[i])
		if err != nil {
			return nil, err
		}
		columns[i] = len(d.Columns)
		d.Columns = append(d.Columns, c)
	}
	for k := range d.Keys {
		d.Keys[k].Column = -1
		if n := &program.Nodes[keys[k]]; n.Op == rowcode.Load {
			d.Keys[k].Column = columns[n.A]
		}
	}
	if d.Code, err = rowcode.Assemble(program.Renumber(columns)); err != nil {
		return nil, err
	}
	return columns, nil
}

// needs reports whether a column of the query is a key or one of the layout's.
func (l *Layout) needs(column int) bool {
	return slices.Contains(l.bound.KeyColumns, column) ||
		slices.ContainsFunc(l.columns, func(c layoutColumn) bool { return c.column == column })
}

// doubleOf returns the values of a column of the query as doubles.
func doubleOf(b *rowcode.Builder, v rowcode.Value, c *rowdata.Column) (rowcode.Value, error) {
	switch {
	case c.Kind == rowdata.Float64:
		return v, nil
	case arrow.IsInteger(c.Type.ID()) && c.Type.ID() != arrow.UINT64:
		return b.Do(rowcode.Double, v), nil
	}
	return rowcode.None, fmt.Errorf("a device does not turn %s into doubles", c.Type)
}

// encodedInput returns how devices decode a column of a file as an input of code.
func encodedInput(p *scan.PagedColumn) (c stream.EncodedColumn, err error) {
	c = stream.EncodedColumn{Width: p.Width, Column: -1, Nullable: true, Strings: p.Width == 0}
	of := rowdata.Column{Name: p.Name, Type: p.Type}
	of.Kind, err = rowdata.KindOf(p.Type)
	switch {
	case err != nil:
		return c, err
	case c.Strings:
		c.Width, c.Type = 4, kernels.Uint32
		return c, nil
	case p.Big:
		c.Type, c.Form = kernels.Int64, kernels.FormBig
		return c, nil
	case of.Kind == rowdata.Int64 && p.Width == 4:
		c.Type = kernels.Int32 // decimals of few digits, too
	default:
		c.Type = columnTypeOf(&of)
	}
	if _, c.Form, _ = formOf(&of, false, false); c.Type.Bytes() != c.Form.Width(c.Width) {
		return c, fmt.Errorf("column %q has values of %d B in the file", p.Name, p.Width)
	}
	return c, nil
}
