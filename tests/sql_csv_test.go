package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dustin/go-humanize"
)

// The arguments of read_csv and read_parquet mean what they mean to DuckDB.
func TestSQLReaders(t *testing.T) {
	s := openSQL(t)
	s.add(t, "p", "SELECT r AS id, r % 3 AS k FROM range(10) t(r)")
	for name, text := range map[string]string{
		"plain.csv": "id,name,price\n1,Ulm,1.50\n2,\"a,b\",\n3,\"say \"\"x\"\"\",2.25\n",
		"more.csv":  "id,name,price\n4,Bonn,7\n",
		"semi.csv":  "# made by hand\n# twice\nid;name;price\n1;Ulm;1.50\n2;-;2\n",
		"bare.csv":  "1|x|2020-01-31\n2|NA|2020-02-29\n3|none|2021-02-28\n",
		"tabs.csv":  "id\tname\n1\t'a\tb'\n2\tc\n",
		"zip.csv":   "code,n\n01234,1\n00007,2\n",
		"euro.csv":  "day;at;n;x\n31.12.2025;31.12.2025 14:05:00;1.234;1.234.567,89\n1.2.2026;01.02.2026 00:00:00;5;-0,5\n",
		"us.csv":    "day,at\n01/02/2025,01/02/2025 02:05:00 PM\n12/31/2025,12/31/2025 12:00:00 AM\n",
		"notes.csv": "#x\nid,name\n1,Ulm\n#2,x\n3,Bonn#\n",
		"short.csv": "a,b,c\n1,2\n3,4,x\n5\n",
		"bad.csv":   "a,b\n1,x\n2\n3,y,z\nq,t\n4,u\n",
		"spark.csv": "a,b\n1,\"x \\\"y\\\", \\\\\"\n2,\"p \\n q\"\n3,\\u\n",
		"ends.csv":  "a,b\n1,x,\n2,y,\n",
		"late.csv":  "a,b\n" + strings.Repeat("1,2\n", 300_000) + "x,3\n",
		"16.csv":    "\xff\xfea\x00,\x00b\x00\n\x001\x00,\x00\xe4\x00\n\x00",
		"latin.csv": "a,b\n1,\xe4\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{
		"SELECT * FROM read_csv('DIR/plain.csv')",
		"SELECT * FROM read_csv('DIR/plain.csv', header = true, delim = ',', quote = '\"', escape = '\"', auto_detect = true)",
		"SELECT id, price * 2 FROM read_csv('DIR/plain.csv', types = {'price': 'DECIMAL(9, 2)'})",
		"SELECT * FROM read_csv('DIR/plain.csv', all_varchar = true)",
		"SELECT count(*), sum(id), max(name) FROM read_csv(['DIR/plain.csv', 'DIR/more.csv'])",
		"SELECT * FROM read_csv('DIR/semi.csv', sep = ';', skip = 2, nullstr = '-')",
		"SELECT * FROM read_csv('DIR/bare.csv', delim = '|', header = false, columns = {'id': 'INTEGER', 'name': 'VARCHAR', 'at': 'DATE'}, nullstr = ['NA', 'none'])",
		"SELECT a, b FROM read_csv('DIR/bare.csv', delim = '|', header = false, names = ['a', 'b', 'c'], dateformat = '%Y-%m-%d')",
		"SELECT * FROM read_csv('DIR/tabs.csv', delim = '\\t', quote = '''')",
		"SELECT code, sum(n) FROM read_csv('DIR/zip.csv', types = {'code': 'VARCHAR'}) GROUP BY code",
		"SELECT * FROM read_csv('DIR/euro.csv', decimal_separator = ',', thousands = '.')",
		"SELECT * FROM read_csv('DIR/euro.csv', delim = ';', types = {'n': 'SMALLINT', 'x': 'DECIMAL(12, 3)'}, decimal_separator = ',', thousands = '.', dateformat = '%d.%m.%Y', timestampformat = '%d.%m.%Y %H:%M:%S')",
		"SELECT * FROM read_csv('DIR/us.csv')",
		"SELECT * FROM read_csv('DIR/us.csv', dateformat = '%m/%d/%Y', timestampformat = '%m/%d/%Y %I:%M:%S %p')",
		"SELECT * FROM read_csv('DIR/notes.csv', comment = '#')",
		"SELECT * FROM read_csv('DIR/short.csv', null_padding = true)",
		"SELECT * FROM read_csv('DIR/bad.csv', ignore_errors = true, columns = {'a': 'INTEGER', 'b': 'VARCHAR'}, header = true, delim = ',')",
		"SELECT count(*), count(b) FROM read_csv('DIR/bad.csv', ignore_errors = true, columns = {'a': 'INTEGER', 'b': 'VARCHAR'}, header = true, delim = ',')",
		"SELECT * FROM 'DIR/spark.csv'",
		"SELECT * FROM read_csv('DIR/spark.csv', escape = '\\')",
		"SELECT * FROM 'DIR/ends.csv'",
		"SELECT a, count(*) FROM read_csv('DIR/late.csv', sample_size = -1) GROUP BY a",
		"SELECT * FROM read_csv('DIR/16.csv', encoding = 'utf-16')",
		"SELECT * FROM read_csv('DIR/latin.csv', encoding = 'latin-1')",
		"SELECT filename, count(*), sum(id) FROM read_csv(['DIR/plain.csv', 'DIR/more.csv'], filename = true) GROUP BY filename",
		"SELECT filename, id FROM read_csv(['DIR/plain.csv', 'DIR/more.csv'], filename = true) WHERE filename <> 'DIR/more.csv'",
		"SELECT filename, max(id) FROM read_parquet(['DIR/p.parquet'], filename = true) GROUP BY filename",
		"SELECT count(*) FROM read_parquet(['DIR/p.parquet', 'DIR/p.parquet'])",
		"SELECT k, sum(id) FROM read_parquet('DIR/p.parquet', hive_partitioning = false) GROUP BY k",
	} {
		s.check(t, strings.ReplaceAll(text, "DIR", s.dir))
	}
	for _, c := range []struct{ text, want string }{
		{"read_csv('DIR/plain.csv', delimm = ',')", "did you mean delim?"},
		{"read_csv('DIR/plain.csv', store_rejects = true)", "there is no option store_rejects; there is delim, header"},
		{"read_csv('DIR/plain.csv', dateformat = '%q')", "%q"},
		{"read_csv('DIR/plain.csv', encoding = 'koi8')", "latin-1"},
		{"read_csv('DIR/plain.csv', comment = '##')", "one ASCII character"},
		{"read_csv('DIR/latin.csv')", "CSV.Encoding latin-1"},
		{"read_csv('DIR/plain.csv', escape = '\\')", "closing quote"},
		{"read_csv('DIR/plain.csv', columns = {'id': 'INTEGER'})", "1 names are given"},
		{"read_csv('DIR/plain.csv', types = {'id': 'INTEGERR'})", "column id: no type is written 'INTEGERR'"},
		{"read_csv('DIR/plain.csv', types = {'ID2': 'INTEGER'})", "names column \"ID2\""},
		{"read_csv('DIR/plain.csv', header = 'yes')", "want true or false"},
		{"read_csv('DIR/plain.csv', skip = -1)", "a whole number"},
		{"read_csv('DIR/plain.csv', skip = 1.5)", "a whole number"},
		{"read_csv([1, 2])", "a file's name in quotes, or a list of them"},
		{"read_parquet('DIR/p.parquet', header = true)", "there is filename, file_row_number, union_by_name, hive_partitioning"},
	} {
		_, err := s.ours("SELECT * FROM " + strings.ReplaceAll(c.text, "DIR", s.dir))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got the error %v, want %q", c.text, err, c.want)
		}
	}
}

