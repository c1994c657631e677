package distributed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/partition"
)

// ErrPlan marks a plan that cannot be carried out, however often it is tried: it is damaged or of
// another version, or its input has changed. A new plan can.
var ErrPlan = errors.New("the plan cannot be carried out")

// planFormat is the version of Plan's form.
const planFormat = 2

// Plan says how a statement is answered in parts. It travels as JSON.
type Plan struct {
	Format  int    `json:"format"`  // 2
	Version string `json:"version"` // of the program that made it, and that carries it out
	ID      string `json:"id"`      // 16 hexadecimal digits: a hash of all other fields but Work and Replaces
	Name    string `json:"name"`    // for people
	Work    string `json:"work"`    // the directory, or URL, of the plan's blobs; it ends in ID

	Statement     string         `json:"statement"`
	Tables        []string       `json:"tables,omitempty"` // names behind FROM of tables; files stand there, too
	Overflow      query.Overflow `json:"overflow,omitzero"`
	Deterministic bool           `json:"deterministic,omitzero"`
	TimeZone      string         `json:"time_zone,omitzero"` // of TIMESTAMPTZ; "" is UTC

	Inputs []Input `json:"inputs"` // the tables that the statement reads, in the order in which it opens them

	// Exchange is rows that go from the tasks of splits to others by the hash of keys; nil of a plan without.
	Exchange *Exchange `json:"exchange,omitempty"`

	Splits     []Split     `json:"splits"`
	Partitions int         `json:"partitions"`        // of the hash of the keys, a power of two
	Combines   int         `json:"combines,omitzero"` // tasks between splits and merges: of a tree, or an exchange
	Merges     []Range     `json:"merges"`            // of partitions; together they are all partitions
	Groups     int64       `json:"groups"`            // about as many there are; -1 when nothing tells
	Query      query.Query `json:"query"`             // the aggregation; of nothing where the statement makes rows
	Ordered    bool        `json:"ordered,omitzero"`  // rows of merges are ordered, or limited, by Commit
	Columns    []Column    `json:"columns"`           // of the result, for people
	Result     []byte      `json:"result"`            // schema of the result, as a message of Arrow IPC
	Output     Output      `json:"output"`
	Stages     []Stage     `json:"stages"` // what a scheduler runs, one after the other

	// Replaces is the output as it was when the plan was made: its manifest, of a directory; nil where there was
	// none. Commit replaces nothing else.
	Replaces *dataset.Identity `json:"replaces,omitzero"`
}

// Input is a table that the statement reads: files.
type Input struct {
	Files []dataset.Identity `json:"files"` // in order
	Scan  dataset.Options    `json:"scan"`  // how the files are read, and what is known of their columns
	Read  Reading            `json:"read"`
}

// bytes returns the bytes of the files.
func (in *Input) bytes() (sum int64) {
	for _, f := range in.Files {
		sum += f.Bytes
	}
	return sum
}

// Reading says how tasks of StagePartial read an input.
type Reading string

// The ways.
const (
	ReadSplits Reading = "splits" // a task one split, of one of these inputs
	ReadWhole  Reading = "whole"  // each task all of it
	ReadLate   Reading = "late"   // the commit all of it, which joins it to the groups
	ReadNone   Reading = "none"   // nobody: its columns are looked up alone
)

// Split is a part of an input: rows of neighbouring files. It may begin within its first file, and
// end within its last.
type Split struct {
	Input int    `json:"input,omitzero"`
	First int    `json:"first"`         // index of a file of the input
	From  uint64 `json:"from,omitzero"` // position in that file of the first row
	Last  int    `json:"last"`          // index of a file
	To    uint64 `json:"to,omitzero"`   // position in that file behind the last row; 0 is the end of the file
	Rows  int64  `json:"rows"`          // -1 when it is not known
	Bytes int64  `json:"bytes"`         // about what reading takes of the files
	None  bool   `json:"none,omitzero"` // the input has no rows: there is nothing to read
}

