package rollup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/internal/vfs"
)

// Would catch lines that are read twice or not at all where a text grows, and a part that stays where what was before
// the lines is another text, or says other things of them.
func TestGrown(t *testing.T) {
	many := "k,v\n" + strings.Repeat("1,2\n3,4\n", 20)
	for _, c := range []struct {
		name, ending string
		texts        []string // one after the other
		rows         []int64  // that are read
	}{
		{"lines", ".csv", []string{many, many + "5,6\n", many + "5,6\n5,7\n8,9\n"}, []int64{40, 1, 2}},
		{"a line without its end", ".csv", []string{many + "5,6", many + "5,67\n", many + "5,67\n8,9"},
			[]int64{41, 41, 1}},
		{"the line before ends later", ".csv", []string{many + "5,6", many + "5,6\n8,9\n"}, []int64{41, 42}},
		{"touched", ".csv", []string{many, many, many + "5,6\n", many + "5,6\n"}, []int64{40, 0, 1, 0}},
		{"another beginning", ".csv", []string{many, "k,v\n7,7\n" + many[8:] + "5,6\n"}, []int64{40, 41}},
		{"shorter", ".csv", []string{many + "5,6\n", many}, []int64{41, 40}},
		{"shorter, then longer", ".csv", []string{many, many + "5,6\n", many, many + "8,8\n"}, []int64{40, 1, 0, 1}},
		{"CRLF", ".csv", []string{"k,v\r\n1,2\r\n", "k,v\r\n1,2\r\n3,4\r\n"}, []int64{1, 1}},
		{"quotes", ".csv", []string{"k,v\n\"1\",2\n", "k,v\n\"1\",2\n\"3\",\"4\"\n"}, []int64{1, 1}},
		{"a header alone", ".csv", []string{"k,v\n", "k,v\n1,2\n"}, []int64{0, 1}},
		{"objects", ".jsonl", []string{`{"k":1,"v":2}` + "\n", `{"k":1,"v":2}` + "\n" + `{"v":4,"k":3}` + "\n"},
			[]int64{1, 1}},
		{"an object of lines", ".json", []string{"{\"k\":1,\n\"v\":2}\n",
			"{\"k\":1,\n\"v\":2}\n{\"v\":4,\n\"k\":3}\n"}, []int64{1, 2}},
		{"an array", ".json", []string{"[{\"k\":1,\"v\":2}]\n", "[{\"k\":1,\"v\":2},{\"k\":3,\"v\":2}]\n"},
			[]int64{1, 2}},
	} {
		dir := t.TempDir()
		check(t, os.Mkdir(filepath.Join(dir, "t"), 0o777))
		other := filepath.Join(dir, "t", "0"+c.ending) // settles the types
		first := "k,v\n2,2\n"
		if c.ending != ".csv" {
			first = `{"k":2,"v":2}` + "\n"
		}
		check(t, os.WriteFile(other, []byte(first), 0o666))
		o := Options{
			Statement: "SELECT k, sum(v) AS sv, first(v) AS f, list(v) AS l FROM t GROUP BY k ORDER BY k",
			Tables:    map[string]plan.Table{"t": {Files: []string{filepath.Join(dir, "t")}}},
			State:     filepath.Join(dir, "state"), Output: filepath.Join(dir, "out.csv"), FS: vfs.OS, Version: "test",
		}
		eng := open(t, vfs.OS, 2)
		h := &history{t: t, plain: eng}
		for i, text := range c.texts {
			check(t, os.WriteFile(filepath.Join(dir, "t", "1"+c.ending), []byte(text), 0o666))
			r, err := Run(t.Context(), eng, o)
			if err != nil {
				t.Fatalf("%s, text %d: %v", c.name, i, err)
			}
			if i == 0 {
				r.RowsRead-- // of the other file
			}
			if r.RowsRead != c.rows[i] || r.Again != 0 {
				t.Errorf("%s, text %d: %+v, want %d rows", c.name, i, r, c.rows[i])
			}
			full := filepath.Join(dir, "full.csv")
			check(t, h.write(o.Statement, plan.Options{Tables: o.Tables}, full))
			answer, err := os.ReadFile(full)
			check(t, err)
			want(t, o, string(answer))
		}
		_, err := Verify(t.Context(), vfs.OS, o.State)
		check(t, err)
	}
}
