package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// read_json, its names and its arguments mean what they mean to DuckDB.
func TestSQLReadJSON(t *testing.T) {
	s := openSQL(t)
	for name, text := range map[string]string{
		"lines.ndjson": "{\"id\":1,\"name\":\"Ulm\",\"price\":1.5}\n{\"id\":2,\"price\":null}\n{\"name\":\"a\\u00e9\\ud83d\\ude00\",\"id\":3}\n",
		"array.json":   "[\n  {\"id\": 4, \"name\": \"Bonn\"},\n  {\"id\": 5, \"open\": true}\n]\n",
		"times.json":   "{\"d\":\"2020-02-29\",\"t\":\"10:11:12\",\"stamp\":\"2020-01-01T10:00:00\"}\n{\"d\":\"1969-12-31\",\"t\":\"00:00:00\",\"stamp\":\"1969-12-31T23:59:59\"}\n",
		"huge.json":    "{\"n\":18446744073709551615}\n{\"n\":-1}\n",
		"late.json":    "{\"a\":1}\n{\"a\":2,\"b\":3}\n",
		"twice.json":   "{\"a\":1,\"a\":2,\"b\":3}\n",
		"mixed.json":   "{\"a\":1,\"b\":true}\n{\"a\":\"x\",\"b\":false}\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{
		"SELECT * FROM 'DIR/lines.ndjson'",
		"SELECT * FROM read_json('DIR/lines.ndjson')",
		"SELECT * FROM read_ndjson('DIR/lines.ndjson', sample_size = 5)",
		"SELECT name, id + 1, price * 2 FROM read_json_auto('DIR/array.json', format = 'auto', records = true) WHERE id > 3",
		"SELECT * FROM read_json(['DIR/lines.ndjson', 'DIR/array.json'])",
		"SELECT d, t, stamp, stamp - INTERVAL 1 DAY FROM 'DIR/times.json'",
		"SELECT n, n - 1, n > 5 FROM 'DIR/huge.json'",
		"SELECT * FROM read_json('DIR/late.json', columns = {'b': 'INTEGER', 'a': 'VARCHAR', 'c': 'DATE'})",
		"SELECT a FROM read_json('DIR/late.json', sample_size = 1)",
		"SELECT b FROM read_json('DIR/twice.json')",
		"SELECT a FROM read_json('DIR/twice.json')",
		"SELECT b, count(*) FROM read_json('DIR/mixed.json') GROUP BY b",
		"SELECT * FROM read_json('DIR/lines.ndjson', maximum_object_size = 1000)",
		"SELECT * FROM read_json('DIR/none.json')",
		"SELECT * FROM read_json('DIR/lines.ndjson', header = true)",
	} {
		s.check(t, strings.ReplaceAll(text, "DIR", s.dir))
	}
}

// Random rows of random types, with a tail that is unlike the beginning, are what DuckDB reads. Would
// catch types, numbers, escapes and NULLs that are read otherwise.
func TestSQLRandomJSON(t *testing.T) {
	s := openSQL(t)
	rng := rand.New(rand.NewPCG(*seedFlag, 12))
	for round := range 40 {
		file := filepath.Join(s.dir, fmt.Sprintf("r%d.json", round))
		if err := os.WriteFile(file, []byte(randomDocument(rng)), 0o600); err != nil {
			t.Fatal(err)
		}
		s.check(t, fmt.Sprintf("SELECT * FROM '%s'", file))
		s.check(t, fmt.Sprintf("SELECT count(*) FROM '%s'", file))
	}
}

// Random objects and arrays, at some depth, are what DuckDB makes of them: structs, lists and maps. Would catch a type
// that is inferred otherwise, members that come late, lack or are in another order, and groups of them.
func TestSQLRandomNestedJSON(t *testing.T) {
	s := openSQL(t)
	rng := rand.New(rand.NewPCG(*seedFlag, 13))
	for round := range 40 {
		file := filepath.Join(s.dir, fmt.Sprintf("n%d.json", round))
		shape := nestedValues(rng, 3)
		var text strings.Builder
		for row := range 1 + rng.IntN(60) {
			fmt.Fprintf(&text, "{\"id\":%d,\"c\":%s}\n", row, shape())
		}
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{"SELECT id, c::VARCHAR FROM '%s'", typesQuery,
			"SELECT c::VARCHAR, count(*) FROM '%s' GROUP BY c", "SELECT max(c)::VARCHAR, min(c)::VARCHAR FROM '%s'"} {
			s.check(t, fmt.Sprintf(query, file))
		}
	}
}

// typesQuery shows a type without what tests/SEMANTICS.md says of it: integers of both signs are HUGEINT to DuckDB, as
// are types of values that it does not know "NULL" or JSON.
const typesQuery = "SELECT DISTINCT replace(regexp_replace(replace(typeof(c), 'HUGEINT', 'BIGINT'), '\"NULL\"|JSON', 'VARCHAR', 'g'), '\"', '') FROM '%s'"

