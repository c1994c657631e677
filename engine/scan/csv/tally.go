package csv

import (
	"math/bits"

	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/internal/knob"
)

// tally counts the values of a column by their types. It says why a column is text
// although most of its values are not.
type tally struct {
	values  int                 // that are not NULL
	typed   int                 // values that have some type
	counts  [64]int32           // values by bit of a typeSet
	others  [otherFormats]int32 // values without a type that another format makes a number
	spoiler spoiler
}

// spoiler is the value that made a column text: with the values before, it has no type.
type spoiler struct {
	value string
	line  int // from 1; 0 where there is no such value
	types typeSet
}

// tallyValuesMin is how many values are looked at before a column is taken for text that most of its values are.
const tallyValuesMin = 64

// isHopeless says whether no value behind can show that the column is text for a few values alone, or for their format.
func (t *tally) isHopeless() bool {
	return t.values >= tallyValuesMin && 2*t.typed < t.values && t.otherFormat() < 0
}

// otherFormats is how many formats of numbers are looked for beside the format that Options give.
const otherFormats = 3

// others are these formats.
var others = [otherFormats]fields.Format{
	{Decimal: '.', Thousands: ',', Inferred: true},
	{Decimal: ',', Inferred: true},
	{Decimal: ',', Thousands: '.', Inferred: true},
}

// otherSettings returns the options that give a format of others.
func otherSettings(format *fields.Format) error {
	const decimal, thousands = knob.Name("dataset.CSV.DecimalSeparator"), knob.Name("dataset.CSV.Thousands")
	switch {
	case format.Decimal == '.':
		return knob.Errorf("%s %c", thousands, format.Thousands)
	case format.Thousands == 0:
		return knob.Errorf("%s %c", decimal, format.Decimal)
	}
	return knob.Errorf("%s %c and %s %c", decimal, format.Decimal, thousands, format.Thousands)
}

// add counts a value of some types.
func (t *tally) add(n *inference, types typeSet, value []byte) {
	t.values++
	if types != 0 {
		t.typed++
		for set := uint64(types); set != 0; set &= set - 1 {
			t.counts[bits.TrailingZeros64(set)]++
		}
		return
	}
	value = fields.Trim(value)
	for i, o := range others {
		number, ok := o.Plain(value, &n.scratch)
		if ok && o.Grouped(value) && !fields.IsCode(number) && numberTypesOf(number) != 0 {
			t.others[i]++
		}
	}
}

// otherFormat returns which of others makes numbers of all values that are not whole numbers anyway, or -1.
func (t *tally) otherFormat() int {
	for i, n := range t.others {
		if n > 0 && int(n+t.counts[bits.TrailingZeros64(uint64(maybeWhole))]) == t.values {
			return i
		}
	}
	return -1
}

// extend adds the tally of values behind.
func (t *tally) extend(o *tally) {
	t.values += o.values
	t.typed += o.typed
	for i := range t.counts {
		t.counts[i] += o.counts[i]
	}
	for i := range t.others {
		t.others[i] += o.others[i]
	}
	if t.spoiler.line == 0 {
		t.spoiler = o.spoiler
	}
}

// most returns the types that the most values have, and how many values these are.
func (t *tally) most() (set typeSet, values int) {
	for i, n := range t.counts {
		switch bit := typeSet(1) << i; {
		case n == 0 || bit == maybeWhole:
		case int(n) > values:
			set, values = bit, int(n)
		case int(n) == values:
			set |= bit
		}
	}
	return set, values
}

// isText says whether values that all have the types are text.
func (s typeSet) isText() bool {
	f, _ := s.shape()
	return s&(1<<bitsOfTypes-1)&^maybeWhole == 0 && f == nil
}

// isMost says whether values are most of a tally's: all but one, or nine of ten.
func (t *tally) isMost(values int) bool {
	few := t.values - values
	return few < values && (few <= 1 || 10*few <= t.values)
}

// settle ends the tallies: it notes why columns are text whose values are something else but for a few, or makes them
// that, by InferMost.
func (c *File) settle() {
	c.Texts = make(map[string]error)
	for i, name := range c.names {
		g := &c.guesses[i]
		_, isGiven := c.opt.Types[name]
		if g.seen && g.types.isText() && !isGiven && !c.opt.AllText {
			set, values := g.tally.most()
			if c.opt.InferMost && c.opt.IgnoreErrors && g.tally.isMost(values) {
				g.types = set
			} else if why := c.whyText(name, g.tally); why != nil {
				c.Texts[name] = why
			}
		}
		g.tally = nil
	}
}

// whyText returns why a column is text, and how its values are read as something else; nil where they are text.
func (c *File) whyText(name string, t *tally) error {
	if i := t.otherFormat(); i >= 0 && c.opt.DecimalSeparator == '.' && c.opt.Thousands == 0 {
		return knob.Errorf("column %q has numbers with %w", name, otherSettings(&others[i]))
	}
	set, values := t.most()
	typ, _ := columnGuess{types: set, seen: true}.typ(&c.infer)
	if 2*values <= t.values || t.spoiler.line == 0 || t.spoiler.types&set != 0 || fields.IsText(typ) {
		return nil
	}
	word := fields.TypeName(typ)
	return knob.Errorf(
		"column %q is text because %s, line %d, has %s: %s %s makes it %s, and %s leaves out rows of such values",
		name, c.Path, t.spoiler.line, quoted([]byte(t.spoiler.value)), knob.Name("dataset.CSV.Types"),
		fields.Setting(name, word), word, knob.Name("dataset.CSV.IgnoreErrors"))
}
