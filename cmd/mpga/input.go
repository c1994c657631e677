package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/options"
	"github.com/mpga/mpga/internal/vfs"
)

// inputFlags say how files are read: by the flags of package options.
type inputFlags struct {
	rejects string
	limit   string // of rows with errors; "" before options
	dry     bool   // no row is read, and the file of rejects is not written

	spool   *dataset.Spool // of standard input; nil before options
	leftOut *csv.Rejects   // nil before options
	fsys    vfs.FS         // of the file of rejects; nil before options
}

func (f *inputFlags) register(flags *pflag.FlagSet) {
	for _, o := range options.All() {
		switch {
		case o.Flag == "":
		case o.Kind == options.File:
			flags.StringVar(&f.rejects, o.Flag, "", o.Doc)
		case o.Kind == options.Truth:
			flags.Bool(o.Flag, false, o.Doc)
		case o.Kind == options.Number, o.Kind == options.Rows:
			flags.Int(o.Flag, 0, o.Doc)
		case o.Kind == options.Texts, o.Kind == options.Types:
			flags.StringArray(o.Flag, nil, o.Doc)
		default:
			flags.String(o.Flag, o.Default, o.Doc)
		}
	}
}

// options turns the flags into options; reading the standard input ends with the context of the
// command.
func (f *inputFlags) options(cmd *cobra.Command) (dataset.Options, error) {
	opt := dataset.Options{
		FS:    filesOf(cmd.Context()),
		Stdin: &interruptibleReader{ctx: cmd.Context(), from: cmd.InOrStdin()},
	}
	for _, o := range options.All() {
		flag := cmd.Flags().Lookup(o.Flag)
		if flag == nil || !flag.Changed || o.Kind == options.File {
			continue
		}
		value, err := flagValue(flag, o.Kind)
		if err != nil {
			return opt, err
		}
		if err := o.Set(&opt, dataset.FormatAuto, value); err != nil {
			return opt, usagef("--%s %w", o.Flag, err)
		}
	}
	if f.rejects != "" {
		opt.CSV.IgnoreErrors, opt.CSV.InferMost = true, true
	}
	if err := errors.Join(checkRejects(opt.FS, f.rejects), f.checkApart(cmd)); err != nil {
		return opt, err
	}
	f.limit = opt.CSV.MaxRejects
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return opt, usageError{err}
	}
	if f.dry {
		f.rejects = ""
	}
	f.open(cmd, &opt)
	return opt, nil
}

// flagValue returns what a flag says, as a value of a kind of options.
func flagValue(flag *pflag.Flag, kind options.Kind) (any, error) {
	text := flag.Value.String()
	switch kind {
	case options.Truth:
		return strconv.ParseBool(text)
	case options.Number, options.Rows:
		return strconv.Atoi(text)
	case options.Size:
		n, err := parseSize("--"+flag.Name, text)
		return int(n), err
	case options.Texts:
		return flag.Value.(pflag.SliceValue).GetSlice(), nil
	case options.Types:
		types, err := columnTypes(flag.Value.(pflag.SliceValue).GetSlice())
		return options.Columns{Types: types}, err
	}
	return text, nil
}

// checkRejects refuses a file that could not be written when the rows have been read.
func checkRejects(fsys vfs.FS, path string) error {
	if _, isObject := vfs.ObjectsAt(fsys, path); isObject {
		return nil
	}
	if err := checkFolder("--rejects", path); err != nil || path == "" {
		return err
	}
	if err := csv.CheckRejectsFile(fsys, path); err != nil {
		return usagef("--rejects: %w", err)
	}
	return nil
}

// checkApart refuses an output that is the file of rejects.
func (f *inputFlags) checkApart(cmd *cobra.Command) error {
	output := cmd.Flags().Lookup("output")
	if output == nil || f.rejects == "" {
		return nil
	}
	a, err := filepath.Abs(f.rejects)
	b, err2 := filepath.Abs(output.Value.String())
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if a == b {
		return usagef("--rejects and --output are both %s", f.rejects)
	}
	return nil
}

// refuse returns an error where a flag is given that is of one query whose rows are read.
func (f *inputFlags) refuse(cmd *cobra.Command, why string) error {
	for _, name := range []string{"rejects", "max-rejects"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s %s", name, why)
		}
	}
	return nil
}

// accept refuses a result of which too many rows have been left out.
func (f *inputFlags) accept() error { return f.leftOut.Check(f.limit, f.rejects) }

// open makes what keeps standard input, and rows that are left out. end closes both.
func (f *inputFlags) open(cmd *cobra.Command, opt *dataset.Options) {
	dir := os.TempDir()
	if flag := cmd.Flags().Lookup("temp-dir"); flag != nil && flag.Value.String() != "" {
		dir = flag.Value.String()
	}
	f.spool = dataset.NewSpool(opt.FS, dir)
	f.leftOut = &csv.Rejects{}
	if f.rejects != "" {
		f.leftOut = csv.NewRejects(opt.FS, dir)
	}
	opt.Spool, opt.CSV.Rejects = f.spool, f.leftOut // read_csv may ask to ignore errors, too
	f.fsys = opt.FS
}

// end writes the rows that were left out, unless the command has failed for another reason than their number, says how
// many they are, and gives back what the input took. It returns the error of the command, or its own.
func (f *inputFlags) end(err error) error {
	if f.spool == nil {
		return err // the flags were wrong
	}
	if err == nil { // what goes to the standard output is not published
		err = f.accept()
	}
	if err == nil || errors.Is(err, csv.ErrRejects) {
		if wrong := f.leftOut.Tell(slog.Default(), f.fsys, f.rejects); wrong != nil {
			err = errors.Join(err, fmt.Errorf("--rejects: %w", wrong))
		}
	}
	return errors.Join(err, f.leftOut.Close(), f.spool.Close())
}

// columnTypes reads column=type; a column's name may have an equals sign, a type's has none.
func columnTypes(texts []string) (map[string]arrow.DataType, error) {
	types := make(map[string]arrow.DataType, len(texts))
	for _, text := range texts {
		i := strings.LastIndexByte(text, '=')
		if i < 1 {
			return nil, usagef("--type %q: want column=type, as in zip=string", text)
		}
		t, err := csv.ParseType(text[i+1:])
		if err != nil {
			return nil, usagef("--type %q: %w", text, err)
		}
		types[text[:i]] = t
	}
	return types, nil
}
