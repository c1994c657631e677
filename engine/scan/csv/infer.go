package csv

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/knob"
)

// typeSet is a set of the inferred types, and of the shapes that times have.
type typeSet uint64

const (
	maybeFormattedDate typeSet = 1 << iota // by DateFormat
	maybeFormattedTime                     // by TimestampFormat
	maybeBool
	maybeInt
	maybeHuge  // an integer of at most fields.HugeDigits
	maybeWhole // an integer, which is text where it has more digits
	maybeDouble
	maybeDate
	maybeTimestamp
	maybeZoned
	maybeClock // a time of day

	bitsOfTypes         = 11
	allTypes    typeSet = math.MaxUint64
)

// inferred lists the types that are inferred, the narrowest first. All other values are text.
var inferred = []struct {
	bit typeSet
	typ arrow.DataType
}{
	{maybeFormattedDate, arrow.FixedWidthTypes.Date32},
	{maybeFormattedTime, microseconds},
	{maybeBool, arrow.FixedWidthTypes.Boolean},
	{maybeInt, arrow.PrimitiveTypes.Int64},
	{maybeHuge, &arrow.Decimal128Type{Precision: fields.HugeDigits}},
	{maybeWhole, arrow.BinaryTypes.String},
	{maybeDouble, arrow.PrimitiveTypes.Float64},
	{maybeDate, arrow.FixedWidthTypes.Date32},
	{maybeTimestamp, microseconds},
	{maybeZoned, zonedMicroseconds},
	{maybeClock, arrow.FixedWidthTypes.Time64us},
}

var (
	microseconds      = &arrow.TimestampType{Unit: arrow.Microsecond}
	zonedMicroseconds = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
)

// inference says what values are looked for in a sample.
type inference struct {
	numbers           fields.Format
	dates, timestamps fields.Format // whose times are nil where no format is given
	lenient, padded   bool          // as Options have them
	scratch           []byte
}

// newInference returns what Options say. Their formats are valid.
func newInference(o *Options) *inference {
	n := &inference{
		numbers: fields.Format{Decimal: o.DecimalSeparator, Thousands: o.Thousands, Inferred: true},
		lenient: o.IgnoreErrors, padded: o.NullPadding,
	}
	n.dates.Times, _ = readerOf(o.DateFormat)
	n.timestamps.Times, _ = readerOf(o.TimestampFormat)
	return n
}

// typesOf returns the types that a value can have. A date is also the timestamp of its midnight.
func (n *inference) typesOf(value []byte) (set typeSet) {
	value = fields.Trim(value)
	if n.dates.Times != nil {
		if _, ok := n.dates.ReadTime(value); ok {
			set |= maybeFormattedDate
		}
	}
	if n.timestamps.Times != nil {
		if at, ok := n.timestamps.ReadTime(value); ok && inMicros(at) {
			set |= maybeFormattedTime
		}
	}
	return set | n.plainTypesOf(value)
}

// plainTypesOf is typesOf without the formats that Options give for times.
func (n *inference) plainTypesOf(value []byte) (set typeSet) {
	if word := fields.Lower(value); word == "true" || word == "false" {
		return maybeBool
	}
	if number, ok := n.numbers.Plain(value, &n.scratch); ok && n.numbers.Grouped(value) && !fields.IsCode(number) {
		if set := numberTypesOf(number); set != 0 {
			if at, _ := fields.ParseTimestamp(value); at.IsInfinite() {
				set |= maybeDate | maybeTimestamp | maybeZoned
			}
			return set
		}
	}
	if nanos, rest, ok := fields.ParseTimeOfDay(value); ok && len(rest) == 0 && nanos%1000 == 0 {
		return maybeClock
	}
	at, ok := fields.ParseTimestamp(value)
	if !ok {
		return shapesOf(value)
	}
	switch {
	case !inMicros(at) && at.IsDay: // a DATE goes further than a TIMESTAMP
		return maybeDate
	case !inMicros(at):
		return 0
	case at.Zoned:
		return maybeZoned
	case at.IsDay:
		return maybeDate | maybeTimestamp | shapesOf(value)
	}
	return maybeTimestamp | maybeZoned | shapesOf(value) // beside zoned ones it is a moment of UTC
}

// inMicros says whether an instant can be counted in microseconds.
func inMicros(t fields.Instant) bool {
	_, fits := t.In(1000)
	return fits
}

// numberTypesOf returns the types of numbers that keep all digits of a whole number, and DOUBLE of all others; none of
// text. A column of whole numbers is never DOUBLE.
func numberTypesOf(number []byte) (set typeSet) {
	f, ok := fields.ParseFloat(number)
	digits := fields.WholeDigits(number)
	switch {
	case !ok:
		return 0
	case digits == 0:
		return maybeDouble
	case digits <= fields.HugeDigits:
		set |= maybeHuge
	}
	if _, ok := fields.ParseInt(number); ok {
		set |= maybeInt
	}
	if fields.KeepsDigits(f, number) {
		set |= maybeDouble
	}
	return set | maybeWhole
}