// Range is some partitions, the last included.
type Range struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// String returns the range as First..Last.
func (r Range) String() string { return fmt.Sprintf("%d..%d", r.First, r.Last) }

// Column is a column of the result.
type Column = sink.ManifestColumn

// Output says where the result goes, and how it is laid out.
type Output struct {
	Path string `json:"path"` // of a file or a directory, or a URL
	sink.Options
}

// Stage is a step of a plan. All tasks of a stage must be done before the next begins.
type Stage struct {
	Name  string `json:"name"`
	Tasks int    `json:"tasks"` // numbered from 0 on
}

// The names of stages.
const (
	StagePartial = "partial"
	StageCombine = "combine"
	StageMerge   = "merge"
	StageCommit  = "commit"
)

// Exchange is rows that tasks of StagePartial write by the hash of keys. Tasks of StageCombine, or, where the
// statement makes rows, of StageMerge, read the rows of some partitions of all splits.
type Exchange struct {
	Partitions     int    `json:"partitions"` // of the hash, a power of two
	Sides          []Sent `json:"sides"`
	BroadcastBytes int64  `json:"broadcast_bytes"` // tables up to that many bytes are read whole
	Rows           bool   `json:"rows,omitzero"`   // the statement makes rows of them, and no groups
}

// Sent is rows that go to other tasks.
type Sent struct {
	Inputs []int    `json:"inputs"` // whose splits the rows are made of
	What   string   `json:"what"`   // for people
	Keys   []string `json:"keys"`   // names of columns
	Schema []byte   `json:"schema"` // of the rows, as a message of Arrow IPC
}

// sideOf returns the side that an input's rows go to.
func (e *Exchange) sideOf(input int) int {
	return slices.IndexFunc(e.Sides, func(s Sent) bool { return slices.Contains(s.Inputs, input) })
}

// stages lists what a scheduler runs.
func (p *Plan) stages() []Stage {
	stages := []Stage{{StagePartial, len(p.Splits)}}
	if p.Combines > 0 {
		stages = append(stages, Stage{StageCombine, p.Combines})
	}
	return append(stages, Stage{StageMerge, len(p.Merges)}, Stage{StageCommit, 1})
}

// tasks returns how many tasks a stage has; 0 where the plan has no such stage.
func (p *Plan) tasks(stage string) int {
	for _, s := range p.Stages {
		if s.Name == stage {
			return s.Tasks
		}
	}
	return 0
}

// blobs returns how many blobs a pack of a stage has.
func (p *Plan) blobs(stage string) int {
	if p.Exchange != nil && stage == StagePartial {
		return p.Exchange.Partitions
	}
	return p.Partitions
}

// combined returns the splits of a node of the tree: [from, to).
func (p *Plan) combined(node int) (from, to int) {
	splits := len(p.Splits)
	return splits * node / p.Combines, splits * (node + 1) / p.Combines
}

// hash returns the plan's id.
func (p *Plan) hash() (string, error) {
	anonymous := *p
	anonymous.ID, anonymous.Work, anonymous.Replaces = "", "", nil
	text, err := json.Marshal(&anonymous)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// File is where Write has put the plan, and where all tasks can read it: a path, or a URL.
func (p *Plan) File() string { return p.Work + "/" + planFile }

// Encode writes the plan as JSON.
func (p *Plan) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // statements have < and >
	e.SetIndent("", " ")
	err := e.Encode(p)
	return b.Bytes(), err
}

