package distributed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
)

// ErrReplaced marks a plan that is done, and whose output another run has replaced since.
var ErrReplaced = errors.New("the plan was committed, and its output has been replaced since")

const committedName = "committed.json"

// committed is what is remembered of the output.
type committed struct {
	Plan   string           `json:"plan"`
	Output dataset.Identity `json:"output"` // of a file, or of a directory's manifest
	Rows   int64            `json:"rows"`
	Bytes  int64            `json:"bytes"`
	SHA256 string           `json:"sha256,omitzero"` // of a file whose identity has no tag

	unnoted bool // the note is missing, or tells of the output as it was before a twin wrote it once more
}

// remembered returns what is remembered of the output; nil where the plan is not committed, or its output
// is gone. An output that is another's is ErrReplaced.
func (t *Tasks) remembered() (*committed, error) {
	var before committed
	err := t.work.ReadJSON(committedName, &before)
	noted := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case noted && before.Plan != t.Plan.ID:
		return nil, fmt.Errorf("%w: %s is of plan %s", ErrDamaged, t.work.Path(committedName), before.Plan)
	}
	now, err := t.outputNow() // after the note, which comes after the output
	switch {
	case err != nil || now == nil:
		return nil, err
	case !noted:
		return t.unnoted(now)
	case now.Same(before.Output):
		return &before, nil
	}
	switch same, err := t.isRewritten(&before, now); {
	case err != nil:
		return nil, err
	case !same:
		return nil, fmt.Errorf("%w: %s; remove it to commit this plan again", ErrReplaced, t.Plan.Output.Path)
	}
	before.Output, before.unnoted = *now, true
	return &before, nil
}

// isRewritten says whether an output has what the output had that is remembered: a twin may have written the
// same once more, and have been ended before it could remember.
func (t *Tasks) isRewritten(before *committed, now *dataset.Identity) (bool, error) {
	switch {
	case t.Plan.Output.Directory():
		made, err := t.outputManifest()
		return err == nil && made.Plan == t.Plan.ID, err
	case now.Bytes != before.Output.Bytes:
		return false, nil
	case now.ETag != "":
		return now.ETag == before.Output.ETag, nil
	}
	sum, err := fileSum(t.FS, t.Plan.Output.Path)
	return err == nil && sum == before.SHA256, err
}

// committedBefore tells of an output that another commit has made, and finishes what that commit may have
// left: its note, and objects that the output replaces.
func (t *Tasks) committedBefore(c *committed) (Done, error) {
	if c.unnoted {
		if t.Plan.Output.Directory() {
			made, err := t.outputManifest()
			if err == nil {
				err = sink.RemoveReplaced(t.Plan.Output.Path, made, t.Layout)
			}
			if err != nil {
				return Done{}, err
			}
		}
		if err := t.work.WriteJSON(committedName, c); err != nil {
			return Done{}, err
		}
	}
	return Done{Stage: StageCommit, State: "already", Rows: c.Rows, BytesWritten: c.Bytes}, nil
}

// unnoted returns what a commit has made that was ended before it could remember: a directory whose
// manifest names the plan.
func (t *Tasks) unnoted(now *dataset.Identity) (*committed, error) {
	if !t.Plan.Output.Directory() {
		return nil, nil
	}
	made, err := t.outputManifest()
	if err != nil || made.Plan != t.Plan.ID {
		return nil, err
	}
	return &committed{Plan: t.Plan.ID, Output: *now, Rows: made.Rows, Bytes: made.Bytes, unnoted: true}, nil
}

// output is the directory of the output.
func (t *Tasks) output() workdir.Dir {
	return workDir(t.FS, t.Plan.Output.Path, t.work.Budget)
}

// marker is the file by which the output is known.
func (t *Tasks) marker() string {
	out := t.output()
	if t.Plan.Output.Directory() {
		return out.Path(sink.ManifestName)
	}
	return t.Plan.Output.Path
}

// outputNow returns the identity of the output; nil where there is none.
func (t *Tasks) outputNow() (*dataset.Identity, error) {
	info, err := t.FS.Stat(t.marker())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	id := dataset.NewIdentity(t.marker(), info)
	return &id, nil
}

func (t *Tasks) outputManifest() (*sink.Manifest, error) {
	m := new(sink.Manifest)
	err := t.output().Read(sink.ManifestName, func(text []byte) error {
		if err := json.Unmarshal(text, m); err != nil {
			return fmt.Errorf("%s: %w", t.marker(), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}
