package report

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/mpga/mpga/internal/papers"
)

// WriteFiles writes a report of papers into a directory, over the files of an earlier report: the page,
// the text, all values, all results, and the picture of the last figure.
//
// Requires: the report has a result.
func WriteFiles(dir string, r *papers.Report) error {
	errs := []error{
		writeTo(filepath.Join(dir, "index.html"), func(w io.Writer) error { return WritePapers(w, r) }),
		writeTo(filepath.Join(dir, "report.md"), func(w io.Writer) error { return WriteMarkdown(w, r) }),
		writeTo(filepath.Join(dir, "figures.csv"), func(w io.Writer) error { return WriteValues(w, r) }),
		writeTo(filepath.Join(dir, "report.json"), func(w io.Writer) error {
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", "  ")
			return encoder.Encode(r)
		}),
	}
	last := r.Results[len(r.Results)-1] // pictures of earlier figures are written already
	errs = append(errs, writeTo(filepath.Join(dir, last.ID()+".svg"),
		func(w io.Writer) error { return WriteChart(w, last) }))
	return errors.Join(errs...)
}

// writeTo writes a file.
func writeTo(path string, write func(io.Writer) error) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return write(file)
}
