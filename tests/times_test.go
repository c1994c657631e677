package tests

import "testing"

// Infinite dates and timestamps are read, shown, compared, grouped, sorted, cast and moved as DuckDB does; nanoseconds
// keep nine digits with groups and without.
func TestSQLEndsOfTime(t *testing.T) {
	s := openSQL(t)
	for name, query := range map[string]string{
		"ends": `SELECT i, d, ts, ts::TIMESTAMPTZ AS tz FROM (VALUES (1, DATE 'infinity', TIMESTAMP 'infinity'),
			(2, DATE '-infinity', TIMESTAMP '-infinity'), (3, DATE '2020-01-01', TIMESTAMP '2020-01-01 01:02:03'),
			(4, DATE '123456-01-01', TIMESTAMP '123456-01-01 00:00:00'), (5, DATE '0044-03-15 (BC)', NULL), (6, NULL, TIMESTAMP '0044-03-15 (BC)'))
			t(i, d, ts)`,
		"nanos": `SELECT i, make_timestamp_ns(i * 123456789) AS ts FROM range(-50, 50) r(i)`,
	} {
		s.add(t, name, query)
	}
	for _, query := range []string{
		"SELECT d::VARCHAR, ts::VARCHAR FROM ends ORDER BY i",
		"SELECT i FROM ends ORDER BY d, i", "SELECT i FROM ends ORDER BY ts DESC NULLS LAST, i",
		"SELECT d::VARCHAR AS d, count(*) FROM ends GROUP BY ends.d ORDER BY 1 NULLS LAST",
		"SELECT min(d)::VARCHAR, max(d)::VARCHAR, min(ts)::VARCHAR, max(ts)::VARCHAR FROM ends",
		"SELECT i FROM ends WHERE d = 'infinity' OR ts = '-infinity' ORDER BY i", "SELECT i FROM ends WHERE d > DATE '9999-12-31' ORDER BY i",
		"SELECT i FROM ends WHERE ts < TIMESTAMP '0001-01-01' ORDER BY i", "SELECT i FROM ends WHERE d = TIMESTAMP 'infinity' ORDER BY i",
		"SELECT d::TIMESTAMP::VARCHAR, ts::DATE::VARCHAR FROM ends ORDER BY i",
		"SELECT isfinite(d), isinf(d), isfinite(ts), isinf(ts) FROM ends ORDER BY i",
		"SELECT date_trunc('month', ts)::VARCHAR, date_trunc('day', d)::VARCHAR FROM ends WHERE i < 5 ORDER BY i",
		"SELECT (ts + INTERVAL 1 DAY)::VARCHAR FROM ends WHERE i < 4 ORDER BY i", "SELECT strftime(ts, '%Y-%m') FROM ends WHERE i < 4 ORDER BY i",
		"SELECT '0044-03-15 (BC)'::DATE::VARCHAR, '0044-03-15 (BC) 01:02:03'::TIMESTAMP::VARCHAR, 'Infinity'::DATE::VARCHAR FROM ends WHERE i = 1",
		"SELECT ts::VARCHAR FROM nanos ORDER BY i", "SELECT ts::VARCHAR AS t, count(*) FROM nanos GROUP BY ts ORDER BY nanos.ts",
		"SELECT min(ts)::VARCHAR, max(ts)::VARCHAR FROM nanos", "SELECT strftime(ts, '%H:%M:%S.%n') FROM nanos ORDER BY i",
		"SELECT i FROM nanos WHERE ts = '1970-01-01 00:00:00.246913578'", "SELECT count(*) FROM nanos WHERE ts > TIMESTAMP_NS '1970-01-01 00:00:00.123456788'",
		"SELECT CAST('2020-01-01 00:00:00.123456789' AS TIMESTAMP_NS)::VARCHAR FROM nanos WHERE i = 0",
	} {
		s.check(t, query)
	}
}
