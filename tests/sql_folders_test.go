package tests

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// folderKinds are types of a column in some files of a folder, by the kind of its values, and the values.
var folderKinds = map[string]struct {
	types []string
	value string // of a number h
}{
	"n": {[]string{"TINYINT", "INTEGER", "BIGINT", "UTINYINT", "UINTEGER", "UBIGINT"}, "h"},
	"x": {[]string{"SMALLINT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(6,2)", "DECIMAL(20,4)"}, "h / 4"},
	"e": {[]string{"INTEGER", "DECIMAL(5,1)", "DECIMAL(18,6)", "UBIGINT"}, "h"},
	"m": {[]string{"DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP", "TIMESTAMP_NS"}, "TIMESTAMP '2020-01-01 00:00:00' + to_hours(h)"},
	"s": {[]string{"VARCHAR"}, "'s' || h"},
	"t": {[]string{"BOOLEAN"}, "h % 2 = 0"},
}

// folder is files with columns of their own, and the same rows as one table u of the DuckDB that answers.
type folder struct {
	from    string // for FROM, of mpga
	columns []string
	types   map[string]string
}

// addFolder writes a folder whose files have random columns, types and ranges of values.
func (s *sqlTables) addFolder(t *testing.T, rng *rand.Rand) *folder {
	t.Helper()
	isUnion := rng.IntN(3) > 0
	names := []string{"n", "x", "e", "m", "s", "t"}
	var files, parts []string
	var has [][]string
	for i := range 2 + rng.IntN(3) {
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		mine, values := names, []string(nil)
		if isUnion {
			mine = names[:1+rng.IntN(len(names))]
		}
		has = append(has, append([]string(nil), mine...))
		for _, name := range mine {
			kind, written := folderKinds[name], name
			if rng.IntN(4) == 0 {
				written = strings.ToUpper(name)
			}
			values = append(values, fmt.Sprintf(`CASE WHEN hash(r, '%s') %% 9 > 0 THEN CAST(%s AS %s) END AS "%s"`, name, kind.value,
				kind.types[rng.IntN(len(kind.types))], written))
		}
		if !isUnion && i > 0 && rng.IntN(3) == 0 {
			values = append(values, "r AS more")
		}
		file := filepath.Join(s.dir, fmt.Sprintf("folder%d.parquet", i))
		s.exec(t, fmt.Sprintf(`COPY (SELECT %s FROM (SELECT r, ((hash(r) %% 30) + %d)::INTEGER AS h FROM range(%d) t(r)) %s)
			TO '%s' (ROW_GROUP_SIZE 2048)`, strings.Join(values, ", "), rng.IntN(3)*30, rng.IntN(3)*2100+rng.IntN(50),
			[]string{"", "ORDER BY h"}[rng.IntN(2)], file))
		files = append(files, "'"+file+"'")
	}
	f := &folder{from: fmt.Sprintf("read_parquet([%s], union_by_name = %v)", strings.Join(files, ", "), isUnion), types: map[string]string{}}
	described, err := s.ours("DESCRIBE SELECT * FROM " + f.from)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range described {
		name := row[0].(string)
		f.columns = append(f.columns, name)
		f.types[name] = row[1].(string)
	}
	for i, file := range files {
		var columns []string
		for _, name := range f.columns {
			value := "NULL"
			for _, own := range has[i] {
				if strings.EqualFold(own, name) {
					value = own
				}
			}
			columns = append(columns, fmt.Sprintf(`CAST(%s AS %s) AS "%s"`, value, f.types[name], name))
		}
		parts = append(parts, fmt.Sprintf("SELECT %s FROM read_parquet(%s)", strings.Join(columns, ", "), file))
	}
	if err := s.tell("CREATE OR REPLACE TABLE u AS " + strings.Join(parts, " UNION ALL ")); err != nil {
		t.Fatal(err)
	}
	return f
}

// term returns a random condition on one column.
func (f *folder) term(rng *rand.Rand) string {
	name := f.columns[rng.IntN(len(f.columns))]
	constant := func() string {
		h := rng.IntN(95)
		switch strings.ToLower(name) {
		case "m":
			return fmt.Sprintf("TIMESTAMP '2020-01-%02d %02d:00:00'", 1+h/24, h%24)
		case "s":
			return fmt.Sprintf("'s%d'", h)
		case "t":
			return []string{"TRUE", "FALSE"}[h%2]
		case "x":
			return []string{fmt.Sprint(h / 4), fmt.Sprintf("%d.%d", h/4, h%4*25), fmt.Sprintf("%d.5::DOUBLE", h/4)}[rng.IntN(3)]
		}
		return []string{fmt.Sprint(h), fmt.Sprintf("%d.0", h), fmt.Sprintf("%d.5", h), "300"}[rng.IntN(4)]
	}
	switch rng.IntN(6) {
	case 0:
		return fmt.Sprintf(`"%s" IS %s`, name, []string{"NULL", "NOT NULL"}[rng.IntN(2)])
	case 1:
		return fmt.Sprintf(`"%s" IN (%s, %s)`, name, constant(), constant())
	}
	return fmt.Sprintf(`"%s" %s %s`, name, []string{"=", "<>", "<", "<=", ">", ">="}[rng.IntN(6)], constant())
}

