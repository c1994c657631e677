package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		"SELECT count(*) FROM read_parquet(['DIR/p.parquet', 'DIR/p.parquet'])",
		"SELECT k, sum(id) FROM read_parquet('DIR/p.parquet', hive_partitioning = false) GROUP BY k",
	} {
		s.check(t, strings.ReplaceAll(text, "DIR", s.dir))
	}
	for _, c := range []struct{ text, want string }{
		{"read_csv('DIR/plain.csv', delimm = ',')", "did you mean delim?"},
		{"read_csv('DIR/plain.csv', ignore_errors = true)", "there is no option ignore_errors; there is delim, header"},
		{"read_csv('DIR/plain.csv', dateformat = '%d.%m.%Y')", "want '%Y-%m-%d'"},
		{"read_csv('DIR/plain.csv', escape = '\\')", "the quote character"},
		{"read_csv('DIR/plain.csv', columns = {'id': 'INTEGER'})", "1 names are given"},
		{"read_csv('DIR/plain.csv', types = {'id': 'INTEGERR'})", "column id: no type is written 'INTEGERR'"},
		{"read_csv('DIR/plain.csv', types = {'ID2': 'INTEGER'})", "names column \"ID2\""},
		{"read_csv('DIR/plain.csv', header = 'yes')", "want true or false"},
		{"read_csv('DIR/plain.csv', skip = -1)", "a whole number"},
		{"read_csv('DIR/plain.csv', skip = 1.5)", "a whole number"},
		{"read_csv([1, 2])", "a file's name in quotes, or a list of them"},
		{"read_parquet('DIR/p.parquet', header = true)", "there is hive_partitioning"},
	} {
		_, err := s.ours("SELECT * FROM " + strings.ReplaceAll(c.text, "DIR", s.dir))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got the error %v, want %q", c.text, err, c.want)
		}
	}
}
