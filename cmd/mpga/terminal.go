package main

import (
	"io"
	"os"

	"github.com/vbauerster/mpb/v8/cwriter"

	"github.com/mpga/mpga/engine/sink"
)

// peopleFormats are the formats that people read, which may have separated thousands.
var peopleFormats = []sink.Format{sink.Table, sink.Vertical, sink.Markdown}

// rowsLastMax bounds the rows at the end of a long table, which are held until the result ends.
const rowsLastMax = 50

// suitTerminal makes a table fit the terminal that the standard output is: its width, and half of the
// rows shown from the end of the result. It changes nothing where the output is no terminal.
func suitTerminal(opt *sink.Options) {
	width, _, ok := terminalSize(opt.Stdout)
	if !ok {
		return
	}
	_, noColor := os.LookupEnv("NO_COLOR")
	opt.Color = !noColor
	opt.TableWidth = width
	if opt.RowsShown > 0 {
		opt.RowsLast = min(opt.RowsShown/2, rowsLastMax)
	}
}

// terminalSize returns the columns and lines of the terminal that a writer is, or false. A terminal
// that does not tell its columns has 0 of them.
func terminalSize(w io.Writer) (columns, lines int, ok bool) {
	f, ok := fileOf(w)
	if !ok || !cwriter.IsTerminal(int(f.Fd())) {
		return 0, 0, false
	}
	columns, lines, err := cwriter.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0, true
	}
	return columns, lines, true
}

// fileOf returns the file that a writer of the command is, if it is one.
func fileOf(w io.Writer) (*os.File, bool) {
	if checked, ok := w.(*checkedWriter); ok {
		w = checked.to
	}
	f, ok := w.(*os.File)
	return f, ok
}
