package scan

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

// Filtered is a source that leaves rows out, as Filter returns it.
type Filtered interface {
	Source

	// Pruning says how much is left out, and by what. Some counts grow while the source is read.
	Pruning() Pruning
}

// PruningOf returns what a source leaves out: a Filtered, or a source over a Filtered, which it
// returns by a method Unwrap() Source. It returns nil of a source without a filter.
func PruningOf(src Source) *Pruning {
	for {
		switch s := src.(type) {
		case Filtered:
			p := s.Pruning()
			return &p
		case interface{ Unwrap() Source }:
			src = s.Unwrap()
		default:
			return nil
		}
	}
}

// Pruning says how much of a source a predicate kept from being read.
type Pruning struct {
	Files      int64    `json:"files"`       // of the source
	RowGroups  int64    `json:"row_groups"`  // of the source; 0 of formats that have none
	Rows       int64    `json:"rows"`        // of the source; -1 when it is not known
	By         PrunedBy `json:"left_out_by"` // before reading
	BytesAsked int64    `json:"bytes_asked"` // of Bloom filters, dictionaries and page indexes that were read for it

	// These grow while the source is read.
	RowsTested  int64 `json:"rows_tested"`  // by the RowFilter
	RowsKept    int64 `json:"rows_kept"`    // by the RowFilter
	BytesPassed int64 `json:"bytes_passed"` // of compressed pages of which no row was needed: not decoded, most not read
}

// PrunedBy says how much each kind of knowledge kept from being read, by PruneReason.
type PrunedBy [PruneReasons]Pruned

// reasonKey is the reason in JSON.
func reasonKey(r PruneReason) string {
	return strings.ReplaceAll(strings.ToLower(r.String()), " ", "_")
}

// MarshalJSON writes an object with the reasons as keys.
func (p PrunedBy) MarshalJSON() ([]byte, error) {
	by := make(map[string]Pruned, len(p))
	for r, of := range p {
		by[reasonKey(PruneReason(r))] = of
	}
	return json.Marshal(by)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *PrunedBy) UnmarshalJSON(text []byte) error {
	var by map[string]Pruned
	err := json.Unmarshal(text, &by)
	for r := range p {
		p[r] = by[reasonKey(PruneReason(r))]
	}
	return err
}

// Pruned says how much one kind of knowledge kept from being read. Rows counts the rows of the
// files, of the row groups and of the pages.
type Pruned struct {
	Files     int64 `json:"files"`
	RowGroups int64 `json:"row_groups"`
	Pages     int64 `json:"pages"`
	Rows      int64 `json:"rows"`
}

// Left returns how many rows are left to read, or -1 where that is not known.
func (p *Pruning) Left() int64 {
	left := p.Rows
	for _, by := range p.By {
		left -= by.Rows
	}
	return max(left, -1)
}

// Reasons lists what was left out, such as "80 row groups by statistics"; it may be empty.
func (p *Pruning) Reasons() []string {
	var reasons []string
	add := func(n int64, noun string, r int) {
		if n > 1 {
			noun += "s"
		}
		if n > 0 {
			reasons = append(reasons, fmt.Sprintf("%s %s by %s", humanize.Comma(n), noun, PruneReason(r)))
		}
	}
	for r, by := range p.By {
		add(by.Files, "file", r)
		if PruneReason(r) != PrunedByFolder {
			add(by.RowGroups, "row group", r)
		}
		add(by.Pages, "page", r)
	}
	return reasons
}

// String says how many rows are left, and what was left out, in a line.
func (p *Pruning) String() string {
	reasons := p.Reasons()
	if len(reasons) == 0 {
		return "nothing is left out before it is read"
	}
	text := "leaves out " + strings.Join(reasons, ", ")
	if left := p.Left(); left >= 0 {
		text = fmt.Sprintf("%s of %s rows to read, %s", humanize.Comma(left), humanize.Comma(p.Rows), text)
	}
	if p.BytesAsked > 0 {
		text += fmt.Sprintf(", for which %s were read", humanize.IBytes(uint64(p.BytesAsked)))
	}
	return text
}

// PruneReason is the knowledge by which rows are left out unread.
type PruneReason uint8

// The reasons, in the order in which they are tried.
const (
	PrunedByFolder     PruneReason = iota // key=value folders, and partitions of tables
	PrunedByStatistics                    // of row groups
	PrunedByBloomFilter
	PrunedByDictionary
	PrunedByPageIndex
	PruneReasons = iota // how many there are
)

// Decoders name the reasons by constants of package decode, which are the same numbers.
var _ = [1]struct{}{}[int(PrunedByPageIndex)-int(decode.PrunedByPageIndex)]

var reasonNames = [PruneReasons]string{"folders", "statistics", "Bloom filters", "dictionaries", "page indexes"}

// String returns what plans and statistics call the reason.
func (r PruneReason) String() string { return reasonNames[r] }