// Random texts are read as DuckDB reads them, given the same options. Would catch an option that
// holds for some values alone.
func TestSQLReadersRandom(t *testing.T) {
	s := openSQL(t)
	dateFormats := []string{"%d.%m.%Y", "%m/%d/%y", "%Y%m%d", "%d %b %Y", "%-d-%-m-%Y"}
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		format := dateFormats[rng.IntN(len(dateFormats))]
		comments, short := rng.IntN(2) == 0, rng.IntN(2) == 0
		var b strings.Builder
		b.WriteString("i;x;d;s\n")
		for range 1 + rng.IntN(200) {
			day := time.Unix(rng.Int64N(2_000_000_000), 0).UTC()
			fields := []string{
				strings.ReplaceAll(humanize.Comma(rng.Int64N(1e9)-5e8), ",", "."),
				strings.ReplaceAll(strconv.FormatFloat(rng.Float64()*1000, 'f', rng.IntN(6), 64), ".", ","),
				day.Format(map[string]string{"%d.%m.%Y": "02.01.2006", "%m/%d/%y": "01/02/06", "%Y%m%d": "20060102", "%d %b %Y": "02 Jan 2006", "%-d-%-m-%Y": "2-1-2006"}[format]),
				[]string{"a", "\"b;c\"", "x", "", "\"say \"\"x\"\"\"", "\"#\""}[rng.IntN(6)],
			}
			if short && rng.IntN(5) == 0 {
				fields = fields[:1+rng.IntN(3)]
			}
			b.WriteString(strings.Join(fields, ";"))
			switch {
			case comments && rng.IntN(6) == 0:
				b.WriteString("# a comment at the end\n")
			case comments && rng.IntN(6) == 0:
				b.WriteString("\n# a comment\n")
			default:
				b.WriteString("\n")
			}
		}
		path := filepath.Join(s.dir, fmt.Sprintf("r%d.csv", seed))
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		options := ", delim = ';', quote = '\"', header = true, decimal_separator = ',', thousands = '.', dateformat = '" + format +
			"', columns = {'i': 'BIGINT', 'x': 'DOUBLE', 'd': 'DATE', 's': 'VARCHAR'}"
		if comments {
			options += ", comment = '#'"
		}
		if short {
			options += ", null_padding = true"
		}
		text := "SELECT * FROM read_csv('" + path + "'" + options
		want, err := s.theirs(text + ", auto_detect = false)") // its sniffer is confused by comments and short rows
		if err == nil {
			err = s.compare(text+")", want)
		}
		if err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}
