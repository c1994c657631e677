package tests

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// UUIDs of Parquet are read, compared, grouped and left out by statistics, Bloom filters and dictionaries as their
// texts: with NULLs, in structs, repeated and not.
func TestSQLUUIDs(t *testing.T) {
	s := openSQL(t)
	file := filepath.Join(s.dir, "uuids.parquet")
	s.exec(t, fmt.Sprintf(`COPY (SELECT i, CASE WHEN i %% 11 > 0 THEN md5((i // 7)::VARCHAR)::UUID END AS u,
		{'v': md5(i::VARCHAR)::UUID, 'n': i} AS s FROM range(20000) r(i) ORDER BY u)
		TO '%s' (ROW_GROUP_SIZE 4000, STRING_DICTIONARY_PAGE_SIZE_LIMIT 100000)`, file))
	s.addFile(t, "uuids", file)
	rows, err := s.theirs("SELECT md5('2143')::UUID::VARCHAR")
	if err != nil {
		t.Fatal(err)
	}
	some := rows[0][0].(string)
	for _, where := range []string{"u = '%s'", "u > '%s'", "u <= '%s'", "u IN ('%s', '00000000-0000-0000-0000-000000000000')", "s.v = '%s'",
		"s.v BETWEEN '10000000-0000-0000-0000-000000000000' AND '%s'", "u IS NULL AND s.v < '%s'", "u <> '%s'"} {
		where = fmt.Sprintf(where, some)
		s.check(t, "SELECT count(*), count(u), count(DISTINCT u), min(u)::VARCHAR, max(s.v)::VARCHAR FROM uuids WHERE "+where)
		s.check(t, "SELECT u::VARCHAR AS u, count(*), min(s.v)::VARCHAR FROM uuids WHERE "+where+" GROUP BY u ORDER BY 1 NULLS LAST LIMIT 20")
		s.check(t, "SELECT u::VARCHAR AS u, s.v::VARCHAR AS v, i FROM uuids WHERE "+where+" ORDER BY s.v DESC LIMIT 9")
	}
}

// A column of a type that no query reads costs only itself, and says what it is; JSON is text. Would catch variants
// as bytes, intervals that are not read, and a file that is refused for them.
func TestSQLStoredTypes(t *testing.T) {
	s := openSQL(t)
	file := filepath.Join(s.dir, "types.parquet")
	s.exec(t, fmt.Sprintf(`COPY (SELECT i, INTERVAL (i) DAY AS span, [INTERVAL (i) DAY] AS spans, i::VARIANT AS v,
		{'x': i}::VARIANT AS w, MAP {'a': i} AS m, '{"a":' || i || '}' AS text,
		('{"a":' || i || '}')::JSON AS j, {'j': ('[' || i || ']')::JSON} AS s,
		[('[' || i || ']')::JSON, NULL] AS l FROM range(100) r(i)) TO '%s'`, file))
	s.addFile(t, "stored", file)
	s.check(t, "SELECT i, j::VARCHAR AS j, s.j::VARCHAR AS sj FROM stored WHERE j > text OR i < 9")
	s.check(t, "SELECT upper(j::VARCHAR) AS j, count(*) FROM stored GROUP BY 1 HAVING j LIKE '%7%'")
	s.check(t, "SELECT e, count(*) FROM (SELECT unnest(l)::VARCHAR AS e FROM stored) GROUP BY e")
	s.check(t, "SELECT m['a'] AS a, m::VARCHAR AS m FROM stored WHERE i < 9")
	s.check(t, "SELECT i, span, span + INTERVAL 1 HOUR AS later, spans[1] AS f FROM stored WHERE span < INTERVAL 9 DAYS")
	s.check(t, "SELECT e, count(*) FROM (SELECT unnest(spans) AS e FROM stored) GROUP BY e")
	s.check(t, "SELECT min(span), max(span), avg(span), count(DISTINCT span) FROM stored")
	for column, want := range map[string]string{
		"v": `column "v" is a nested column, STRUCT(metadata BLOB, value BLOB`,
		"w": `column "w" is a nested column, STRUCT(metadata BLOB, value BLOB`,
		"*": `column "v" is a nested column`,
	} {
		if _, err := s.ours("SELECT " + column + " FROM stored"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", column, err, want)
		}
	}
}