// columnGuess is what the sample says of a column.
type columnGuess struct {
	types   typeSet // that all values of the sample can have
	seen    bool    // the sample has a value that is not NULL
	repeats bool    // the sample has few distinct values; of one file, not joint with other files
	tally   *tally  // of one file, until File.settle
}

func (g *columnGuess) add(o columnGuess) {
	if o.seen {
		g.types &= o.types
		g.seen = true
	}
}

// extend adds what the rows behind say, of the same file.
func (g *columnGuess) extend(o *columnGuess) {
	g.add(*o)
	g.tally.extend(o.tally)
}

// see takes a value, which is not NULL, of a row of a sample.
func (g *columnGuess) see(n *inference, value []byte, s *sample, row int) {
	g.seen = true
	if g.types == 0 && g.tally.isHopeless() {
		return
	}
	types := n.typesOf(value)
	g.tally.add(n, types, value)
	if was := g.types; g.types&types != was {
		if g.types &= types; g.types.isText() && !was.isText() {
			g.tally.spoiler = spoiler{string(value), s.lineOf(row), types}
		}
	}
}

// typ returns the narrowest type, and how its values are written; text for a column of NULLs.
func (g columnGuess) typ(n *inference) (arrow.DataType, fields.Format) {
	if !g.seen {
		return arrow.BinaryTypes.String, fields.Format{}
	}
	for _, i := range inferred {
		switch {
		case g.types&i.bit == 0:
		case i.bit == maybeFormattedDate:
			return i.typ, n.dates
		case i.bit == maybeFormattedTime && n.timestamps.Times.Zoned():
			return zonedMicroseconds, n.timestamps
		case i.bit == maybeFormattedTime:
			return i.typ, n.timestamps
		case i.bit == maybeInt, i.bit == maybeHuge, i.bit == maybeDouble:
			return i.typ, n.numbers
		default:
			return i.typ, fields.Format{}
		}
	}
	switch f, isDate := g.types.shape(); {
	case f == nil:
		return arrow.BinaryTypes.String, fields.Format{}
	case isDate:
		return arrow.FixedWidthTypes.Date32, fields.Format{Times: f}
	default:
		return microseconds, fields.Format{Times: f}
	}
}

// formatOf returns how the values of a type that is given are written.
func (n *inference) formatOf(typ arrow.DataType) fields.Format {
	switch typ.ID() {
	case arrow.DATE32, arrow.DATE64:
		return n.dates
	case arrow.TIMESTAMP:
		return n.timestamps
	case arrow.TIME32, arrow.TIME64:
		return fields.Format{}
	}
	format := n.numbers
	format.Inferred = false
	return format
}

// sample is the first rows of a text.
type sample struct {
	rows   [][][]byte // by row, then column; nil is NULL
	ends   []int      // by row: the offset behind the row
	starts []int      // by row: its offset
	text   []byte     // that the offsets are of
	lines  int        // before the text
}

// lineOf returns the line in which a row begins, from 1.
func (s *sample) lineOf(row int) int {
	return s.lines + 1 + bytes.Count(s.text[:s.starts[row]], newline)
}

var errLongRow = fmt.Errorf("a row is longer than %d MiB; is a quote left open, or is it no text?",
	textfile.RowLimitDefault>>20)

// takeSample cuts the first rows of a text that starts at buf[p:]. whole says that the text ends
// where buf does.
func takeSample(d *dialect, o *Options, buf []byte, p, rowsMax int, whole bool) (*sample, error) {
	if whole && len(buf) > 0 && buf[len(buf)-1] != '\n' {
		buf = append(slices.Clip(buf), '\n')
	}
	s := &sample{text: buf}
	for p < len(buf) && len(s.rows) < rowsMax {
		if n := max(blankLine(buf, p), d.commentLine(buf, p)); n > 0 {
			p += n
			continue
		}
		row, next, end := sampleRow(d, o, buf, p)
		if end > endBuffer && d.lenient {
			if next = d.rowEnd(buf, p); next > 0 {
				p = next
				continue
			}
			end = endBuffer
		}
		switch {
		case end == endBuffer && d.lenient:
			return s, nil
		case end == endBuffer && whole:
			return nil, &textfile.Error{At: p, Reason: errOpenQuote}
		case end == endBuffer:
			return s, nil
		case end != endRow:
			return nil, &textfile.Error{At: next, Reason: d.quoteError(end)}
		}
		s.rows = append(s.rows, row)
		s.starts, s.ends = append(s.starts, p), append(s.ends, next)
		p = next
	}
	return s, nil
}

func sampleRow(d *dialect, o *Options, buf []byte, p int) (row [][]byte, next int, end fieldEnd) {
	for {
		var field fields.Span
		field, p, end = d.field(buf, p)
		if end != endField && end != endRow {
			return nil, p, end
		}
		var scratch []byte
		value := field.Bytes(buf, d.unescape, &scratch)
		if !field.IsQuoted() && slices.Contains(o.NullStrings, string(value)) {
			value = nil
		} else if value == nil {
			value = []byte{}
		}
		if row = append(row, value); end == endRow {
			return row, p, end
		}
	}
}

