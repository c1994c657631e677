package tests

import (
	"fmt"
	"path/filepath"
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
