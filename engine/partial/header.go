package partial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/partition"
)

// header is the text at the head of a blob of partial states, as JSON. internal/store/FORMAT.md
// describes it.
type header struct {
	Run        string         `json:"run"`              // name of the call that wrote the blob
	Merged     []string       `json:"merged,omitempty"` // names of the runs whose states that call merged
	Partition  int            `json:"partition"`
	Partitions int            `json:"partitions"`
	Hash       int            `json:"hash"`      // hashVersion
	Rows       int64          `json:"rows"`      // of the source
	Positions  uint64         `json:"positions"` // that the source takes in the input
	Query      query.Query    `json:"query"`
	Columns    []headerColumn `json:"columns"` // that the query reads, keys first
	headerLayout
}

// headerLayout says how states lie in words.
type headerLayout struct {
	KeyWords int          `json:"key_words"` // of a canonical key
	Keys     []headerKey  `json:"keys"`
	Folds    []headerFold `json:"folds"`
}

type headerColumn struct {
	Name     string     `json:"name"`
	Type     columnType `json:"type"`
	Nullable bool       `json:"nullable"`
}

// headerKey is where a key column lies in the canonical key, as in rowdata.KeyField.
type headerKey struct {
	Word     int    `json:"word"`
	Shift    uint8  `json:"shift"`
	Bits     uint8  `json:"bits"`
	Base     int64  `json:"base"`
	Span     uint64 `json:"span"`
	NullWord int    `json:"null_word"`
	NullBit  int    `json:"null_bit"`
}

// headerFold describes a state, so that a program with other folds refuses it.
type headerFold struct {
	Kind  string `json:"kind"`
	Words int    `json:"words"`
}

// hashVersion names the hash that partitions are made with: package partition's hash of the packed
// key, with Seed(0).
const hashVersion = 1

// newHeader describes the states of a query, which is bound canonically. Nullable follows from what
// the source knows of its columns.
func newHeader(b, canonical *rowdata.Bound, partitions int) (*header, error) {
	h := &header{Partitions: partitions, Hash: hashVersion, Query: b.Query, headerLayout: layoutOf(canonical)}
	for i := range b.Columns {
		c := &b.Columns[i]
		dt, err := newColumnType(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		h.Columns = append(h.Columns, headerColumn{Name: c.Name, Type: dt, Nullable: c.Nullable})
	}
	for _, text := range queryTexts(b) {
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("partial states are described in UTF-8, which %q is not", text)
		}
	}
	return h, nil
}

// queryTexts lists the names and constants of a query.
func queryTexts(b *rowdata.Bound) (texts []string) {
	for _, k := range b.Query.Keys {
		texts = append(texts, k.Column, k.Name)
	}
	for _, a := range b.Query.Aggregates {
		texts = append(append(texts, a.Name, a.Separator), a.Args...)
	}
	for i := range b.Columns {
		texts = append(texts, b.Columns[i].Name)
	}
	return texts
}

// layoutOf describes the layout of a bound's states.
func layoutOf(b *rowdata.Bound) headerLayout {
	l := headerLayout{KeyWords: b.Keys.Words, Keys: []headerKey{}, Folds: []headerFold{}}
	for _, f := range b.Keys.Fields {
		l.Keys = append(l.Keys, headerKey{f.Word, f.Shift, f.Bits, f.Base, f.Span, f.NullWord, f.NullBit})
	}
	for _, f := range b.Folds {
		l.Folds = append(l.Folds, headerFold{Kind: f.Kind.String(), Words: f.Words})
	}
	return l
}

func (l headerLayout) equal(other headerLayout) bool {
	return l.KeyWords == other.KeyWords && slices.Equal(l.Keys, other.Keys) && slices.Equal(l.Folds, other.Folds)
}

func (h *header) encode() ([]byte, error) { return json.Marshal(h) }

// decodeHeader reads a header that is whole: its checksum is right.
func decodeHeader(text []byte) (*header, error) {
	h := new(header)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // a field that is not known may change what states mean
	if err := decoder.Decode(h); err != nil {
		return nil, fmt.Errorf("header: %w: %w", store.ErrVersion, err)
	}
	switch {
	case h.Hash != hashVersion:
		return nil, fmt.Errorf("header: %w: partitions of hash version %d, this program has %d",
			store.ErrVersion, h.Hash, hashVersion)
	case h.Partitions < 1 || h.Partitions > partition.FanOutMax || h.Partitions&(h.Partitions-1) != 0 ||
		h.Partition < 0 || h.Partition >= h.Partitions || h.Rows < 0:
		return nil, fmt.Errorf("header: partition %d of %d, %d rows: %w", h.Partition, h.Partitions, h.Rows, scan.ErrCorrupt)
	}
	return h, nil
}

// bindHeaders returns the bound of the states that headers describe. A column is nullable in the
// result if it is nullable in some header.
func bindHeaders(headers []*header) (*rowdata.Bound, error) {
	h := headers[0]
	fields := make([]arrow.Field, len(h.Columns))
	stats := make([]rowdata.ColumnStats, len(h.Columns))
	for i, c := range h.Columns {
		dt, err := c.Type.dataType()
		if err != nil {
			return nil, fmt.Errorf("column %q: %w: %w", c.Name, store.ErrVersion, err)
		}
		fields[i] = arrow.Field{Name: c.Name, Type: dt, Nullable: true}
		stats[i].NoNulls = !nullableIn(headers, i)
	}
	schema := arrow.NewSchema(fields, nil)
	bound, err := rowdata.BindCanonical(h.Query, schema, nil)
	if err != nil {
		return nil, err
	}
	if len(bound.Columns) != len(fields) || !layoutOf(bound).equal(h.headerLayout) {
		return nil, fmt.Errorf("%w: the states have other keys or folds than this program's", store.ErrVersion)
	}
	for i := range bound.Columns {
		if bound.Columns[i].Index != i {
			return nil, fmt.Errorf("header: columns in another order than the query's: %w", scan.ErrCorrupt)
		}
	}
	result, err := rowdata.Bind(h.Query, schema, stats)
	if err != nil {
		return nil, err
	}
	bound.Schema = result.Schema
	return bound, nil
}

// nullableIn reports whether a column may have NULLs in some source.
func nullableIn(headers []*header, column int) bool {
	return slices.ContainsFunc(headers, func(h *header) bool { return h.Columns[column].Nullable })
}

// differs says why the states of another header do not belong with the states of h, or "".
func (h *header) differs(other *header) string {
	switch {
	case queryText(h.Query) != queryText(other.Query):
		return fmt.Sprintf("they are of another query: %s and %s", queryText(h.Query), queryText(other.Query))
	case h.Partitions != other.Partitions:
		return fmt.Sprintf("they are in %d and %d partitions", h.Partitions, other.Partitions)
	case !h.headerLayout.equal(other.headerLayout) || len(h.Columns) != len(other.Columns):
		return "they are of different versions"
	}
	for i, c := range h.Columns {
		if o := other.Columns[i]; c.Name != o.Name || c.Type != o.Type {
			return fmt.Sprintf("column %q has type %s, column %q %s", c.Name, c.Type, o.Name, o.Type)
		}
	}
	return ""
}

// queryText returns the query as JSON.
func queryText(q query.Query) string {
	text, err := json.Marshal(q)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
