package csv

import (
	"bytes"
	"slices"
)

// commentMark begins the lines that are taken for comments where no character is given.
const commentMark = '#'

// escapeMark is the escape that is looked for where no character is given: MySQL's and Spark's.
const escapeMark = '\\'

// sniff settles the quote, the escape and the comments of a text that starts at buf[start:], as far as no option says
// them: the first dialect in which the text is a table, or else the options'. It returns the delimiter, and where the
// table begins: behind lines that are no rows of the table, as titles are.
func (c *File) sniff(buf []byte, start int, whole bool) (delimiter byte, begin int) {
	for _, o := range c.dialects(buf[start:]) {
		strict := o
		strict.IgnoreErrors = false
		delimiter := o.Delimiter
		if delimiter == 0 {
			delimiter = detectDelimiter(&strict, buf, start, whole)
		}
		d := newDialect(&strict, delimiter)
		s, err := takeSample(d, &strict, buf, start, detectRows, whole)
		if err != nil || len(s.rows) == 0 {
			continue
		}
		first, ok := s.table(c, &o)
		if !ok || o.Quote == '\'' && c.sniffsQuote && !s.quotesColumn(d, first) {
			continue
		}
		if c.opt = o; first > 0 {
			start = s.ends[first-1]
		}
		return delimiter, start
	}
	if delimiter = c.opt.Delimiter; delimiter == 0 {
		delimiter = detectDelimiter(&c.opt, buf, start, whole)
	}
	return delimiter, start
}

// dialects returns the options, and what they may be in place of what they leave open, as far as
// marks in the text allow it: the likeliest first.
func (c *File) dialects(text []byte) (list []Options) {
	quotes, comments := []byte{c.opt.Quote}, []byte{c.opt.Comment}
	head := text[:min(len(text), 1<<12)]
	if c.sniffsQuote && bytes.IndexByte(head, '\'') >= 0 && bytes.IndexByte(head, '"') < 0 {
		quotes = []byte{'\'', '"'}
	}
	if c.opt.Comment == 0 && (bytes.HasPrefix(text, []byte{commentMark}) ||
		bytes.Contains(text, []byte{'\n', commentMark})) {
		comments = []byte{0, commentMark}
	}
	for _, quote := range quotes {
		escapes := []byte{c.opt.Escape}
		if c.opt.Escape == 0 && !c.opt.NoQuote && bytes.Contains(text, []byte{escapeMark, quote}) {
			escapes = []byte{quote, escapeMark}
		}
		for _, escape := range escapes {
			for _, comment := range comments {
				o := c.opt
				o.Quote, o.Escape, o.Comment = quote, escape, comment
				list = append(list, o)
			}
		}
	}
	return list
}

// table returns the first row of the table that a sample is: rows of equally many fields, behind a title of fewer.
// ok is false for other samples.
func (s *sample) table(c *File, o *Options) (first int, ok bool) {
	if o.NullPadding {
		return 0, true
	}
	width := s.commonWidth()
	first = slices.IndexFunc(s.rows, func(row [][]byte) bool { return len(row) == width })
	if first > 0 && len(s.rows[first-1]) == width-1 && s.from(first-1).endsInDelimiter(width-1) {
		return first - 1, s.isTitle(first-1, c, o) // a header without the delimiter that ends the rows
	}
	return first, s.from(first).isRegular(width) && s.isTitle(first, c, o)
}

// from returns the sample from a row on.
func (s *sample) from(row int) *sample {
	return &sample{rows: s.rows[row:], starts: s.starts[row:], ends: s.ends[row:], text: s.text}
}

// isTitle says whether the rows before a row may be the title of a table whose header the row is.
func (s *sample) isTitle(rows int, c *File, o *Options) bool {
	if rows == 0 {
		return true
	}
	table := s.from(rows)
	width := len(table.rows[0])
	isLong := func(row [][]byte) bool { return len(row) >= width }
	if width < 2 || len(table.rows) < 2 || o.Header == HeaderNo || o.SkipLines > 0 {
		return false
	}
	if slices.ContainsFunc(s.rows[:rows], isLong) {
		return false
	}
	return o.Header == HeaderYes || table.hasHeader(&c.infer)
}

// commonWidth returns how many fields the most rows have; of several numbers, that of the first row.
func (s *sample) commonWidth() int {
	rows := make(map[int]int)
	best := len(s.rows[0])
	for _, row := range s.rows {
		rows[len(row)]++
	}
	for width, n := range rows {
		if n > rows[best] || n == rows[best] && best != len(s.rows[0]) && width > best {
			best = width
		}
	}
	return best
}

// isRegular says whether all rows have a number of fields.
func (s *sample) isRegular(width int) bool {
	return !slices.ContainsFunc(s.rows, func(row [][]byte) bool { return len(row) != width })
}

// endsInDelimiter says whether all rows behind the header have a field more than a width, and nothing in it.
func (s *sample) endsInDelimiter(width int) bool {
	return len(s.rows) > 1 && !slices.ContainsFunc(s.rows[1:], func(row [][]byte) bool {
		return len(row) != width+1 || len(row[width]) > 0
	})
}

// quotesColumn says whether some column has quotes around all of its values behind a row, the header.
func (s *sample) quotesColumn(d *dialect, header int) bool {
	if header+1 == len(s.rows) {
		return false
	}
	quoted := slices.Repeat([]bool{true}, len(s.rows[header]))
	for _, p := range s.starts[header+1:] {
		for i := range quoted {
			field, next, _ := d.field(s.text, p)
			quoted[i] = quoted[i] && field.IsQuoted()
			p = next
		}
	}
	return slices.Contains(quoted, true)
}
