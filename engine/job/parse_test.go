package job

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// parsed parses text as the file jobs/nightly.yaml on 1 March 2024, with one variable in the
// environment.
func parsed(text string, set map[string]string) (*Job, error) {
	return Parse("jobs/nightly.yaml", []byte(text), ParseOptions{
		Set:  set,
		Date: time.Date(2024, 3, 1, 2, 30, 0, 0, time.UTC),
		Getenv: func(name string) (string, bool) {
			value, ok := map[string]string{"BUCKET": "/data", "HOME": "/root"}[name]
			return value, ok
		},
	})
}

func TestParse(t *testing.T) {
	j, err := parsed(`
description: what is flown
variables: {region: eu, root: "${BUCKET}/${region}", empty: ""}
environment: BUCKET
limits: {threads: 2, memory: 1GiB, time: 1h30m}
retry: {attempts: 2}
steps:
  - name: by_day
    from: ${root}/${year-1d}/${month-1d}/*.csv
    input: {format: csv, delimiter: ";", header: yes, nulls: [NA, ""], types: {zip: string, price: "decimal(10, 2)"}}
    by: origin
    agg:
      - count(*) as n
      - |
        sum(delay),
        max(delay)
    output: out/day-${date}.parquet
    limits: {threads: 1}
  - name: all
    from: ["${steps.by_day.output}", "more/$${x}"]
    agg: sum(n)
    overflow: widen
    output: {path: out/all.arrow, codec: zstd}
    retry: {attempts: 1, wait: 2s}
`, map[string]string{"region": "us"})
	if err != nil {
		t.Fatal(err)
	}
	if j.Name != "nightly" || j.State != "jobs/.nightly.state" {
		t.Errorf("name %q, state %q", j.Name, j.State)
	}
	day, all := j.Steps[0], j.Steps[1]
	if got, want := day.From, []string{"/data/us/2024/02/*.csv"}; !reflect.DeepEqual(got, want) {
		t.Errorf("from: %q, want %q", got, want)
	}
	if got, want := day.Output.Path, "jobs/out/day-2024-03-01.parquet"; got != want {
		t.Errorf("output: %q, want %q", got, want)
	}
	if got, want := all.From, []string{"jobs/out/day-2024-03-01.parquet", "jobs/more/${x}"}; !reflect.DeepEqual(got, want) {
		t.Errorf("from: %q, want %q", got, want)
	}
	if got, want := day.Limits, (Limits{Threads: 1, Memory: 1 << 30, Time: Duration(90 * time.Minute)}); got != want {
		t.Errorf("limits: %v, want %v", got, want)
	}
	if got, want := all.Limits.Threads, 2; got != want {
		t.Errorf("threads: %d, want %d", got, want)
	}
	if got, want := all.Retry, (Retry{1, Duration(2 * time.Second), Duration(time.Minute)}); got != want {
		t.Errorf("retry: %v, want %v", got, want)
	}
	query, err := day.query()
	if got, want := query.text, "SELECT origin, count(*) as n, sum(delay),\nmax(delay) FROM input GROUP BY 1"; got != want || err != nil {
		t.Errorf("query: %s, %v, want %s", got, err, want)
	}
	opt, err := day.Input.options()
	if err != nil || opt.CSV.Delimiter != ';' || len(opt.CSV.Types) != 2 || len(opt.CSV.NullStrings) != 2 {
		t.Errorf("options: %+v, %v", opt.CSV, err)
	}
}

