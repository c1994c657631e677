package sink

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sink/text"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/recordreader"
)

// partitioner tells the rows of a batch apart by their folders.
type partitioner struct {
	columns []int            // indexes of the columns of PartitionBy in a batch
	prefix  []string         // "key=" for each of columns
	rest    []int            // indexes of the other columns, which the files have
	schema  *arrow.Schema    // of the files: the columns of rest
	mem     memory.Allocator // of the rows that take returns

	numbers map[string]int // number of a folder of the last batch, by the folder's name
	folders []string       // names of the folders of the last batch, by number
	rows    [][]int64      // rows of the last batch in each folder, by number
}

// hiveNull is the folder value that stands for NULL.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// folderBytesMax is the longest name that file systems allow.
const folderBytesMax = 255

func newPartitioner(schema *arrow.Schema, by []string, mem memory.Allocator) (*partitioner, error) {
	p := &partitioner{mem: mem, numbers: make(map[string]int)}
	for i, name := range by {
		found := schema.FieldIndices(name)
		switch {
		case len(found) == 0:
			return nil, knob.Errorf("%s: there is no column %q", knob.Name("sink.PartitionBy"), name)
		case len(found) > 1:
			return nil, knob.Errorf("%s: %d columns are named %q", knob.Name("sink.PartitionBy"), len(found), name)
		case slices.Contains(by[:i], name):
			return nil, knob.Errorf("%s: the column %q is named twice", knob.Name("sink.PartitionBy"), name)
		}
		if t := schema.Field(found[0]).Type; !namesFolders(t) {
			return nil, knob.Errorf(
				"%s: column %q: values of type %s name no folders: want integers, decimals, strings, truth "+
					"values, dates or timestamps",
				knob.Name("sink.PartitionBy"), name, query.TypeName(t))
		}
		if name == "" {
			return nil, knob.Errorf("%s: a column without a name names no folders: give it an alias",
				knob.Name("sink.PartitionBy"))
		}
		p.columns = append(p.columns, found[0])
		p.prefix = append(p.prefix, string(appendShown(nil, name))+"=")
	}
	var fields []arrow.Field
	for i, f := range schema.Fields() {
		if !slices.Contains(p.columns, i) {
			p.rest = append(p.rest, i)
			fields = append(fields, f)
		}
	}
	if len(fields) == 0 {
		return nil, knob.Errorf("%s: no column is left for the files", knob.Name("sink.PartitionBy"))
	}
	meta := schema.Metadata()
	p.schema = arrow.NewSchema(fields, &meta)
	return p, nil
}

func namesFolders(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.BOOL, arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256,
		arrow.DATE32, arrow.DATE64, arrow.TIMESTAMP,
		arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	}
	return arrow.IsInteger(t.ID())
}

// split finds the folders of a batch's rows. They are numbered in the order of their first rows.
// The name of a folder has a space where a timestamp's text has a T, as DuckDB writes folders.
func (p *partitioner) split(batch arrow.RecordBatch) error {
	clear(p.numbers)
	p.folders, p.rows = p.folders[:0], p.rows[:0]
	values := make([]func([]byte, int) ([]byte, bool), len(p.columns))
	for i, c := range p.columns {
		values[i] = text.Appender(batch.Column(c))
	}
	var folder, last, value []byte
	number := -1
	for row := range int(batch.NumRows()) {
		folder = folder[:0]
		for i, appendText := range values {
			if i > 0 {
				folder = append(folder, '/')
			}
			start := len(folder)
			folder = append(folder, p.prefix[i]...)
			var valid bool
			if value, valid = appendText(value[:0], row); !valid {
				folder = append(folder, hiveNull...)
			} else if !utf8.Valid(value) {
				return knob.Errorf("%s: column %q: %q is not UTF-8, which a folder's name must be",
					knob.Name("sink.PartitionBy"), batch.ColumnName(p.columns[i]), value)
			} else {
				folder = appendValue(folder, value)
			}
			if n := len(folder) - start; n > folderBytesMax {
				return knob.Errorf("%s: column %q: a folder's name of %d B, where %d are the most",
					knob.Name("sink.PartitionBy"), batch.ColumnName(p.columns[i]), n, folderBytesMax)
			}
		}
		if number < 0 || !bytes.Equal(folder, last) {
			number = p.numberOf(folder)
			last = append(last[:0], folder...)
		}
		p.rows[number] = append(p.rows[number], int64(row))
	}
	return nil
}

func (p *partitioner) numberOf(folder []byte) int {
	number, ok := p.numbers[string(folder)]
	if !ok {
		number = len(p.folders)
		name := string(folder)
		p.numbers[name] = number
		p.folders = append(p.folders, name)
		if number < cap(p.rows) {
			p.rows = p.rows[:number+1]
			p.rows[number] = p.rows[number][:0]
		} else {
			p.rows = append(p.rows, nil)
		}
	}
	return number
}

// take returns some rows of a batch, without the columns that name folders.
func (p *partitioner) take(batch arrow.RecordBatch, rows []int64) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(p.rest))
	defer recordreader.ReleaseAll(columns)
	for i, c := range p.rest {
		values := batch.Column(c)
		if len(p.folders) == 1 { // which has all rows
			values.Retain()
			columns[i] = values
			continue
		}
		var err error
		if columns[i], err = gather.Take(p.mem, values, rows); err != nil {
			return nil, fmt.Errorf("column %q: %w", batch.ColumnName(c), err)
		}
	}
	return array.NewRecordBatch(p.schema, columns, int64(len(rows))), nil
}

// appendValue escapes the text of a value, so that it is not the name for NULL.
func appendValue(dst, text []byte) []byte {
	if string(text) == hiveNull {
		dst, text = appendByte(dst, text[0]), text[1:]
	}
	return appendEscaped(dst, text)
}

// appendShown escapes the name of a column, so that its folders are not hidden: readers pass over
// names that begin with a dot or an underscore.
func appendShown(dst []byte, name string) []byte {
	if name[0] == '.' || name[0] == '_' {
		dst, name = appendByte(dst, name[0]), name[1:]
	}
	return appendEscaped(dst, name)
}

// appendByte escapes a byte.
func appendByte(dst []byte, c byte) []byte {
	const hex = "0123456789ABCDEF"
	return append(dst, '%', hex[c>>4], hex[c&15])
}

// appendEscaped escapes all but letters, digits and -._~, as URLs and DuckDB do.
func appendEscaped[T string | []byte](dst []byte, text T) []byte {
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0:
			dst = append(dst, c)
		default:
			dst = appendByte(dst, c)
		}
	}
	return dst
}
