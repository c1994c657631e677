package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/mpga/mpga/tests/peer"
)

// measureAll measures the chosen cases and curves and prints each row when it is there. A case that
// fails is a row too; only the end of the context ends the run.
func measureAll(ctx context.Context, b *bench, r *report, list []benchCase, wanted *regexp.Regexp, out io.Writer) error {
	for _, line := range r.Header.lines() {
		fmt.Fprintln(out, line)
	}
	r.engines = b.engines()
	if len(list) > 0 {
		fmt.Fprint(out, "\n", textRow(r.title()))
	}
	for i, c := range list {
		r.add(ctx, out, b.result(ctx, c, r.Header.CPUTime))
		if m, ends := meanAfter(list, i); ends {
			r.add(ctx, out, r.geometricMean(m))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, note := range r.notes() {
		fmt.Fprint(out, "\n", note, "\n")
	}
	return b.measureCurves(ctx, r, wanted, out)
}

// add adds a row and prints it.
func (r *report) add(ctx context.Context, out io.Writer, one result) {
	if ctx.Err() != nil {
		return
	}
	r.Results = append(r.Results, one)
	fmt.Fprint(out, textRow(r.cells(&one)))
}

// result measures a case.
func (b *bench) result(ctx context.Context, c benchCase, cpu bool) result {
	one := result{Case: c.name, Wanted: c.wanted, Limit: c.limit}
	measured, a, err := b.run(ctx, c)
	if err != nil {
		one.Error = err.Error()
		return one
	}
	one.Samples, one.Groups = measured, a.Rows
	one.Ratio = measured.Millis(peer.DuckDB, cpu) / measured.Millis(mpga, cpu)
	return one
}

func (b *bench) measureCurves(ctx context.Context, r *report, wanted *regexp.Regexp, out io.Writer) error {
	if wanted.MatchString(byGroupsName) {
		if err := b.byGroups(ctx, func(p point) { r.ByGroups = append(r.ByGroups, p) }); err != nil {
			return fmt.Errorf("%s: %w", byGroupsName, err)
		}
	}
	if wanted.MatchString(byRowsName) {
		if err := b.byRows(ctx, func(p point) { r.ByRows = append(r.ByRows, p) }); err != nil {
			return fmt.Errorf("%s: %w", byRowsName, err)
		}
	}
	for _, c := range r.curves() {
		fmt.Fprint(out, "\n", c.text())
	}
	return nil
}

// write writes the files that the flags name.
func (r *report) write(f *flags) error {
	var errs []error
	for _, file := range []struct {
		path  string
		write func(io.Writer) error
	}{{f.markdown, r.writeMarkdown}, {f.json, r.writeJSON}} {
		if file.path != "" {
			errs = append(errs, writeFile(file.path, file.write))
		}
	}
	if f.svg != "" {
		errs = append(errs, r.writePictures(f.svg))
	}
	return errors.Join(errs...)
}

func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}