// query returns a random statement, whose table is U.
func (f *folder) query(rng *rand.Rand) string {
	where := f.term(rng)
	if rng.IntN(3) == 0 {
		where = fmt.Sprintf("(%s %s %s)", where, []string{"AND", "OR"}[rng.IntN(2)], f.term(rng))
	}
	name := f.columns[rng.IntN(len(f.columns))]
	switch rng.IntN(6) {
	case 0:
		return "SELECT * FROM U WHERE " + where
	case 1:
		return fmt.Sprintf(`SELECT "%s", count(*) FROM U WHERE %s GROUP BY 1`, name, where)
	case 2:
		return fmt.Sprintf(`SELECT min("%s"), max("%s"), count("%s") FROM U`, name, name, name)
	case 3:
		return fmt.Sprintf(`SELECT "%s" FROM U WHERE %s ORDER BY 1 %s LIMIT 7`, name, where, []string{"", "DESC"}[rng.IntN(2)])
	case 4:
		return fmt.Sprintf(`SELECT count(*) FROM U a JOIN (SELECT DISTINCT "%s" AS k FROM U WHERE %s) b ON a."%s" = b.k`, name, where, name)
	}
	return fmt.Sprintf(`SELECT count(*), min("%s"), max("%s") FROM U WHERE %s`, name, name, where)
}

// Folders of files whose columns differ are read as the same rows put together by hand, and as DuckDB puts them
// together by name. Would catch a row group that is left out by a constant in the units of another file, values and
// statistics that are not converted, and a column of a file under the name of another.
func TestSQLFoldersRandom(t *testing.T) {
	s := openSQL(t)
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 11))
		f := s.addFolder(t, rng)
		for range 12 {
			text := f.query(rng)
			want, err := s.theirs(strings.ReplaceAll(text, "U ", "u ") + " ")
			if err != nil {
				t.Fatalf("%v, of\n%s", err, text)
			}
			if err := s.compare(strings.ReplaceAll(text+" ", "U ", f.from+" "), want); err != nil {
				t.Errorf("seed %d: %s\n%s\n%v", seed, text, f.from, err)
			}
		}
		if strings.Contains(f.from, "true") {
			s.check(t, "SELECT count(*), count("+strings.Join(f.columns, "), count(")+") FROM "+f.from)
		}
	}
}

// Would catch a column of names of files, or of numbers of rows, that * has, that a file's own column does not hide, or
// that is wrong where pages or rows are left out.
func TestSQLHiddenColumns(t *testing.T) {
	s := openSQL(t)
	s.add(t, "p", "SELECT r AS id, r % 3 AS k FROM range(10) t(r)")
	s.add(t, "q", "SELECT r AS id, 'own' || r AS filename FROM range(4) t(r)")
	for _, text := range []string{
		"SELECT id, filename FROM 'DIR/p.parquet'", "SELECT *, FILENAME FROM 'DIR/p.parquet'", "SELECT t.*, t.filename FROM 'DIR/p.parquet' t",
		"SELECT * FROM 'DIR/p.parquet' WHERE filename LIKE '%p.parquet'", "SELECT filename, count(*) FROM 'DIR/p.parquet' GROUP BY filename",
		"SELECT * FROM 'DIR/q.parquet' WHERE filename = 'own2'", "SELECT filename FROM 'DIR/q.parquet'",
		"SELECT a.id, filename FROM 'DIR/p.parquet' a JOIN (SELECT 1 AS one) b ON a.id = b.one",
		"SELECT * FROM 'DIR/p.parquet' a JOIN 'DIR/q.parquet' b USING (id)", "SELECT count(*) FROM 'DIR/p.parquet' t(a, b) WHERE filename IS NULL",
		"SELECT id, file_row_number FROM 'DIR/p.parquet' WHERE id > 3 AND k = 1", "SELECT * FROM 'DIR/p.parquet' WHERE file_row_number = 3",
		"SELECT sum(file_row_number), count(*) FROM read_parquet(['DIR/p.parquet', 'DIR/p.parquet']) WHERE file_row_number < 5 OR k = 2",
		"SELECT id, file_row_number FROM 'DIR/p.parquet' ORDER BY k, id DESC LIMIT 3",
		"SELECT filename, file_row_number, id FROM read_parquet('DIR/p.parquet', file_row_number = true, filename = true) WHERE id = 7",
		"SELECT count(DISTINCT filename) FROM read_parquet(['DIR/p.parquet', 'DIR/q.parquet'], union_by_name = true)",
	} {
		s.check(t, strings.ReplaceAll(text, "DIR", s.dir))
	}
}