// Decode reads a plan, and refuses one that this version of the program did not make.
func Decode(text []byte, version string) (*Plan, error) {
	var head struct {
		Format  int    `json:"format"`
		Version string `json:"version"`
	}
	err := json.Unmarshal(text, &head)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: it is not JSON, or cut off: %w", ErrPlan, err)
	case head.Format != planFormat || head.Version != version:
		return nil, fmt.Errorf(
			"%w: mpga %s made it, with format %d; this is mpga %s, with format %d: plan again, or run mpga %[2]s everywhere",
			ErrPlan, head.Version, head.Format, version, planFormat)
	}
	p := new(Plan)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows it", ErrPlan)
	}
	id, err := p.hash()
	switch {
	case err != nil:
		return nil, err
	case id != p.ID:
		return nil, fmt.Errorf("%w: it was changed after it was made: its id is %q, and the id of what it says %s",
			ErrPlan, p.ID, id)
	case workdir.BaseName(p.Work) != p.ID:
		return nil, fmt.Errorf("%w: its work directory %s is another plan's", ErrPlan, p.Work)
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return p, nil
}

// validate refuses a plan whose numbers contradict each other, whoever has made it.
func (p *Plan) validate() error {
	if err := p.validateSplits(); err != nil {
		return err
	}
	if n := p.Partitions; n < 1 || n > partition.FanOutMax || n&(n-1) != 0 || p.Combines < 0 ||
		p.Exchange == nil && p.Combines > len(p.Splits) {
		return fmt.Errorf("it has %d partitions, and %d nodes for %d splits", n, p.Combines, len(p.Splits))
	}
	if err := p.validateExchange(); err != nil {
		return err
	}
	next := 0
	for _, r := range p.Merges {
		if r.First != next || r.Last < r.First || r.Last >= p.Partitions {
			return fmt.Errorf("a merge of the partitions %s of %d follows partition %d", r, p.Partitions, next-1)
		}
		next = r.Last + 1
	}
	if next != p.Partitions || !slices.Equal(p.Stages, p.stages()) {
		return fmt.Errorf("its merges end at partition %d of %d, and its stages are %v", next, p.Partitions, p.Stages)
	}
	return nil
}

// validateExchange refuses an exchange whose numbers contradict the plan's.
func (p *Plan) validateExchange() error {
	e := p.Exchange
	if e == nil {
		return nil
	}
	if n := e.Partitions; n < 1 || n > partition.FanOutMax || n&(n-1) != 0 || p.Combines > n ||
		e.Rows != (p.Combines == 0) || e.Rows && n != p.Partitions {
		return fmt.Errorf("it sends rows to %d partitions, and has %d nodes and %d partitions", n, p.Combines, p.Partitions)
	}
	for i, s := range p.Splits {
		if e.sideOf(s.Input) < 0 {
			return fmt.Errorf("the rows of split %d go nowhere", i)
		}
	}
	return nil
}

// validateSplits refuses splits that no input has.
func (p *Plan) validateSplits() error {
	for i := range p.Inputs {
		if p.Inputs[i].Scan.Known == nil {
			return fmt.Errorf("input %d has no columns", i)
		}
	}
	if len(p.Splits) == 0 || len(p.Splits) > splitsMax {
		return fmt.Errorf("it has %d splits", len(p.Splits))
	}
	for i, s := range p.Splits {
		if s.Input < 0 || s.Input >= len(p.Inputs) || p.Inputs[s.Input].Read != ReadSplits {
			return fmt.Errorf("split %d has the input %d, of %d", i, s.Input, len(p.Inputs))
		}
		if files := len(p.Inputs[s.Input].Files); !s.None && (s.First < 0 || s.First > s.Last || s.Last >= files) {
			return fmt.Errorf("split %d has the files %d to %d of %d", i, s.First, s.Last, files)
		}
	}
	return nil
}

// AllFiles returns the files of all inputs.
func (p *Plan) AllFiles() (files []dataset.Identity) {
	for i := range p.Inputs {
		files = append(files, p.Inputs[i].Files...)
	}
	return files
}

// result returns the columns of the result.
func (p *Plan) result() (*arrow.Schema, error) {
	return (&dataset.Known{Schema: p.Result}).Columns()
}
