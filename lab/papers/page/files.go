package page

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/lab/papers"
)

// WriteFiles writes a report of papers into a directory, over the files of an earlier report: the page,
// the text, all values, all results, and the picture of the last figure, if it has one. A reader of a file finds the
// earlier report or this one, whole.
//
// Requires: the report has a result.
func WriteFiles(dir string, r *papers.Report) error {
	errs := []error{
		writeTo(filepath.Join(dir, "index.html"), func(w io.Writer) error { return Write(w, r) }),
		writeTo(filepath.Join(dir, "report.md"), func(w io.Writer) error { return WriteMarkdown(w, r) }),
		writeTo(filepath.Join(dir, "figures.csv"), func(w io.Writer) error { return WriteValues(w, r) }),
		writeTo(filepath.Join(dir, "report.json"), func(w io.Writer) error {
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", "  ")
			return encoder.Encode(r)
		}),
	}
	last := r.Results[len(r.Results)-1] // pictures of earlier figures are written already
	if chart.HasPoints(last.Panels) {
		errs = append(errs, writeTo(filepath.Join(dir, last.ID()+".svg"),
			func(w io.Writer) error { return chart.Write(w, last.Title, last.Panels) }))
	}
	return errors.Join(errs...)
}

// writeTo writes a file under a hidden name beside it, and renames it: a report that is interrupted leaves the earlier
// file as it is. os.CreateTemp would make a file that only its owner may read.
func writeTo(path string, write func(io.Writer) error) error {
	hidden := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	file, err := os.Create(hidden)
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Close())
	if err == nil {
		err = os.Rename(hidden, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(hidden))
	}
	return nil
}
