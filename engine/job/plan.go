package job

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/redact"
)

// Plan says what a job would do.
type Plan struct {
	Job   *Job
	Steps []StepPlan
}

// StepPlan says what a step would do.
type StepPlan struct {
	Step   *Step
	Skip   bool
	Reason string // why the step would run, or not
	Query  string // as SQL
	After  string // the step whose output this one reads, or ""
	Files  int    // of the input as it is now
	Bytes  int64  // of these files

	// Columns is the output's schema; nil where Unchecked says why it is not known. Guessed says that
	// it follows from the types that text is likely to have that a step before is to write.
	Columns   *arrow.Schema
	Guessed   bool
	Unchecked string
	Format    sink.Format
}

// Plan finds out what each step would do, by the names, sizes and footers of files, and by the first
// rows of text; nothing is written. A query that does not suit its input is an error here, as it is
// when the job runs, and so is one that does not suit the output that a step before it will have
// written. StepPlan.Unchecked tells where that is not known.
func (j *Job) Plan(ctx context.Context, opt Options) (*Plan, error) {
	opt.EnsureDefaults()
	j.EnsureDefaults()
	if err := j.Validate(); err != nil {
		return nil, err
	}
	p := &Plan{Job: j}
	written := make(map[string]int) // steps before this one, by their output
	for i := range j.Steps {
		sp, err := p.step(ctx, &j.Steps[i], written, &opt)
		if err != nil {
			return nil, j.stepError(i, err)
		}
		p.Steps = append(p.Steps, *sp)
		written[filepath.Clean(j.Steps[i].Output.Path)] = i
	}
	return p, nil
}

func (p *Plan) step(ctx context.Context, s *Step, written map[string]int, opt *Options) (*StepPlan, error) {
	query, err := s.query()
	if err != nil {
		return nil, err
	}
	scanOptions, err := s.Input.options()
	if err != nil {
		return nil, err
	}
	scanOptions.FS = opt.FS
	sinkOptions, err := s.sinkOptions()
	if err != nil {
		return nil, err
	}
	sinkOptions.FS = opt.FS
	sp := &StepPlan{Step: s, Query: query.text, Format: sinkOptions.Format}
	tables, unknown := p.willTables(s, opt.FS)
	if writers := p.writers(s, written); len(writers) > 0 {
		sp.After = writers[len(writers)-1].Step.Name
		for _, w := range writers {
			if w.Skip {
				continue
			}
			sp.Reason = w.Step.Name + " runs before it"
			in, err := p.willReadAll(ctx, s, writers, &scanOptions)
			if err != nil {
				return nil, err
			}
			if in.tables = tables; unknown != "" {
				in = columnsRead{unknown: unknown}
			}
			return sp, sp.bind(ctx, query, in, sinkOptions)
		}
	}
	now, skip, reason, err := p.Job.inspect(ctx, s, scanOptions, opt)
	if err != nil {
		return nil, err
	}
	if sp.Skip, sp.Reason = skip, reason; now == nil {
		return sp, nil
	}
	sp.Files, sp.Bytes = len(now.Inputs), totalBytes(now.Inputs)
	in := columnsRead{tables: tables}
	if in.schema, err = s.schemaOfFiles(ctx, scanOptions); err != nil {
		return nil, err
	}
	return sp, sp.bind(ctx, query, in, sinkOptions)
}

// String returns the plan as text, a block for each step, with URLs without secrets.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "job %s: %s, state in %s\n", p.Job.Name, counted(len(p.Job.Steps), "step"), p.Job.State)
	if p.Job.Description != "" {
		fmt.Fprintf(&b, "  %s\n", p.Job.Description)
	}
	for i := range p.Steps {
		b.WriteString("\n")
		p.Steps[i].write(&b, i+1)
	}
	return b.String()
}

func (sp *StepPlan) write(b *strings.Builder, number int) {
	s := sp.Step
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "   %-8s %s\n", name, fmt.Sprintf(format, args...))
	}
	verb := "runs"
	if sp.Skip {
		verb = "skipped"
	}
	fmt.Fprintf(b, "%d. %s: %s, %s\n", number, s.Name, verb, sp.Reason)
	if s.Description != "" {
		line("", "%s", s.Description)
	}
	from := strings.Join(redact.Names(s.names()), ", ")
	if sp.After != "" {
		from += ", written by " + sp.After
	}
	if sp.Files > 0 {
		from += fmt.Sprintf(": %s, %s", counted(sp.Files, "file"), humanize.IBytes(uint64(sp.Bytes)))
	}
	line("from", "%s", from)
	line("query", "%s", strings.ReplaceAll(strings.TrimSpace(redact.Text(sp.Query)), "\n", "\n            "))
	if sp.Columns != nil {
		var columns []string
		for _, f := range sp.Columns.Fields() {
			columns = append(columns, f.Name+" "+query.TypeName(f.Type))
		}
		guessed := ""
		if sp.Guessed {
			guessed = " (if " + sp.After + "'s text is read as expected)"
		}
		line("columns", "%s%s", strings.Join(columns, ", "), guessed)
	}
	if sp.Unchecked != "" {
		line("columns", "not checked: %s", redact.Text(sp.Unchecked))
	}
	line("output", "%s (%s)", redact.URL(s.Output.Path), sp.Format)
	if s.Rollup.State != "" {
		line("rollup", "%s", redact.URL(s.Rollup.State))
	}
	if limits := s.Limits.String(); limits != "" {
		line("limits", "%s", limits)
	}
	line("retry", "%s", s.Retry)
}

// String lists the limits that are set.
func (l Limits) String() string {
	var parts []string
	if l.Threads > 0 {
		parts = append(parts, counted(l.Threads, "thread"))
	}
	if l.Memory > 0 {
		parts = append(parts, humanize.IBytes(uint64(l.Memory))+" of memory")
	}
	if l.Temp > 0 {
		parts = append(parts, humanize.IBytes(uint64(l.Temp))+" of files")
	}
	if l.TempDir != "" {
		parts = append(parts, "spills to "+l.TempDir)
	}
	if l.Device != "" {
		parts = append(parts, "device "+l.Device)
	}
	if l.Algorithm != "" {
		parts = append(parts, "algorithm "+l.Algorithm)
	}
	if l.JoinAlgorithm != "" {
		parts = append(parts, "joins by "+l.JoinAlgorithm)
	}
	if l.Recursion > 0 {
		parts = append(parts, counted(l.Recursion, "iteration"))
	}
	if l.Pairs > 0 {
		parts = append(parts, counted(int(l.Pairs), "pair"))
	}
	if l.Time > 0 {
		parts = append(parts, time.Duration(l.Time).String())
	}
	return strings.Join(parts, ", ")
}

// String says how often a step is tried.
func (r Retry) String() string {
	if r.Attempts == 1 {
		return "none"
	}
	return fmt.Sprintf("%d attempts, %v to %v apart", r.Attempts, time.Duration(r.Wait), time.Duration(r.WaitMax))
}

// counted is a number with a noun.
func counted(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}