// nestedValues returns what writes values of one type, at most so deep.
func nestedValues(rng *rand.Rand, depth int) func() string {
	orNull := func(write func() string) func() string {
		return func() string {
			if rng.IntN(7) == 0 {
				return "null"
			}
			return write()
		}
	}
	switch kind := rng.IntN(7); {
	case depth > 0 && kind < 2:
		element := nestedValues(rng, depth-1)
		return orNull(func() string {
			elements := make([]string, rng.IntN(4))
			for i := range elements {
				elements[i] = element()
			}
			return "[" + strings.Join(elements, ", ") + "]"
		})
	case depth > 0 && kind < 5:
		members := make([]func() string, 1+rng.IntN(4))
		for i := range members {
			members[i] = nestedValues(rng, depth-1)
		}
		return orNull(func() string {
			var written []string
			for _, i := range rng.Perm(len(members)) {
				if rng.IntN(5) > 0 {
					written = append(written, fmt.Sprintf(`"m%d": %s`, i, members[i]()))
				}
			}
			return "{" + strings.Join(written, ",") + "}"
		})
	case depth > 0 && kind == 5: // few of many keys
		values := nestedValues(rng, 0)
		return func() string { return fmt.Sprintf(`{"k%d":%s}`, rng.IntN(1000), values()) }
	}
	return orNull([]func() string{
		func() string { return strconv.FormatInt(int64(int32(rng.Uint32()))>>rng.IntN(32), 10) },
		func() string { return strconv.Itoa(rng.IntN(100)) + ".5" },
		func() string { return strconv.FormatBool(rng.IntN(2) == 0) },
		func() string { return fmt.Sprintf(`"s%d"`, rng.IntN(9)) },
		func() string { return fmt.Sprintf(`"2001-02-%02d"`, 1+rng.IntN(28)) },
	}[rng.IntN(5)])
}

// randomDocument returns rows of JSON whose columns DuckDB gives types that mpga has.
func randomDocument(rng *rand.Rand) string {
	makers := []func() string{
		func() string { return strconv.FormatInt(rng.Int64()>>rng.IntN(64), 10) },
		func() string { return strconv.FormatInt(-rng.Int64N(1000), 10) },
		func() string { return strconv.FormatUint(rng.Uint64()|1<<63, 10) },
		func() string { return strconv.FormatFloat(rng.NormFloat64()*1e6, 'f', rng.IntN(6), 64) },
		func() string { return strconv.FormatFloat(rng.NormFloat64(), 'e', rng.IntN(17), 64) },
		func() string { return strconv.FormatFloat(rng.ExpFloat64(), 'g', -1, 64) },
		func() string { return strconv.FormatBool(rng.IntN(2) == 0) },
		func() string {
			return fmt.Sprintf(`"%04d-%02d-%02d"`, 1900+rng.IntN(200), 1+rng.IntN(12), 1+rng.IntN(28))
		},
		func() string {
			return fmt.Sprintf(`"2001-02-03T%02d:%02d:%02d"`, rng.IntN(24), rng.IntN(60), rng.IntN(60))
		},
		func() string { return fmt.Sprintf(`"%02d:%02d:%02d"`, rng.IntN(24), rng.IntN(60), rng.IntN(60)) },
		func() string { return fmt.Sprintf(`"key%d"`, rng.IntN(20)) },
		func() string {
			return `"` + strings.Repeat([]string{"x", "é", `\n`, `\u00e9`, `\ud83d\ude00`, `\"`, " "}[rng.IntN(7)], rng.IntN(40)) + `"`
		},
	}
	columns := make([]func() string, 1+rng.IntN(6))
	for i := range columns {
		columns[i] = makers[rng.IntN(len(makers))]
	}
	separator, open, end := "\n", "", "\n"
	if rng.IntN(3) == 0 {
		separator, open, end = []string{",\n", ",", "\n, "}[rng.IntN(3)], "[", "]"
	}
	var rows []string
	for range 1 + rng.IntN(500) {
		var members []string
		for _, i := range rng.Perm(len(columns)) {
			switch value := columns[i](); rng.IntN(8) {
			case 0:
				members = append(members, fmt.Sprintf(`"c%d":null`, i))
			case 1:
			default:
				members = append(members, fmt.Sprintf(`"c%d": %s`, i, value))
			}
		}
		if len(members) > 0 {
			rows = append(rows, "{"+strings.Join(members, ",")+"}")
		}
	}
	if len(rows) == 0 {
		rows = []string{`{"c0":1}`}
	}
	return open + strings.Join(rows, separator) + end
}

// What DuckDB's, Polars' and pandas' writers of JSON write is the table that they had. Would catch a layout, a NULL or an
// escape of one of them that is read otherwise.
func TestJSONWriters(t *testing.T) {
	if *pythonFlag == "" {
		t.Skip("needs -duckdb-python")
	}
	s := openSQL(t)
	if text, err := exec.Command(*pythonFlag, "testdata/json_writers.py", s.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	const query = "SELECT id, u::VARCHAR, u.nick, u.geo.lat, tags::VARCHAR, items::VARCHAR, len(items) FROM '%s' ORDER BY id"
	want, err := s.theirs(fmt.Sprintf(query, filepath.Join(s.dir, "t.parquet")))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "*.*json*"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if err := s.compare(fmt.Sprintf(query, file), want); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
