package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/digits"
)

// writer writes the result of a statement.
type writer struct {
	shell    *Shell
	path     string // of the file, "-" for Out
	opt      sink.Options
	pager    *pager // nil where results go to a file
	progress func() // ends the progress
}

// newWriter returns the writer of the next result, by the settings of the shell.
func (s *Shell) newWriter() *writer {
	w := &writer{shell: s, path: "-", opt: s.opt.Sink, progress: func() {}}
	w.opt.RowsShown, w.opt.RowsLast = s.rowsShown()
	if !slices.Contains(peopleFormats, w.opt.Format) {
		w.opt.Separators = false
	}
	columns, lines := s.screen()
	switch {
	case s.output != "":
		w.path, w.opt.TableWidth, w.opt.Color = s.output, 0, false
	default:
		w.opt.TableWidth = columns
		w.pager = &pager{command: s.pager, lines: lines, columns: columns, to: s.opt.Out}
		w.opt.Stdout = w.pager
	}
	if s.opt.Progress != nil {
		w.progress = s.opt.Progress(s.output == "" && lines > 0 && w.opt.Format != sink.Table)
	}
	return w
}

// peopleFormats are the formats that people read.
var peopleFormats = []sink.Format{sink.Table, sink.Vertical, sink.Markdown}

func (s *Shell) screen() (columns, lines int) {
	if s.opt.Screen == nil {
		return 0, 0
	}
	return s.opt.Screen()
}

// A table has tableLines lines beside its rows, the next prompt among them, and shows no more rows
// than rowsMost, and no fewer than rowsLeast, unless the user asks for another number.
const (
	tableLines = 9
	rowsMost   = 40
	rowsLeast  = 10
	rowsLast   = 50 // at the end of a table at most: they are held until the result ends
)

// rowsShown returns how many rows a table shows, and how many of them are the last.
func (s *Shell) rowsShown() (shown, last int) {
	_, lines := s.screen()
	switch {
	case s.maxRows == 0:
		return -1, 0
	case s.maxRows > 0:
		shown = s.maxRows
	case lines > 0:
		shown = min(max(lines-tableLines, rowsLeast), rowsMost)
	default:
		shown = rowsMost
	}
	if lines > 0 && s.opt.Sink.Format == sink.Table {
		last = min(shown/2, rowsLast)
	}
	return shown, last
}

// write writes a result.
func (w *writer) write(ctx context.Context, result array.RecordReader) (err error) {
	if w.pager != nil {
		defer func() {
			if failed := w.pager.close(); failed != nil {
				err = failed // which is why nobody took the rows
			}
		}()
	}
	out, err := sink.Create(ctx, w.path, result.Schema(), w.opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }() // nothing after Commit
	rows := int64(0)
	for result.Next() {
		rows += result.RecordBatch().NumRows()
		if err := out.Write(result.RecordBatch()); err != nil {
			return err
		}
	}
	if err := result.Err(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.progress()
	if err := out.Commit(); err != nil {
		return err
	}
	if w.shell.opt.Interactive && w.pager == nil {
		_, err = fmt.Fprintf(w.shell.opt.Out, "%s to %s\n", digits.Counted(rows, "row"), w.path)
	}
	return err
}
