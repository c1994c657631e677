package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/stream"
)

// stepState is what a step's last success was made of. J2, J3.
type stepState struct {
	Format      int             `json:"format"`
	Step        string          `json:"step"`
	Fingerprint string          `json:"fingerprint"` // of the query and of how it reads and writes
	Version     string          `json:"version"`     // of the program
	Inputs      []scan.Identity `json:"inputs"`
	Outputs     []scan.Identity `json:"outputs"`
	Finished    time.Time       `json:"finished"`
	Rows        int64           `json:"rows"` // of the output
}

// stateFormat is the version of stepState. Another one counts as no state.
const stateFormat = 1

func (j *Job) statePath(s *Step) string { return filepath.Join(j.State, s.Name+".json") }

// fingerprint names what a step does to its input: two steps of the same fingerprint make the same output.
func (s *Step) fingerprint() (string, error) {
	query, err := s.query()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(struct {
		Query  any
		From   []string
		Input  Input
		Output Output
	}{query, s.From, s.Input, s.Output})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// readState returns what a step's last success left, nil where there is none that can be used.
func readState(fsys stream.FS, path string) *stepState {
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

func (st *stepState) write(fsys stream.FS, path string) error {
	text, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return err
	}
	return stream.WriteFile(fsys, path, append(text, '\n'))
}

// why says why a step must run, "" where its last success still holds. now is what would be done to
// which inputs.
func (st *stepState) why(fsys stream.FS, now *stepState) string {
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
	outputs, err := identify(fsys, st.Outputs)
	if err != nil {
		return "the output cannot be read"
	}
	if difference := changed(st.Outputs, outputs); difference != "" {
		return "the output " + difference
	}
	return ""
}

// changed says how files differ from what they were.
func changed(before, now []scan.Identity) string {
	was := make(map[string]scan.Identity, len(before))
	for _, id := range before {
		was[id.Path] = id
	}
	for _, id := range now {
		old, known := was[id.Path]
		switch {
		case !known:
			return id.Path + " is new"
		case !old.Same(id):
			return id.Path + " has changed"
		}
		delete(was, id.Path)
	}
	for _, id := range before {
		if _, left := was[id.Path]; left {
			return id.Path + " is gone"
		}
	}
	return ""
}

// identify looks at files anew; those that are gone are left out.
func identify(fsys stream.FS, files []scan.Identity) ([]scan.Identity, error) {
	var found []scan.Identity
	for _, file := range files {
		info, err := fsys.Stat(file.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, scan.NewIdentity(file.Path, info))
	}
	return found, nil
}
