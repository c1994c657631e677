package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/stream"
	"github.com/mpga/mpga/stream/trace"
)

// pictureFlags name the files that show what a query did, and when.
type pictureFlags struct {
	trace string

	recorder *trace.Recorder // nil when nobody has asked
}

func (f *pictureFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.trace, "trace", "", "write to `FILE` when workers, devices and disks did what: Chrome's trace events, which ui.perfetto.dev shows")
}

// begin has an engine record what is to be shown.
func (f *pictureFlags) begin(o *engine.Options) error {
	if f.trace == "" {
		return nil
	}
	if err := checkFolder("--trace", f.trace); err != nil {
		return err
	}
	f.recorder = trace.New()
	o.Trace = f.recorder
	return nil
}

// end writes the files of a query that has ended, in whatever way.
func (f *pictureFlags) end() error {
	if f.recorder == nil || len(f.recorder.Timeline().Queries) == 0 {
		return nil // nothing was run
	}
	var errs []error
	if f.trace != "" {
		if err := stream.WriteFileBy(stream.OS, f.trace, f.recorder.WriteJSON); err != nil {
			errs = append(errs, fmt.Errorf("--trace: %w", err))
		}
	}
	return errors.Join(errs...)
}
