package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/mpga/mpga/app/report"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/internal/vfs"
)

// pictureFlags name the files that show what a query did, and when.
type pictureFlags struct {
	trace  string
	report string

	recorder *trace.Recorder // nil when nobody has asked for a picture
	page     report.Page
}

func (f *pictureFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.trace, "trace", "",
		"write to `FILE` when workers, devices and disks did what: Chrome's trace events, which ui.perfetto.dev shows")
	flags.StringVar(&f.report, "report", "",
		"write to `FILE` a page of HTML with the plan, the timeline and the statistics")
}

// begin has an engine record the events of a query that the pictures show.
func (f *pictureFlags) begin(o *engine.Options, query string) error {
	if f.trace == "" && f.report == "" {
		return nil
	}
	if err := errors.Join(checkFolder("--trace", f.trace), checkFolder("--report", f.report)); err != nil {
		return err
	}
	f.recorder = trace.New()
	o.Trace = f.recorder
	f.page.Query, f.page.Warning = query, noGPU(o.Device)
	return nil
}

// ended notes what a query did.
func (f *pictureFlags) ended(stats engine.Stats) {
	f.page.Stats = stats
	f.page.Device = deviceFacts(stats.Device)
	if stats.Elapsed > 0 {
		f.page.Facts = statsFacts(stats, nil)
	}
}

// end writes the files of a query that has ended, with an error or nil.
func (f *pictureFlags) end(cause error) error {
	if f.recorder == nil {
		return nil
	}
	f.page.Timeline = f.recorder.Timeline()
	if len(f.page.Timeline.Queries) == 0 && f.page.Stats.Elapsed == 0 { // of rows without groups there is no timeline
		return nil // nothing was run
	}
	if cause != nil {
		f.page.Error = knob.Reword(cause, flagName).Error()
	}
	var errs []error
	if f.trace != "" {
		if err := vfs.WriteFileBy(vfs.OS, f.trace, 0o666, f.recorder.WriteJSON); err != nil {
			errs = append(errs, fmt.Errorf("--trace: %w", err))
		}
	}
	if f.report != "" { // private: the page shows the query
		if err := vfs.WriteFileBy(vfs.OS, f.report, 0o600, f.page.Write); err != nil {
			errs = append(errs, fmt.Errorf("--report: %w", err))
		}
	}
	return errors.Join(errs...)
}
