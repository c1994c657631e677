package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/mpga/mpga/engine/scan/dataset"

	"github.com/mpga/mpga/internal/vfs"
)

// stepState is what a step's last success read and wrote. J2, J3.
type stepState struct {
	Format      int                `json:"format"`
	Step        string             `json:"step"`
	Fingerprint string             `json:"fingerprint"` // of the query and of how it reads and writes
	Version     string             `json:"version"`     // of the program
	Inputs      []dataset.Identity `json:"inputs"`
	Outputs     []dataset.Identity `json:"outputs"`
	Finished    time.Time          `json:"finished"`
	Rows        int64              `json:"rows"` // of the output
}

// stateFormat is the version of stepState. A state of another version counts as none.
const stateFormat = 1

// statePath returns where the state of a step is kept: of each output by itself, so that a job
// remembers every set of variables, as dates are, whose outputs lie apart.
func (j *Job) statePath(s *Step) string {
	output := sha256.Sum256([]byte(filepath.Clean(s.Output.Path)))
	return filepath.Join(j.State, s.Name+"."+hex.EncodeToString(output[:8])+".json")
}

// fingerprint names what a step does to its input: two steps of the same fingerprint make the same
// output.
func (s *Step) fingerprint() (string, error) {
	text, err := json.Marshal(struct {
		SQL           string
		Clauses       []clause
		Limit         int64
		Overflow      string
		Deterministic bool
		TimeZone      string
		From          []string
		Input         Input
		Types         string // of Input, whose JSON is without them
		Output        Output
		Rollup        Rollup `json:",omitzero"`
	}{s.SQL, s.clauses(), s.Limit, s.Overflow, s.Deterministic, s.TimeZone,
		s.From, s.Input, fmt.Sprint(s.Input.CSV.Types), s.Output,
		s.Rollup})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// readState returns what a step's last success left, nil where there is none that can be used.
func readState(fsys vfs.FS, path string) *stepState {
	file, err := fsys.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var st stepState
	if json.NewDecoder(file).Decode(&st) != nil || st.Format != stateFormat {
		return nil
	}
	return &st
}

func (st *stepState) write(fsys vfs.FS, path string) error {
	text, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFileBy(fsys, path, 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// why says why a step must run, "" where its last success still holds. now is what would be done to
// which inputs, output where the result goes.
func (st *stepState) why(fsys vfs.FS, now *stepState, output string) string {
	switch {
	case st == nil:
		return "it has not run yet"
	case st.Fingerprint != now.Fingerprint:
		return "the step was changed"
	case st.Version != now.Version:
		return fmt.Sprintf("version %s of mpga ran it last, this is %s", st.Version, now.Version)
	}
	if difference := changed(st.Inputs, now.Inputs); difference != "" {
		return "the input " + difference
	}
	outputs, err := written(fsys, output)
	if err != nil {
		return "the output is not there"
	}
	if difference := changed(st.Outputs, outputs); difference != "" {
		return "the output " + difference
	}
	return ""
}

// changed says how files differ from what they were.
func changed(before, now []dataset.Identity) string {
	was, is := byPath(before), byPath(now)
	for _, id := range now {
		old, known := was[id.Path]
		switch {
		case !known:
			return id.Path + " is new"
		case !old.Same(id):
			return id.Path + " has changed"
		}
	}
	for _, id := range before {
		if _, left := is[id.Path]; !left {
			return id.Path + " is gone"
		}
	}
	if len(before) != len(now) {
		return "is read more or less often than before"
	}
	return ""
}

func byPath(files []dataset.Identity) map[string]dataset.Identity {
	m := make(map[string]dataset.Identity, len(files))
	for _, id := range files {
		m[id.Path] = id
	}
	return m
}

// written lists the files of an output, which is a file, a directory or a prefix of objects.
func written(fsys vfs.FS, path string) ([]dataset.Identity, error) {
	if objects, ok := vfs.ObjectsAt(fsys, path); ok {
		below, err := objects.List(strings.TrimRight(path, "/") + "/")
		if err != nil {
			return nil, err
		}
		var files []dataset.Identity
		for _, object := range below {
			file, err := written(fsys, object.Name)
			if err != nil {
				return nil, err
			}
			files = append(files, file...)
		}
		if len(below) > 0 {
			return files, nil
		}
	}
	info, err := fsys.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []dataset.Identity{dataset.NewIdentity(path, info)}, nil
	}
	entries, err := fsys.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []dataset.Identity
	for _, entry := range entries {
		below, err := written(fsys, filepath.Join(path, entry.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, below...)
	}
	return files, nil
}
