package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/json"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/knob"
)

// flagless are the options that no flag sets: a program's own.
var flagless = []knob.Name{
	"engine.Ablation", "engine.FS", "engine.Progress", "engine.Logger", "engine.Devices", "engine.Allocator", "engine.Trace", "engine.MeasureLink",
	"query.Keys", "query.Aggregates",
	"sink.FS", "sink.Stdout", "sink.RowsShown", "sink.RowsLast", "sink.TableWidth", "sink.Query", "sink.Color", "sink.KeepExisting", "sink.OpenFilesMax", "sink.GroupBytes",
	"sink.Delimiter", "sink.NoHeader", "sink.CellWidth", "sink.Allocator", "sink.Budget", "sink.Collect",
	"partial.Create", "partial.Regroup", "partial.Run", "sink.Plan", "sink.BeforePublish", "sink.Update", "sink.Run",
}

// optionStructs are the options that the command fills in, by the first part of their names.
var optionStructs = map[string]reflect.Type{
	"engine": reflect.TypeFor[engine.Options](), "engine.Ablation": reflect.TypeFor[engine.Ablation](), "query": reflect.TypeFor[query.Query](),
	"dataset": reflect.TypeFor[dataset.Options](), "dataset.CSV": reflect.TypeFor[csv.Options](), "dataset.JSON": reflect.TypeFor[json.Options](),
	"sink": reflect.TypeFor[sink.Options](), "partial": reflect.TypeFor[partial.Options](),
}

// Would catch an option whose errors name no flag, and a flag of an option that is gone.
func TestFlagNames(t *testing.T) {
	fields := make(map[knob.Name]bool)
	for at, options := range optionStructs {
		for _, f := range reflect.VisibleFields(options) {
			name := knob.Name(at + "." + f.Name)
			if !f.IsExported() {
				continue
			}
			fields[name] = true
			if _, ok := flagNames[name]; ok == slices.Contains(flagless, name) && !strings.HasPrefix(at, "dataset") { // TestInputFlags
				t.Errorf("%s has a flag in flagNames: %v; say in either list what sets it", name, ok)
			}
		}
	}
	flags := make(map[string]bool)
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		c.InheritedFlags().VisitAll(func(f *pflag.Flag) { flags["--"+f.Name] = true })
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags["--"+f.Name] = true })
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	add(newRootCommand(new(observer)))
	ofOthers := []knob.Name{"objects.Timeout", "distributed.BroadcastBytes", "rollup.State",
		"server.QueryTime", "server.StallTime", "server.Sessions", "server.ClientWaiting",
		"server.UploadBytes"}
	for name, flag := range flagNames {
		if !flags[flag] || !fields[name] && !slices.Contains(ofOthers, name) {
			t.Errorf("there is no option %s, or no flag %s", name, flag)
		}
	}
}

// Every flag of the commands that answer queries gets values that few flags take, with an output of
// each kind. Would catch a panic, and a message that speaks of a field of the library.
func TestBadFlags(t *testing.T) {
	var words []string
	for _, options := range optionStructs {
		for _, f := range reflect.VisibleFields(options) {
			if !slices.Contains([]string{"CSV", "JSON"}, f.Name) { // formats, too
				words = append(words, f.Name)
			}
		}
	}
	field := regexp.MustCompile(`\b(Options|CSV\.\w+|` + strings.Join(words, "|") + `)\b`)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"in.csv": "city,n\nUlm,1\nBonn,x\n", "odd.csv": "a\x00b\n", "quote.csv": "a,b\n1,x\"y\"\n",
		"k=1/x.csv": "n\n9223372036854775807\n1\n", "l=1/x.csv": "n\n1\n"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	call := func(args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code := run(args, strings.NewReader(""), &stdout, &stderr)
		if text := stderr.String(); field.MatchString(text) || strings.Contains(text, "panic") || code == exitFailed && text == "" {
			t.Errorf("mpga %q ends with %d: %s", args, code, text)
		}
	}
	commands := map[string][]string{
		"agg": {"--by", "city", "--agg", "sum(n)", "in.csv"},
		"sql": {"SELECT city, sum(n) AS s FROM 'in.csv' GROUP BY 1"},
	}
	skipped := []string{"help", "file", "table", "metrics-listen", "otlp-file", "explain"}
	values := []string{"", "-1", "0", "3", "99999999", "1e30", "100MB", "nosuch", "x=y", "n=nosuch", "n=list", "city", "gpu", "a,b", "zstd"}
	for name, args := range commands {
		cmd, _, err := newRootCommand(new(observer)).Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		outputs := [][]string{{}, {"-o", "out.csv"}, {"-o", "out.parquet"}}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(skipped, f.Name) {
				return
			}
			for i, value := range values {
				call(slices.Concat([]string{name, "--device", "cpu", "--progress", "off"}, outputs[i%len(outputs)], []string{"--" + f.Name + "=" + value}, args)...)
			}
		})
	}
	for _, args := range [][]string{
		{"agg", "--by", "n", "--memory-limit", "10MB", "in.csv"},
		{"agg", "--by", "n", "odd.csv"}, {"agg", "--by", "a,b", "quote.csv"}, {"agg", "--agg", "sum(n)", "--type", "n=int64", "in.csv"},
		{"agg", "--by", "n", "--bound", "tail", "--device", "cpu", "in.csv"}, {"agg", "--by", "n", "--algorithm", "mp-ega", "--device", "cpu", "in.csv"},
		{"agg", "--by", "city", "--agg", "count(*)", "--partition-by", "nosuch", "-o", "dir", "in.csv"},
		{"agg", "--by", "city", "--manifest", "-o", ".", "in.csv"},
		{"agg", "--by", "city", "--codec", "lz4", "--level", "3", "-o", "x.arrow", "in.csv"}, {"agg", "--by", "city", "--layout", "gpu", "-o", "x.csv", "in.csv"},
		{"agg", "--by", "city", "--partial", "--partitions", "3", "-o", "states", "in.csv"},
		{"agg", "--by", "n", "k=1/x.csv", "l=1/x.csv"}, {"agg", "--agg", "sum(n)", "k=1/x.csv"},
		{"merge", "--threads", "-1", "nosuch"}, {"describe", "--input-format", "nosuch", "in.csv"}, {"describe", "--type", "nosuch=int64", "in.csv"},
		{"sql", "SELECT * FROM read_csv('in.csv', delim = 'x', quote = 'x')"}, {"sql", "SELECT * FROM read_csv('in.csv', names = ['a'])"},
	} {
		call(args...)
	}
	if left, err := filepath.Glob(".*"); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}
