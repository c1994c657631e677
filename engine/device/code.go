package device

import (
	"errors"
	"fmt"
	"maps"
	"math"
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
	numbered, loaded := slices.Clone(keys), slices.Clone(outputs)
	for i := range l.columns {
		if l.columns[i].numbers != nil {
			numbered = append(numbered, outputs[i])
		}
	}
	for column, v := range of {
		if !l.needs(column) && len(outputs) == 0 {
			return nil, errors.New("there is nothing to compute")
		}
		if !l.needs(column) { // count(x) of what has no NULL is count(*), but an error of x is one
			outputs[0] = b.Reach(v, outputs[0])
		}
	}
	program := b.Program(filter, outputs)
	columns, words, err := addInputs(d, p, program, numbered)
	if err != nil {
		return nil, err
	}
	for i := range l.columns {
		c := &l.columns[i]
		if c.numbers == nil {
			continue
		}
		n := &program.Nodes[loaded[i]]
		if n.Op != rowcode.Load {
			return nil, fmt.Errorf("the strings of %q are computed", l.bound.Columns[c.column].Name)
		}
		c.decoded = columns[n.A]
	}
	for k := range d.Keys {
		d.Keys[k].Column = -1
		if n := &program.Nodes[keys[k]]; n.Op == rowcode.Load {
			d.Keys[k].Column = columns[n.A]
		}
	}
	if d.Code, err = rowcode.Assemble(program.Renumber(columns, words)); err != nil {
		return nil, err
	}
	return columns, nil
}

// addInputs adds the columns that a program reads, and returns for each column of the pages which of the columns
// that devices decode has its values, or the words of its strings: -1 where that is none. A column of strings
// has numbers where it is a key or is folded, and words where it is compared, or nobody needs more
// than its NULLs; where both are needed, the words come behind the numbers.
func addInputs(d *stream.Decoding, p *scan.Paged, program *rowcode.Program,
	numbered []rowcode.Value) (columns, words []int, err error) {
	columns, words = slices.Repeat([]int{-1}, len(p.Columns)), slices.Repeat([]int{-1}, len(p.Columns))
	matched := program.Matched()
	hasNumbers := func(i int) bool {
		return slices.ContainsFunc(numbered, func(v rowcode.Value) bool {
			return program.Nodes[v] == rowcode.Node{Op: rowcode.Load, A: rowcode.Value(i)}
		})
	}
	inputs := append(program.Inputs(), slices.Collect(maps.Keys(matched))...)
	slices.Sort(inputs)
	for _, i := range slices.Compact(inputs) {
		c, err := encodedInput(&p.Columns[i])
		if err != nil {
			return nil, nil, err
		}
		columns[i], words[i] = len(d.Columns), len(d.Columns)
		if c.Strings && !hasNumbers(i) {
			c.Matched, c.Patterns = true, matched[i]
		}
		d.Columns = append(d.Columns, c)
		if bits, ok := matched[i]; ok && !c.Matched {
			words[i] = len(d.Columns)
			c.Matched, c.Patterns, c.Same = true, bits, true
			d.Columns = append(d.Columns, c)
		}
	}
	if n := len(d.Columns); n > kernels.InputsMax {
		return nil, nil, fmt.Errorf("its expressions read %d columns, more than %d", n, kernels.InputsMax)
	}
	return columns, words, nil
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
	const digitsExact = 15 // as in encode.Doubles
	if d, ok := c.Type.(arrow.DecimalType); ok && c.Kind == rowdata.Int64 && d.GetPrecision() <= digitsExact &&
		d.GetScale() >= 0 && d.GetScale() <= digitsExact {
		return b.Do(rowcode.DivDouble, b.Do(rowcode.Double, v), b.Float(math.Pow10(int(d.GetScale())))), nil
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
