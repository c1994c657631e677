package rollup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/dataset"
)

// stateFormat is the version of the form of a state.
const stateFormat = 1

// state is what a manifest says.
type state struct {
	Generation int64  `json:"generation"` // of the manifest, from 1 on
	Version    string `json:"version"`    // of the program that wrote it
	Forgotten  bool   `json:"forgotten,omitzero"`

	Statement  string      `json:"statement"`          // as it was written
	Tables     []string    `json:"tables,omitempty"`   // names of the statement that stand for files
	Meaning    string      `json:"meaning"`            // a hash of what statement and options ask for
	TimeZone   string      `json:"time_zone,omitzero"` // of the statement
	Query      query.Query `json:"query"`              // the aggregation whose states the parts have
	Partitions int         `json:"partitions"`
	Inputs     []input     `json:"inputs"`         // the tables of the statement, in the order in which it opens them
	Sources    []string    `json:"sources"`        // keys of the parts that the answer is made of, in order
	Total      int         `json:"total,omitzero"` // of how many leaves the first of Sources is a total; 0 of none
	Tried      int         `json:"tried,omitzero"` // how many leaves there were when a total was made last
	Parts      []part      `json:"parts"`          // all parts that are kept
}

// input is a table that the statement reads.
type input struct {
	Files []file         `json:"files"`
	Known *dataset.Known `json:"known"`
	Read  reading        `json:"read"`
}

// reading says how a table is read.
type reading string

const (
	readParts reading = "parts" // a part for each file
	readWhole reading = "whole" // once for each part that is made
	readLate  reading = "late"  // by the answer, which joins it to the groups
	readNone  reading = "none"  // its columns are looked up alone
)

// part is the states of some neighbouring files.
type part struct {
	Key    string  `json:"key"`
	Level  int     `json:"level"` // -1 of a total, 0 of a file
	Files  int     `json:"files"`
	First  string  `json:"first,omitzero"` // path of the first file; "" where the part has no file
	Last   string  `json:"last,omitzero"`
	Rows   int64   `json:"rows"` // of the files
	Groups int64   `json:"groups"`
	Full   [][]int `json:"full"`   // by table, of its files: columns that surely have no NULL
	Pack   string  `json:"pack"`   // its name: of its content, and of the attempt that wrote it
	SHA256 string  `json:"sha256"` // of the pack
	Bytes  int64   `json:"bytes"`
	Blobs  []int64 `json:"blobs"` // bytes of the blobs of the pack, by partition
}

// packName matches names of packs. No two attempts write one name, so that none removes what another has written.
var packName = regexp.MustCompile(`^[0-9a-f]{16}\.[0-9a-f]{16}$`)

// name returns where the part's pack lies in the directory.
func (p *part) name() string { return partsDir + "/" + p.Pack + packSuffix }

// pack returns the part's pack.
func (p *part) pack() workdir.Pack {
	return workdir.Pack{Name: p.name(), Run: p.Key, Bytes: p.Bytes, Blobs: p.Blobs}
}

// check refuses numbers and names that no run writes.
func (s *state) check() error {
	columns := make([]int, len(s.Inputs)) // how many each table has
	for i := range s.Inputs {
		if s.Inputs[i].Known == nil {
			return fmt.Errorf("table %d has no columns", i)
		}
		schema, err := s.Inputs[i].Known.Columns()
		if err != nil {
			return err
		}
		columns[i] = schema.NumFields()
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		for table, full := range p.Full {
			if table >= len(columns) || slices.ContainsFunc(full, func(c int) bool { return c < 0 || c >= columns[table] }) {
				return fmt.Errorf("part %s knows of columns that no table has", p.Key)
			}
		}
		var sum int64
		for _, n := range p.Blobs {
			if n < 0 || n > p.Bytes-sum {
				return fmt.Errorf("part %s has blobs larger than its pack", p.Key)
			}
			sum += n
		}
		if len(p.Key) != 32 || !packName.MatchString(p.Pack) || len(p.Full) != len(columns) ||
			len(p.Blobs) != s.Partitions || sum != p.Bytes {
			return fmt.Errorf("part %q has %d blobs of %d B", p.Key, len(p.Blobs), sum)
		}
	}
	return nil
}

// The names in the directory of a state.
const (
	manifestsDir   = "manifest"
	manifestSuffix = ".manifest"
	partsDir       = "parts"
	packSuffix     = ".pack"
	lockName       = "lock"
)

func manifestName(generation int64) string {
	return fmt.Sprintf("%s/%012d%s", manifestsDir, generation, manifestSuffix)
}

// generationOf returns the generation of a manifest's name, within its folder; 0 of another name.
func generationOf(name string) int64 {
	number, ok := strings.CutSuffix(name, manifestSuffix)
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || n < 0 {
		return 0
	}
	return n
}

// stateDir is the directory of a state.
type stateDir struct{ workdir.Dir }

// generation returns the number of the newest manifest; 0 where there is none.
func (d stateDir) generation() (newest int64, err error) {
	list, err := d.List(manifestsDir, "")
	for _, e := range list {
		newest = max(newest, generationOf(e.Name))
	}
	return newest, err
}

