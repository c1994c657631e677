package job

import (
	"context"
	"strings"
	"testing"
)

// A plan has the error that a run would have, of text and of what a step before is to write, and
// none that a run might not have.
func TestPlanBinds(t *testing.T) {
	dir, _ := newVisits(t)
	const cities = "steps:\n  - {name: cities, from: in/*.csv, %BY, output: {path: %OUT}}\n  - {name: next, from: %FROM, %NEXT, output: next.parquet}\n"
	for name, c := range map[string]struct {
		by, out, from, next string
		want                string // of the error; "" where there is none
		unchecked           string // of the second step
		columns             string // of the second step
	}{
		"a column of text":         {by: "by: town", want: `step cities: column "town" does not exist`},
		"a type of text":           {by: "by: city, agg: sum(city)", want: "step cities: "},
		"where over text":          {by: "by: city, where: nn > 1", want: "step cities: "},
		"a folder's column":        {by: "by: city, agg: sum(n) as n", out: "out, partition_by: town", want: `output.partition_by: there is no column "town"`},
		"a column of parquet":      {out: "out.parquet", next: "agg: sum(m)", want: `step next: column "m" does not exist`},
		"a type of parquet":        {out: "out.parquet", next: "agg: sum(city)", want: "step next: "},
		"parquet":                  {out: "out.parquet", next: "by: city, agg: sum(n) as n", columns: "city n"},
		"a column of csv to come":  {out: "out.csv", next: "agg: sum(m)", want: `step next: column "m" does not exist`},
		"csv to come":              {out: "out.csv", next: "by: city, agg: sum(n) as n", columns: "city n"},
		"a type of csv to come":    {out: "out.csv", next: "agg: sum(city)", unchecked: "the types of what cities writes are known when it is read, and may not suit the query: "},
		"types of csv that differ": {out: "out.csv", next: "agg: 'sum(city), max(date_trunc(''month'', city))'", unchecked: "and may not suit the query: "},
		"csv with a type":          {out: "out.csv", next: "input: {types: {city: string}}, agg: sum(city)", want: "step next: "},
		"json to come":             {out: "out.json", next: "by: city, agg: sum(n) as n", columns: "city n"},
		"a column of json to come": {out: "out.json", next: "agg: sum(m)", want: `step next: column "m" does not exist`},
		"a type of json to come":   {out: "out.json", next: "agg: sum(city)", unchecked: "the types of what cities writes are known when it is read, and may not suit the query: "},
		"json with a type":         {out: "out.json", next: "input: {types: {city: string}}, agg: sum(city)", want: "step next: "},
		"json without a key":       {out: "out.json", next: "input: {types: {more: int}}, by: 'city, more'", columns: "city more"},
		"a table to come":          {out: "out.md", next: "agg: sum(n)", unchecked: "cities writes markdown"},
		"names of csv to come":     {out: "out.csv", next: "input: {filename: true}, by: filename, agg: sum(n) as n", columns: "filename n"},
		"names of folders to come": {out: "out, partition_by: city", next: "input: {filename: true}, by: 'city, filename'", columns: "city filename"},
		"no names":                 {out: "out.csv", next: "by: filename", want: `step next: column "filename" does not exist`},
		"folders to come":          {out: "out, partition_by: city", next: "by: city, agg: sum(n) as n", columns: "city n"},
		"folders, no column":       {out: "out, partition_by: city", next: "by: town", want: `step next: column "town" does not exist`},
		"no folders":               {out: "out, partition_by: city", next: "input: {no_hive: true}, by: city", want: `step next: column "city" does not exist`},
		"other files, too":         {out: "out.csv", from: "[out.csv, in/a.csv]", next: "by: city", unchecked: "it reads what cities will write, and other files"},
	} {
		text := cities
		for _, r := range [][3]string{{"%BY", c.by, "by: city, agg: sum(n) as n"}, {"%OUT", c.out, "out.csv"}, {"%FROM", c.from, `"${steps.cities.output}"`}, {"%NEXT", c.next, "agg: count(*)"}} {
			value := r[1]
			if value == "" {
				value = r[2]
			}
			text = strings.ReplaceAll(text, r[0], value)
		}
		plan, err := reparsed(t, dir, text).Plan(context.Background(), Options{})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		next := plan.Steps[1]
		if !strings.Contains(next.Unchecked, c.unchecked) || (next.Columns == nil) != (c.unchecked != "") {
			t.Errorf("%s: %v, not checked: %q, want %q", name, next.Columns, next.Unchecked, c.unchecked)
		}
		if c.unchecked != "" && !strings.Contains(plan.String(), "   columns  not checked: ") {
			t.Errorf("%s: the plan does not say what was not checked:\n%s", name, plan)
		}
		var columns []string
		if c.columns != "" {
			for _, f := range next.Columns.Fields() {
				columns = append(columns, f.Name)
			}
			if got := strings.Join(columns, " "); got != c.columns {
				t.Errorf("%s: columns %s, want %s", name, got, c.columns)
			}
		}
	}
}
