package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/mpga/mpga/app/complete"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/nearest"
	"github.com/mpga/mpga/internal/redact"
)

// command is a line that begins with a dot.
type command struct {
	name string   // with the dot
	args string   // as the help shows them
	help string   // what it does
	want []string // words that may be the first argument; nil of others
	run  func(ctx context.Context, s *Shell, args []string) error
}

// commands are all commands, in the order of the help.
func commands() []command {
	onOff := []string{"on", "off"}
	return []command{
		{".help", "", "list the commands", nil, func(_ context.Context, s *Shell, _ []string) error { return s.help() }},
		{".maxrows", "N", "show N rows of a table, 0 for all; without N, what the screen has room for", nil,
			func(_ context.Context, s *Shell, args []string) error { return s.setMaxRows(args) }},
		{".mode", "MODE", "write results as " + strings.Join(sink.FormatNames(), ", "), sink.FormatNames(),
			func(_ context.Context, s *Shell, args []string) error { return s.setMode(args) }},
		{".open", "FILES...", "make tables of files, named as the files are", nil,
			func(ctx context.Context, s *Shell, args []string) error { return s.open(ctx, args) }},
		{".output", "[FILE]", "write each result that follows to FILE, in place of the one before; " +
			"alone, show results again", nil,
			func(_ context.Context, s *Shell, args []string) error { return s.setOutput(args) }},
		{".pager", "on|off|COMMAND", "show results longer than the screen through a program", onOff,
			func(_ context.Context, s *Shell, args []string) error { return s.setPager(args) }},
		{".quit", "", "leave, as Ctrl-D does", nil, func(context.Context, *Shell, []string) error { return errQuit }},
		{".schema", "NAME", "list the columns of a table or a file", nil,
			func(ctx context.Context, s *Shell, args []string) error { return s.schema(ctx, args) }},
		{".separators", "on|off", "separate thousands", onOff,
			func(_ context.Context, s *Shell, args []string) error { return setSwitch(&s.opt.Sink.Separators, args) }},
		{".table", "NAME FILES...", "make files, folders or patterns the table NAME", nil,
			func(ctx context.Context, s *Shell, args []string) error { return s.addTable(ctx, args) }},
		{".tables", "", "list the tables", nil,
			func(_ context.Context, s *Shell, _ []string) error { return s.listTables() }},
		{".timer", "on|off", "show how long statements take", onOff,
			func(_ context.Context, s *Shell, args []string) error { return setSwitch(&s.timer, args) }},
	}
}

// otherNames are commands by the names that other shells have for them.
var otherNames = map[string]string{
	".exit": ".quit", "quit": ".quit", "exit": ".quit", `\q`: ".quit", "help": ".help", `\?`: ".help", `\h`: ".help",
	`\d`: ".tables", `\dt`: ".tables", `\timing`: ".timer",
}