// envelope is the form of a manifest's file.
type envelope struct {
	Format int             `json:"format"`
	SHA256 string          `json:"sha256"` // of State
	State  json.RawMessage `json:"state"`
}

// attemptsMax bounds how often a manifest is looked for that a run replaces meanwhile.
const attemptsMax = 10

// current returns the newest state; nil where there is none, or only one that was forgotten. generation is its number.
func (d stateDir) current() (s *state, generation int64, err error) {
	for range attemptsMax {
		if generation, err = d.generation(); err != nil || generation == 0 {
			return nil, 0, err
		}
		s, err = d.read(generation)
		if !errors.Is(err, fs.ErrNotExist) { // else a run has published the next, and removed this
			break
		}
	}
	if err == nil && s.Forgotten {
		s = nil
	}
	return s, generation, err
}

// read reads the manifest of a generation.
func (d stateDir) read(generation int64) (*state, error) {
	name := manifestName(generation)
	var e envelope
	if err := d.ReadJSON(name, &e); err != nil {
		return nil, err
	}
	if e.Format != stateFormat {
		return nil, fmt.Errorf("%w: %s has format %d, and this program writes %d; %s", ErrOther, d.Path(name), e.Format,
			stateFormat, d.remedy())
	}
	sum := sha256.Sum256(e.State)
	if hex.EncodeToString(sum[:]) != e.SHA256 {
		return nil, fmt.Errorf("%w: %s has another checksum than it says", ErrDamaged, d.Path(name))
	}
	s := new(state)
	decoder := json.NewDecoder(bytes.NewReader(e.State))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(s)
	if err == nil {
		err = s.check()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, d.Path(name), err)
	case s.Generation != generation:
		return nil, fmt.Errorf("%w: %s says that it is generation %d", ErrDamaged, d.Path(name), s.Generation)
	}
	return s, nil
}

// remedy says what to do about a state that cannot be gone on with.
func (d stateDir) remedy() string {
	return fmt.Sprintf("mpga rollup rebuild %s forgets the state, so that the next run reads all files", d.Root)
}

// errTaken marks a state that surely has not been published.
var errTaken = errors.New("its number is taken")

// publish makes a state the newest, unless another run has made its generation. U3.
func (d stateDir) publish(s *state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	whole := fmt.Appendf(nil, `{"format":%d,"sha256":"%x","state":%s}`+"\n", stateFormat, sum, text) // an envelope
	name := manifestName(s.Generation)
	switch err := d.PutNew(name, whole); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w (%w)", d.overtaken(s.Generation), errTaken)
	case err != nil:
		return err
	}
	if err := d.isNewest(s.Generation); err != nil { // the generations after it were made while this run slept
		return errors.Join(err, d.FS.Remove(d.Path(name)))
	}
	return nil
}

// isNewest refuses a generation that is not the newest any more.
func (d stateDir) isNewest(generation int64) error {
	newest, err := d.generation()
	if err == nil && newest != generation {
		err = d.overtaken(generation)
	}
	return err
}

func (d stateDir) overtaken(generation int64) error {
	return fmt.Errorf("%w: generation %d of %s is another run's; nothing of this run counts, run again", ErrOvertaken,
		generation, d.Root)
}

// lock keeps other runs away from a state on a file system, until unlock is called. A killed process leaves a file
// that nobody has locked, which is taken over. In a store only U3 holds.
func (d stateDir) lock() (unlock func() error, err error) {
	if _, remote := d.Objects(); remote {
		return func() error { return nil }, nil
	}
	_, err = d.FS.Stat(d.Root)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err := d.FS.MkdirAll(d.Root, 0o777); err != nil {
		return nil, err
	}
	path := d.Path(lockName)
	file, err := d.FS.Create(path, 0o666)
	var left error // why the file of a process that is gone was not removed
	if errors.Is(err, fs.ErrExist) {
		left = d.FS.RemoveAbandoned(path)
		file, err = d.FS.Create(path, 0o666)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(fmt.Errorf("%w: %s is held by %s; if no run is at work on any machine, remove the file",
			ErrBusy, path, d.holder()), left)
	}
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // empty where it is not known
	who := fmt.Sprintf("process %d on %s since %s", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	_, err = file.Write([]byte(who))
	unlock = func() error {
		err := d.FS.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if isNew {
			_ = d.FS.Remove(d.Root) // only where it is empty, since the run has failed
		}
		return errors.Join(err, file.Close())
	}
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}

// holder returns what the file of the lock says.
func (d stateDir) holder() string {
	who := "another run"
	_ = d.Read(lockName, func(text []byte) error { // the run may have ended
		if len(text) > 0 {
			who = string(text)
		}
		return nil
	})
	return who
}

// checkOwn refuses a directory without a state that has something else in it.
func (d stateDir) checkOwn() error {
	list, err := d.Walk("")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range list {
		if e.Name != lockName && !strings.HasPrefix(e.Name, partsDir+"/") && !strings.HasPrefix(e.Name, manifestsDir+"/") {
			return fmt.Errorf("%w: %s has %s in it, and no state of a roll-up: name an empty directory, or a new one",
				ErrOther, d.Root, e.Name)
		}
	}
	return err
}
