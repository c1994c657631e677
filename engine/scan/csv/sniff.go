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
// them. It returns the delimiter, and where the table begins: behind lines that are no rows of the table, as titles are.
func (c *File) sniff(buf []byte, start int, whole bool) (delimiter byte, begin int) {
	o := &c.opt
	if c.sniffsQuote && isSingleQuoted(o, buf, start, whole) {
		o.Quote = '\''
	}
	if o.Escape == 0 && isEscaped(o, buf, start, whole) {
		o.Escape = escapeMark
	}
	if delimiter = o.Delimiter; delimiter == 0 {
		delimiter = detectDelimiter(o, buf, start, whole)
	}
	s, err := takeSample(newDialect(o, delimiter), o, buf, start, detectRows, whole)
	if err != nil || len(s.rows) == 0 || o.NullPadding || o.IgnoreErrors {
		return delimiter, start
	}
	width := s.commonWidth()
	if o.Comment == 0 && slices.ContainsFunc(s.rows[1:], func(row [][]byte) bool { return isComment(row, width) }) {
		commented := *o
		commented.Comment = commentMark
		again, err := takeSample(newDialect(&commented, delimiter), &commented, buf, start, detectRows, whole)
		if err == nil && len(again.rows) > 0 && again.isRegular(width) {
			o.Comment = commentMark
			return delimiter, start
		}
	}
	if title := s.title(width, c); o.SkipLines == 0 && title > 0 {
		return delimiter, s.ends[title-1]
	}
	return delimiter, start
}

// isComment says whether a row is a line that begins as a comment does, and no row of a table of a width.
func isComment(row [][]byte, width int) bool {
	return len(row) != width && len(row[0]) > 0 && row[0][0] == commentMark
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

// title returns how many of the first rows, of fewer fields than the table has, are before its header: a title, and not
// the header of a table whose rows end in a delimiter.
func (s *sample) title(width int, c *File) int {
	first := slices.IndexFunc(s.rows, func(row [][]byte) bool { return len(row) == width })
	if first <= 0 || width < 2 || c.opt.Header == HeaderNo {
		return 0
	}
	table := sample{rows: s.rows[first:], starts: s.starts[first:], text: s.text}
	longer := func(row [][]byte) bool { return len(row) > width }
	if !table.isRegular(width) || len(table.rows) < 2 || slices.ContainsFunc(s.rows[:first], longer) {
		return 0
	}
	emptyEnds := !slices.ContainsFunc(table.rows, func(row [][]byte) bool { return len(row[width-1]) > 0 })
	if emptyEnds || c.opt.Header == HeaderAuto && !table.hasHeader(&c.infer) {
		return 0
	}
	return first
}

// isSingleQuoted says whether single quotes enclose the values of a column of a text, all of them, and no double quote
// encloses a value.
func isSingleQuoted(o *Options, buf []byte, start int, whole bool) bool {
	head := buf[start:min(len(buf), start+1<<12)]
	if bytes.IndexByte(head, '\'') < 0 || bytes.IndexByte(head, '"') >= 0 {
		return false
	}
	single := *o
	single.Quote = '\''
	delimiter := o.Delimiter
	if delimiter == 0 {
		delimiter = detectDelimiter(&single, buf, start, whole)
	}
	d := newDialect(&single, delimiter)
	d.lenient = false
	s, err := takeSample(d, &single, buf, start, detectRows, whole)
	if err != nil || len(s.rows) < 2 || !s.isRegular(len(s.rows[0])) {
		return false
	}
	return s.quotesColumn(d, buf, start)
}

// isEscaped says whether the sample of a text is a table of equally long rows where backslashes are escapes, and is none
// where they are not.
func isEscaped(o *Options, buf []byte, start int, whole bool) bool {
	if o.NoQuote || !bytes.Contains(buf[start:], []byte{escapeMark, o.Quote}) {
		return false
	}
	isTable := func(escape byte) bool {
		strict := *o
		strict.Escape, strict.IgnoreErrors = escape, false
		if strict.Delimiter == 0 {
			strict.Delimiter = detectDelimiter(&strict, buf, start, whole)
		}
		s, err := takeSample(newDialect(&strict, strict.Delimiter), &strict, buf, start, detectRows, whole)
		return err == nil && len(s.rows) > 0 && (o.NullPadding || s.isRegular(len(s.rows[0])))
	}
	return !isTable(o.Quote) && isTable(escapeMark)
}

// quotesColumn says whether some column has quotes around all of its values behind the first row.
func (s *sample) quotesColumn(d *dialect, buf []byte, start int) bool {
	quoted := slices.Repeat([]bool{true}, len(s.rows[0]))
	p := s.ends[0]
	for range s.rows[1:] {
		for i := range quoted {
			for i == 0 && p < len(buf) && blankLine(buf, p) > 0 {
				p += blankLine(buf, p)
			}
			field, next, end := d.field(buf, p)
			if end > endRow {
				return slices.Contains(quoted, true) // the last row has no newline
			}
			quoted[i] = quoted[i] && field.IsQuoted()
			p = next
		}
	}
	return slices.Contains(quoted, true)
}