// delimiters are tried in this order: of equally good ones the first wins.
var delimiters = []byte{',', ';', '\t', '|'}

// detectRows is how many rows decide the delimiter.
const detectRows = 256

// detectDelimiter returns the delimiter that cuts the most rows into equally many fields, at least
// two; of several such delimiters, the one that makes the most fields. A text that no delimiter
// cuts has one column.
func detectDelimiter(o *Options, buf []byte, p int, whole bool) byte {
	best, bestRows, bestWidth := delimiters[0], 0, 1
	for _, c := range delimiters {
		if c == o.Quote && !o.NoQuote {
			continue
		}
		s, err := takeSample(newDialect(o, c), o, buf, p, detectRows, whole)
		if err != nil || len(s.rows) == 0 {
			continue
		}
		width, rows := s.commonWidth(), 0
		if o.NullPadding {
			width = s.width(o)
		}
		for _, row := range s.rows {
			if len(row) == width || o.NullPadding && len(row) > 1 {
				rows++
			}
		}
		if width > 1 && (rows > bestRows || rows == bestRows && width > bestWidth) {
			best, bestRows, bestWidth = c, rows, width
		}
	}
	return best
}

// width returns how many fields rows have: the first row, or, where rows are filled up, the
// longest.
func (s *sample) width(o *Options) int {
	width := len(s.rows[0])
	if o.NullPadding {
		for _, row := range s.rows {
			width = max(width, len(row))
		}
	}
	return width
}

// hasHeader says whether the first row of a sample holds names: where in some column the other
// values are all numbers, dates or booleans and the first is not, or where there is nothing but
// text.
func (s *sample) hasHeader(n *inference) bool {
	first := s.rows[0]
	onlyText := true
	for i, guess := range n.guessColumns(s, 1, len(first)) {
		var set typeSet
		if first[i] != nil {
			set = n.typesOf(first[i])
		}
		typed := guess.seen && guess.types != 0
		if typed && first[i] != nil && set&guess.types == 0 {
			return true
		}
		onlyText = onlyText && !typed && set == 0
	}
	return onlyText
}

// guessColumns infers types from the rows of a sample from one on. The reader will refuse rows of another width, or
// leave them out.
func (n *inference) guessColumns(s *sample, from, width int) []columnGuess {
	guesses, tallies := make([]columnGuess, width), make([]tally, width)
	for i := range guesses {
		guesses[i].types, guesses[i].tally = allTypes, &tallies[i]
	}
	for r, row := range s.rows[from:] {
		if n.lenient && (len(row) > width || len(row) < width && !n.padded) {
			continue
		}
		for i, value := range row[:min(width, len(row))] {
			if value != nil {
				guesses[i].see(n, value, s, from+r)
			}
		}
	}
	return guesses
}

// repeats says whether a column has few distinct values.
func repeats(rows [][][]byte, column int) bool {
	var distinct fields.Distinct
	for _, row := range rows {
		if column < len(row) && !distinct.Add(row[column], len(rows)) {
			return false
		}
	}
	return distinct.Repeat(len(rows))
}

// lookFurther looks at rows further on in the file, and takes back the guess that a column repeats
// where its values there do not. Where a place lies within quotes, the rows that are cut have
// another width, and are passed over.
func (c *File) lookFurther(f io.ReaderAt) error {
	if !slices.ContainsFunc(c.guesses, func(g columnGuess) bool { return g.repeats }) {
		return nil
	}
	var rows [][][]byte
	err := c.LookAt(f, func(buf []byte, p int) {
		if s, err := takeSample(c.dialect, &c.opt, buf, p, c.opt.SampleRows, false); err == nil {
			rows = append(rows, s.rows...)
		}
	})
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(row [][]byte) bool { return len(row) != c.rowWidth() })
	for i := range c.guesses {
		if g := &c.guesses[i]; g.repeats && len(rows) > 0 {
			g.repeats = repeats(rows, i)
		}
	}
	return nil
}

// columnNames returns the names in a header, and made-up names for columns without one.
func columnNames(header [][]byte, width int) []string {
	names := make([]string, width)
	for i := range names {
		names[i] = fmt.Sprintf("column%0*d", len(strconv.Itoa(width-1)), i)
		if i < len(header) && len(bytes.TrimSpace(header[i])) > 0 {
			names[i] = string(bytes.TrimSpace(header[i]))
		}
	}
	delivery.NumberRepeated(names)
	return names
}

// byteOrderMark may precede UTF-8 text.
var byteOrderMark = []byte{0xEF, 0xBB, 0xBF}

// textStart returns where text begins, or why it is no text.
func textStart(buf []byte) (int, error) {
	switch {
	case bytes.HasPrefix(buf, byteOrderMark):
		return len(byteOrderMark), nil
	case bytes.HasPrefix(buf, []byte{0xFF, 0xFE}), bytes.HasPrefix(buf, []byte{0xFE, 0xFF}):
		return 0, knob.Errorf("UTF-16 text; name its encoding (%s utf-16)", knob.Name("dataset.CSV.Encoding"))
	}
	return 0, nil
}
