package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/mpga/mpga/internal/papers"
	"github.com/mpga/mpga/internal/report"
)

// writeReport writes the files of a report into a directory, over those of an earlier one.
func writeReport(dir string, r *papers.Report) error {
	errs := []error{
		writeTo(filepath.Join(dir, "index.html"), func(w io.Writer) error { return report.WritePapers(w, r) }),
		writeTo(filepath.Join(dir, "report.md"), func(w io.Writer) error { return report.WriteMarkdown(w, r) }),
		writeTo(filepath.Join(dir, "figures.csv"), func(w io.Writer) error { return report.WriteValues(w, r) }),
		writeTo(filepath.Join(dir, "report.json"), func(w io.Writer) error {
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", "  ")
			return encoder.Encode(r)
		}),
	}
	last := r.Results[len(r.Results)-1]
	errs = append(errs, writeTo(filepath.Join(dir, last.ID()+".svg"),
		func(w io.Writer) error { return report.WriteChart(w, last) }))
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