// commandOf returns the command that a line is, or "" of a line of a statement.
func commandOf(line string) string {
	line = strings.TrimSpace(line)
	word, rest, _ := strings.Cut(strings.TrimRight(line, "; \t"), " ")
	name := otherNames[strings.ToLower(word)]
	switch {
	case word == `\d` && rest != "":
		return ".schema " + rest
	case name != "" && (word[0] == '.' || word[0] == '\\' || rest == ""):
		return strings.TrimSpace(name + " " + rest)
	case strings.HasPrefix(line, ".") || strings.HasPrefix(line, `\`):
		return line
	}
	return ""
}

// command runs a command.
func (s *Shell) command(ctx context.Context, line string) error {
	words, err := fields(strings.TrimSuffix(line, ";"))
	if err != nil {
		return err
	}
	list := commands()
	var names []string
	for _, c := range list {
		if c.name == words[0] {
			return c.run(ctx, s, words[1:])
		}
		names = append(names, c.name)
	}
	offer := nearest.Offer(words[0], names)
	if offer == "" {
		offer = "; .help lists the commands"
	}
	return fmt.Errorf("no command is named %s%s", words[0], offer)
}

// fields cuts a command into words. A word in quotes may hold spaces.
func fields(line string) ([]string, error) {
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if quote := line[0]; quote == '\'' || quote == '"' {
			word, rest, ok := strings.Cut(line[1:], string(quote))
			if !ok {
				return nil, fmt.Errorf("a quote is missing behind %s", line)
			}
			words, line = append(words, word), rest
			continue
		}
		end := strings.IndexAny(line, " \t")
		if end < 0 {
			end = len(line)
		}
		words, line = append(words, line[:end]), line[end:]
	}
	return words, nil
}

func (s *Shell) help() error {
	w := tabwriter.NewWriter(s.opt.Out, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(w, "%s\t%s\n", strings.TrimSpace(c.name+" "+c.args), c.help)
	}
	fmt.Fprintf(w, "\nStatements end with a semicolon: SELECT, DESCRIBE, SUMMARIZE, EXPLAIN, SHOW TABLES, CREATE, DROP, "+
		"COPY. Tab completes, Ctrl-C cancels.\nquit, exit, help, \\q, \\d and \\d NAME do what they do elsewhere.\n")
	return w.Flush()
}

// setSwitch turns a setting on or off.
func setSwitch(setting *bool, args []string) error {
	if len(args) != 1 || args[0] != "on" && args[0] != "off" {
		return errors.New("want on or off")
	}
	*setting = args[0] == "on"
	return nil
}

func (s *Shell) setMaxRows(args []string) error {
	if len(args) == 0 {
		s.maxRows = -1
		return nil
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || len(args) > 1 {
		return errors.New("want a number of rows, or 0 for all")
	}
	s.maxRows = n
	return nil
}

func (s *Shell) setMode(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one of %s; it is %s", strings.Join(sink.FormatNames(), ", "), s.opt.Sink.Format)
	}
	format, err := sink.ParseFormat(args[0])
	switch {
	case err != nil:
		names := sink.FormatNames()
		return errors.New("want one of " + strings.Join(names, ", ") + nearest.Offer(args[0], names))
	case slices.Contains(binaryFormats, format) && s.output == "" && s.opt.Interactive:
		return fmt.Errorf("%s is not for a terminal: name a file with .output, whose ending says the format", format)
	}
	s.opt.Sink.Format = format
	return nil
}

// binaryFormats are no text.
var binaryFormats = []sink.Format{sink.Parquet, sink.Arrow, sink.ArrowStream}

func (s *Shell) setOutput(args []string) error {
	switch len(args) {
	case 0:
		s.output, s.opt.Sink.Format = "", s.shownAs
		return nil
	case 1:
	default:
		return errors.New("want the name of one file, in quotes if it has spaces")
	}
	format, err := sink.FormatOf(args[0])
	if err != nil {
		return err
	}
	if s.output == "" {
		s.shownAs = s.opt.Sink.Format
	}
	s.output, s.opt.Sink.Format = args[0], format
	return nil
}

func (s *Shell) setPager(args []string) error {
	switch command := strings.Join(args, " "); command {
	case "":
		return errors.New("want on, off or a command")
	case "on":
		s.pager = s.opt.Pager
	case "off":
		s.pager = ""
	default:
		s.pager = command
	}
	return nil
}

// open makes a table of each file.
func (s *Shell) open(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("want the names of files")
	}
	for _, file := range args {
		name := TableName(file)
		if name == "" || strings.ContainsAny(name, "*?[") {
			return fmt.Errorf("%s makes no name for a table: .table NAME %s gives one", file, file)
		}
		if err := s.add(ctx, name, []string{file}); err != nil {
			return err
		}
	}
	return nil
}

// add makes files a table, and tells a person what it has.
func (s *Shell) add(ctx context.Context, name string, files []string) error {
	columns, err := s.catalog.add(ctx, name, files)
	if err == nil && s.opt.Interactive {
		_, err = fmt.Fprintf(s.opt.Out, "%s has %s\n", complete.Quote(name), digits.Counted(int64(columns), "column"))
	}
	return err
}

func (s *Shell) addTable(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return errors.New("want a name and files, as in .table sales 'sales/*.parquet'")
	}
	return s.add(ctx, args[0], args[1:])
}

func (s *Shell) listTables() error {
	w := tabwriter.NewWriter(s.opt.Out, 0, 0, 2, ' ', 0)
	for _, name := range s.catalog.files() {
		fmt.Fprintf(w, "%s\t%s\n", name, strings.Join(redact.Names(s.catalog.plan.Tables[name].Files), ", "))
	}
	for _, own := range s.catalog.own.List() {
		fmt.Fprintf(w, "%s\t(%s)\n", own.Name, map[bool]string{false: "temporary table", true: "view"}[own.View])
	}
	return w.Flush()
}

// schema describes a table of that name, or else files.
func (s *Shell) schema(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("want the name of a table or a file")
	}
	of := complete.Quote(args[0])
	if !slices.Contains(s.catalog.Tables(), args[0]) {
		of = "'" + strings.ReplaceAll(args[0], "'", "''") + "'"
	}
	return s.statement(ctx, "DESCRIBE "+of)
}

// completeCommand completes the name of a command, or the last word behind it.
func (s *Shell) completeCommand(ctx context.Context, line string) (start int, list []string) {
	start = strings.LastIndexAny(line, " \t'\"") + 1
	prefix := line[start:]
	var from []string
	name, _, behind := strings.Cut(strings.TrimSpace(line)+line[len(strings.TrimRight(line, " \t")):], " ")
	for _, c := range commands() {
		switch {
		case !behind:
			from = append(from, c.name)
		case c.name != name:
		case c.want != nil:
			from = c.want
		case name == ".schema":
			from = append(s.catalog.Tables(), s.catalog.Files(ctx, prefix)...)
		case name == ".open", name == ".table", name == ".output":
			from = s.catalog.Files(ctx, prefix)
		}
	}
	for _, word := range from {
		if strings.HasPrefix(word, prefix) {
			list = append(list, word)
		}
	}
	return start, list
}