// Anchors are YAML's own way to say a thing once.
func TestParseAliases(t *testing.T) {
	j, err := parsed(`
steps:
  - &first
    name: a
    from: a.csv
    agg: &calls [count(*)]
    retry: {attempts: 7}
    output: a.parquet
  - <<: *first
    name: b
    agg: *calls
    output: b.parquet
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := j.Steps[1]; b.Name != "b" || b.Retry.Attempts != 7 || b.From[0] != "jobs/a.csv" || b.Agg[0] != "count(*)" {
		t.Errorf("%+v", b)
	}
}

// Would catch an error that names another place, or none, or that offers nothing.
func TestParseErrors(t *testing.T) {
	const step = "steps:\n  - {name: a, from: x.csv, agg: count(*), output: a.csv}\n"
	for name, test := range map[string]struct{ text, want string }{
		"empty":            {"", "jobs/nightly.yaml: the file is empty: a job has steps"},
		"a list":           {"- a\n", "jobs/nightly.yaml:1:1: want fields such as steps:, got a list"},
		"not YAML":         {"steps:\n  - [a,\n", "jobs/nightly.yaml:3:1: not YAML: while parsing a flow node that begins in line 3: did not find expected node content"},
		"a tab":            {"steps:\n\t- a\n", "jobs/nightly.yaml:2:1: not YAML: while scanning for the next token that begins in line 2: found character that cannot start any token"},
		"two documents":    {step + "---\n" + step, "jobs/nightly.yaml:3:1: a second document: a file has one job"},
		"a state":          {step + "state: s3://bucket/state\n", "jobs/nightly.yaml:3:8: state: s3://bucket/state: want a folder, for the lock"},
		"no steps":         {"name: a\n", "jobs/nightly.yaml:1:1: steps is missing"},
		"steps are empty":  {"steps: []\n", "jobs/nightly.yaml:1:8: steps: a job has one step at least"},
		"a field":          {"step:\n  - a\n" + step, "jobs/nightly.yaml:1:1: unknown field \"step\"; did you mean steps?"},
		"a field of steps": {"steps:\n  - name: a\n    form: x.csv\n    agg: count(*)\n    output: a.csv\n", "jobs/nightly.yaml:3:5: steps[0]: unknown field \"form\"; did you mean from?"},
		"twice":            {step + "name: a\nname: b\n", "jobs/nightly.yaml:4:1: name stands twice, first in line 3"},
		"no output":        {"steps:\n  - name: a\n    from: x.csv\n    agg: count(*)\n", "jobs/nightly.yaml:2:5: steps[0]: output is missing"},
		"two queries":      {"steps:\n  - {name: a, from: x.csv, sql: SELECT 1, agg: count(*), output: a.csv}\n", "jobs/nightly.yaml:2:33: steps[0].sql: give sql alone, or by, agg, where, having, order_by and limit in place of it"},
		"another table":    {"steps:\n  - name: a\n    from: x.csv\n    sql: |\n      SELECT 1\n      FROM 'x.csv'\n    output: a.csv\n", "jobs/nightly.yaml:6:12: steps[0].sql: a step reads the files of its from field: write FROM input"},
		"a statement":      {"steps:\n  - name: a\n    from: x.csv\n    sql: SELECT 1 FORM input\n    output: a.csv\n", "jobs/nightly.yaml:4:24: steps[0].sql: syntax error"},
		"no query":         {"steps:\n  - name: a\n    from: x.csv\n    output: a.csv\n", "jobs/nightly.yaml:2:5: steps[0]: give sql, or by, agg or both"},
		"a bad name":       {"steps:\n  - {name: a b, from: x.csv, agg: count(*), output: a.csv}\n", "jobs/nightly.yaml:2:12: steps[0].name: \"a b\": want letters, digits, _ and -, at most 100"},
		"one name":         {step + "  - {name: a, from: x.csv, agg: count(*), output: b.csv}\n", "jobs/nightly.yaml:3:12: steps[1].name: two steps are named \"a\""},
		"one output":       {step + "  - {name: b, from: x.csv, agg: count(*), output: ./a.csv}\n", "jobs/nightly.yaml:3:51: steps[1].output.path: step a writes jobs/a.csv, too"},
		"own rejects":      {"steps:\n  - {name: a, from: x.csv, agg: count(*), output: a.csv, input: {rejects: ./a.csv}}\n", "jobs/nightly.yaml:2:75: steps[0].input.rejects: step a writes jobs/a.csv, too"},
		"a later output":   {"steps:\n  - {name: z, from: x.csv, agg: count(*), output: z.csv, input: {rejects: a.csv}}\n" + step[len("steps:\n"):], "jobs/nightly.yaml:2:75: steps[0].input.rejects: step a writes jobs/a.csv, too"},
		"rejects in it":    {step + "  - {name: b, from: x.csv, agg: count(*), output: {path: b, max_rows_per_file: 5}, input: {rejects: b/c.csv}}\n", "jobs/nightly.yaml:3:101: steps[1].input.rejects: jobs/b/c.csv lies in jobs/b, which step b replaces"},
		"rejects twice":    {"steps:\n  - {name: a, from: x.csv, agg: count(*), output: a.csv, input: {rejects: r.csv}}\n  - {name: b, from: x.csv, agg: count(*), output: b.csv, input: {rejects: r.csv}}\n", "jobs/nightly.yaml:3:75: steps[1].input.rejects: step a writes its rejects to jobs/r.csv, too"},
		"device":           {"steps:\n  - {name: a, from: x.csv, agg: count(*), output: /dev/null}\n", "jobs/nightly.yaml:2:51: steps[0].output.path: \"/dev/null\": a job writes files"},
		"stdin":            {"steps:\n  - {name: a, from: '-', agg: count(*), output: a.csv}\n", "jobs/nightly.yaml:2:21: steps[0].from[0]: \"-\": a job reads files, which a second attempt can read again"},
		"a number":         {step + "limits: {threads: many}\n", "jobs/nightly.yaml:3:19: limits.threads: \"many\": want a whole number"},
		"a bound":          {step + "limits: {threads: -1}\n", "jobs/nightly.yaml:2:5: steps[0].limits: limits.threads (-1) must be in [1, 4096]"},
		"a size":           {step + "limits: {memory: lots}\n", "jobs/nightly.yaml:3:18: limits.memory: \"lots\": want a size such as 512MiB or 2GB"},
		"a time":           {step + "limits: {time: soon}\n", "jobs/nightly.yaml:3:16: limits.time: \"soon\": want a time such as 90s, 15m or 1h30m"},
		"attempts":         {step + "retry: {attempts: 1001}\n", "jobs/nightly.yaml:2:5: steps[0].retry.attempts: 1001: want 1 to 1000"},
		"a word":           {"steps:\n  - {name: a, from: x.csv, agg: count(*), output: a.csv, overflow: wide}\n", "jobs/nightly.yaml:2:68: steps[0].overflow: unknown word \"wide\"; did you mean widen?"},
		"a choice":         {"steps:\n  - {name: a, from: x.csv, agg: count(*), output: a.csv, deterministic: perhaps}\n", "jobs/nightly.yaml:2:73: steps[0].deterministic: \"perhaps\": want true or false"},
		"an ending":        {"steps:\n  - {name: a, from: x.csv, agg: count(*), output: a.xyz}\n", "jobs/nightly.yaml:2:51: steps[0].output: jobs/a.xyz: the ending names no format"},
		"a codec":          {"steps:\n  - {name: a, from: x.csv, agg: count(*), output: {path: a.parquet, codec: lz5}}\n", "jobs/nightly.yaml:2:51: steps[0].output: jobs/a.parquet: output.codec (\"lz5\") of parquet must be one of"},
		"a type":           {"steps:\n  - {name: a, from: x.csv, agg: count(*), output: a.csv, input: {types: {zip: text9}}}\n", "jobs/nightly.yaml:2:79: steps[0].input.types.zip: unknown type \"text9\""},
		"SQL":              {"steps:\n  - name: a\n    from: x.csv\n    agg: sum(n) + * 2\n    output: a.csv\n", "jobs/nightly.yaml:4:19: steps[0].agg[0]: syntax error"},
		"SQL in quotes":    {"steps:\n  - name: a\n    from: x.csv\n    agg: [count(*), 'sum(n']\n    output: a.csv\n", "jobs/nightly.yaml:4:25: steps[0].agg[1]: syntax error at end of input: this parenthesis is open"},
		"SQL in a block":   {"steps:\n  - name: a\n    from: x.csv\n    agg: |\n      sum(n),\n      max(n n)\n    output: a.csv\n", "jobs/nightly.yaml:6:13: steps[0].agg[0]: syntax error"},
		"a list for one":   {step + "name: [a]\n", "jobs/nightly.yaml:3:7: name: want one value, got a list"},
		"one for fields":   {step + "limits: 5\n", "jobs/nightly.yaml:3:9: limits: want fields such as threads:, got \"5\""},
		"one for steps":    {"steps: 5\n", "jobs/nightly.yaml:1:8: steps: want a list, got \"5\""},
		"an alias":         {step + "name: *x\n", "jobs/nightly.yaml:3:7: not YAML: unknown anchor 'x' referenced"},
		"a circle":         {"steps: &x [*x]\n", "jobs/nightly.yaml:1:8: aliases lead to more than 100000 values, or back to themselves"},
		"not UTF-8":        {"name: a\nsteps: \xff\n", "jobs/nightly.yaml:2: the text is not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsed(test.text, nil)
			checkError(t, err, test.want)
		})
	}
}

// Would catch places that are looked up in lines of another kind than YAML's.
func TestParseLineBreaks(t *testing.T) {
	text := "steps:\n- name: a\n  from: f.parquet\n  sql: SELECT nonsense FROM\n  output: o.parquet\n"
	for _, lineBreak := range []string{"\n", "\r\n", "\r", "\u0085", "\u2028"} {
		_, err := parsed(strings.ReplaceAll(text, "\n", lineBreak), nil)
		if want := "jobs/nightly.yaml:4:"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("line breaks %q: %v, want %s", lineBreak, err, want)
		}
	}
}

func TestVariableErrors(t *testing.T) {
	const step = "steps:\n  - {name: a, from: x.csv, agg: count(*), output: a.csv}\n"
	for name, test := range map[string]struct {
		text, want string
		set        map[string]string
	}{
		"unknown":        {"description: to ${regoin}\nvariables: {region: eu}\n" + step, "jobs/nightly.yaml:1:17: unknown variable \"regoin\"; did you mean region?", nil},
		"in a block":     {"description: |\n  one\n  two ${x y}\n" + step, "jobs/nightly.yaml:3:7: unknown variable \"x y\"", nil},
		"environment":    {"description: ${HOME}\n" + step, "jobs/nightly.yaml:1:14: unknown variable \"HOME\": the environment has it; list it under environment: to use it", nil},
		"not there":      {"environment: [NOWHERE]\ndescription: '${NOWHERE}'\n" + step, "jobs/nightly.yaml:2:15: ${NOWHERE}: the environment has no such variable", nil},
		"no value":       {"variables: {region: }\ndescription: a ${region}\n" + step, "jobs/nightly.yaml:2:16: the variable region has no value: give it one with --set region=...", nil},
		"a circle":       {"variables:\n  a: ${b}\n  b: ${a}\n" + step, "jobs/nightly.yaml:2:6: the variables refer to each other in a circle: b, a, b", nil},
		"open":           {"description: a ${date\n" + step, "jobs/nightly.yaml:1:16: ${ without its }", nil},
		"set":            {"variables: {region: eu}\n" + step, "jobs/nightly.yaml: --set regio: unknown variable \"regio\"; did you mean region?", map[string]string{"regio": "us"}},
		"set, none":      {step, "jobs/nightly.yaml: --set a: unknown variable \"a\"", map[string]string{"a": "us"}},
		"the run's":      {"variables: {date: x}\n" + step, "jobs/nightly.yaml:1:13: variables: date is set by the run: --date changes it", nil},
		"a name":         {"variables: {a-b: x}\n" + step, "jobs/nightly.yaml:1:13: variables: \"a-b\": want letters, digits and _", nil},
		"both":           {"variables: {BUCKET: x}\nenvironment: [BUCKET]\n" + step, "jobs/nightly.yaml:2:15: environment: BUCKET is a variable of the file, too", nil},
		"a list":         {"variables: {a: [x]}\ndescription: ${a}\n" + step, "jobs/nightly.yaml:2:14: ${a}: want one value, got a list", nil},
		"a step":         {"steps:\n  - {name: a, from: '${steps.b.output}', agg: count(*), output: a.csv}\n", "jobs/nightly.yaml:2:22: unknown variable \"steps.b.output\"; did you mean steps.a.output?", nil},
		"its own output": {"steps:\n  - name: a\n    from: x.csv\n    agg: count(*)\n    output: ${steps.a.output}\n", "jobs/nightly.yaml:5:13: the variables refer to each other in a circle: steps.a.output, steps.a.output", nil},
		"too long": {"variables:\n" + doubling(30) + "description: ${v30}\n" + step,
			"jobs/nightly.yaml:19:14: the variables make a text of more than 1048576 bytes", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsed(test.text, test.set)
			checkError(t, err, test.want)
		})
	}
}

// doubling is variables each of which is the one before twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString("  v0: aaaaaaaaaaaaaaaa\n")
	for i := range n {
		fmt.Fprintf(&b, "  v%d: ${v%d}${v%d}\n", i+1, i, i)
	}
	return b.String()
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	var list Errors
	if !errors.As(err, &list) {
		t.Fatalf("got %v, want %s", err, want)
	}
	if got := err.Error(); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// All that is wrong is said at once, in the order of the file.
func TestParseManyErrors(t *testing.T) {
	_, err := parsed("steps:\n  - {name: a, from: x.csv, agg: 'sum(n', output: a.xyz}\n  - {name: a, from: x.csv, agg: count(*), output: b.csv}\n", nil)
	var list Errors
	if !errors.As(err, &list) || len(list) != 3 {
		t.Fatalf("%v", err)
	}
	for i, line := range []int{2, 2, 3} {
		if list[i].Line != line {
			t.Errorf("error %d is of line %d, want %d: %v", i, list[i].Line, line, list[i])
		}
	}
}

func TestDates(t *testing.T) {
	for text, want := range map[string]string{
		"${date}": "2024-03-01", "${time}": "2024-03-01T02:30:00Z", "${year}": "2024", "${month}": "03", "${day}": "01", "${hour}": "02",
		"${date-1d}": "2024-02-29", "${date - 1d}": "2024-02-29", "${date+31d}": "2024-04-01", "${day-1d}": "29", "${hour-3h}": "23", "${date-3h}": "2024-02-29",
	} {
		j, err := parsed("description: a"+text+"b\nsteps:\n  - {name: a, from: x.csv, agg: count(*), output: a.csv}\n", nil)
		if err != nil || j.Description != "a"+want+"b" {
			t.Errorf("%s: %v, %v, want %s", text, j, err, want)
		}
	}
}

// Would catch input that ends in a panic, or takes long.
func FuzzParse(f *testing.F) {
	f.Add("steps:\n  - {name: a, from: x.csv, agg: count(*), output: a.csv}\n")
	f.Add("variables: {a: '${b}', b: &x [*x]}\nsteps:\n  - <<: {name: a}\n    agg: |\n      smu(${a})\n")
	f.Add("environment: BUCKET\nname: ${BUCKET}${date-1d}$${\nlimits: {memory: 1GB, time: 1s}\nsteps: [{output: {path: a}}]")
	f.Fuzz(func(t *testing.T, text string) {
		j, err := parsed(text, nil)
		if (j == nil) == (err == nil) {
			t.Errorf("%v, %v", j, err)
		}
		if list := (Errors)(nil); err != nil && !errors.As(err, &list) {
			t.Errorf("%T: %v", err, err)
		}
	})
}
