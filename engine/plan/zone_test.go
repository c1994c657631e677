//go:build cgo

package plan_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
)

// Would catch a function or a cast of instants that does not follow the statement's zone, where clocks leap and go back,
// too. The answers are DuckDB 2.0.0's.
func TestTimeZones(t *testing.T) {
	eng := openEngine(t)
	for _, c := range []struct{ zone, of, before, behind, back string }{
		{"America/New_York", "z", "2021-03-14 01:30:00-05", "2021-03-14 03:00:00-04", "2021-11-07 00:30:00-04"},
		{
			"America/New_York", "date_trunc('day', z)",
			"2021-03-14 00:00:00-05",
			"2021-03-14 00:00:00-05",
			"2021-11-07 00:00:00-04",
		},
		{
			"America/New_York", "date_trunc('hour', z)",
			"2021-03-14 01:00:00-05",
			"2021-03-14 03:00:00-04",
			"2021-11-07 00:00:00-04",
		},
		{"America/New_York", "date_part('hour', z)", "1", "3", "0"},
		{"America/New_York", "date_part('timezone', z)", "-18000", "-14400", "-14400"},
		{"America/New_York", "timezone_hour(z)", "-5", "-4", "-4"},
		{"America/New_York", "z::DATE", "2021-03-14", "2021-03-14", "2021-11-07"},
		{"America/New_York", "z::TIMESTAMP", "2021-03-14 01:30:00", "2021-03-14 03:00:00", "2021-11-07 00:30:00"},
		{"America/New_York", "z::TIMETZ", "01:30:00-05", "03:00:00-04", "00:30:00-04"},
		{
			"America/New_York", "strftime(z, '%d.%m. %H:%M %z %Z')",
			"14.03. 01:30 -05 America/New_York",
			"14.03. 03:00 -04 America/New_York",
			"07.11. 00:30 -04 America/New_York",
		},
		{
			"America/New_York", "z + INTERVAL 1 DAY",
			"2021-03-15 01:30:00-04",
			"2021-03-15 03:00:00-04",
			"2021-11-08 00:30:00-05",
		},
		{
			"America/New_York", "z + INTERVAL 24 HOURS",
			"2021-03-15 02:30:00-04",
			"2021-03-15 03:00:00-04",
			"2021-11-07 23:30:00-05",
		},
		{
			"America/New_York", "z - INTERVAL '1 day 3 hours'",
			"2021-03-12 22:30:00-05",
			"2021-03-12 23:00:00-05",
			"2021-11-05 21:30:00-04",
		},
		{
			"America/New_York", "z + INTERVAL '1 month 24 days -3 hours'",
			"2021-05-07 22:30:00-04",
			"2021-05-07 23:00:00-04",
			"2021-12-30 21:30:00-05",
		},
		{
			"America/New_York", "z - TIMESTAMPTZ '2021-03-01 12:00:00+00'",
			"12 days 18:30:00",
			"12 days 19:00:00",
			"250 days 17:30:00",
		},
		{
			"America/New_York", "age(z, TIMESTAMPTZ '2021-03-01 12:00:00+00')",
			"12 days 18:30:00",
			"12 days 20:00:00",
			"8 months 5 days 17:30:00",
		},
		{"America/New_York", "date_diff('day', TIMESTAMPTZ '2021-03-01 12:00:00+00', z)", "13", "13", "251"},
		{"America/New_York", "date_diff('hour', TIMESTAMPTZ '2021-03-01 12:00:00+00', z)", "306", "307", "6016"},
		{"America/New_York", "date_sub('month', TIMESTAMPTZ '2021-03-01 12:00:00+00', z)", "0", "0", "8"},
		{"America/New_York", "epoch(z)", "1615703400.0", "1615705200.0", "1636259400.0"},
		{"America/New_York", "dayname(z)", "Sunday", "Sunday", "Sunday"},
		{
			"America/New_York", "[z]::VARCHAR",
			"['2021-03-14 01:30:00-05']",
			"['2021-03-14 03:00:00-04']",
			"['2021-11-07 00:30:00-04']",
		},
		{
			"America/New_York", "{'a': z}",
			"{'a': '2021-03-14 01:30:00-05'}",
			"{'a': '2021-03-14 03:00:00-04'}",
			"{'a': '2021-11-07 00:30:00-04'}",
		},
		{
			"America/New_York", "to_json(z)",
			"\"2021-03-14 01:30:00-05\"",
			"\"2021-03-14 03:00:00-04\"",
			"\"2021-11-07 00:30:00-04\"",
		},
		{
			"America/New_York", "'2021-03-14 02:30:00'::TIMESTAMPTZ",
			"2021-03-14 03:30:00-04",
			"2021-03-14 03:30:00-04",
			"2021-03-14 03:30:00-04",
		},
		{
			"America/New_York", "'2021-11-07 01:30:00'::TIMESTAMPTZ",
			"2021-11-07 01:30:00-05",
			"2021-11-07 01:30:00-05",
			"2021-11-07 01:30:00-05",
		},
		{
			"America/New_York", "'2021-07-01 12:00:00 Asia/Tokyo'::TIMESTAMPTZ",
			"2021-06-30 23:00:00-04",
			"2021-06-30 23:00:00-04",
			"2021-06-30 23:00:00-04",
		},
		{
			"America/New_York", "make_timestamptz(2021, 7, 1, 12, 0, 0)",
			"2021-07-01 12:00:00-04",
			"2021-07-01 12:00:00-04",
			"2021-07-01 12:00:00-04",
		},
		{"America/New_York", "z > '2021-03-14 03:00:00'", "false", "false", "true"},
		{"America/New_York", "z = TIMESTAMP '2021-03-14 03:00:00'", "false", "true", "false"},
		{
			"America/New_York", "generate_series(z, z + INTERVAL 2 DAYS, INTERVAL 1 DAY)",
			"['2021-03-14 01:30:00-05', '2021-03-15 01:30:00-04', '2021-03-16 01:30:00-04']",
			"['2021-03-14 03:00:00-04', '2021-03-15 03:00:00-04', '2021-03-16 03:00:00-04']",
			"['2021-11-07 00:30:00-04', '2021-11-08 00:30:00-05', '2021-11-09 00:30:00-05']",
		},
		{"Asia/Kolkata", "z", "2021-03-14 12:00:00+05:30", "2021-03-14 12:30:00+05:30", "2021-11-07 10:00:00+05:30"},
		{
			"Asia/Kolkata", "date_trunc('hour', z)",
			"2021-03-14 12:00:00+05:30",
			"2021-03-14 12:00:00+05:30",
			"2021-11-07 10:00:00+05:30",
		},
		{"Asia/Kolkata", "timezone_minute(z)", "30", "30", "30"},
		{
			"Asia/Kolkata", "z::VARCHAR",
			"2021-03-14 12:00:00+05:30",
			"2021-03-14 12:30:00+05:30",
			"2021-11-07 10:00:00+05:30",
		},
		{
			"Asia/Kolkata", "time_bucket(INTERVAL 1 DAY, z)",
			"2021-03-14 05:30:00+05:30",
			"2021-03-14 05:30:00+05:30",
			"2021-11-07 05:30:00+05:30",
		},
		{"Australia/Lord_Howe", "z", "2021-03-14 17:30:00+11", "2021-03-14 18:00:00+11", "2021-11-07 15:30:00+11"},
		{"Australia/Lord_Howe", "z::DATE", "2021-03-14", "2021-03-14", "2021-11-07"},
		{
			"Australia/Lord_Howe", "date_trunc('day', z)",
			"2021-03-14 00:00:00+11",
			"2021-03-14 00:00:00+11",
			"2021-11-07 00:00:00+11",
		},
	} {
		s, err := sql.Parse("SELECT CAST(" + c.of + " AS VARCHAR) FROM (VALUES (1, TIMESTAMPTZ '2021-03-14 06:30:00+00'), " +
			"(2, '2021-03-14 07:00:00+00'), (3, '2021-11-07 04:30:00+00')) AS v(i, z) ORDER BY i")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := askOf(eng, s, plan.Options{TimeZone: c.zone})
		if err != nil {
			t.Fatalf("%s in %s: %v", c.of, c.zone, err)
		}
		for i, want := range []string{c.before, c.behind, c.back} {
			if rows[i][0] != want {
				t.Errorf("%s in %s, row %d: %s, want %s", c.of, c.zone, i+1, rows[i][0], want)
			}
		}
	}
}

// Would catch rows that a filter, keys of groups and aggregates see in another zone than the result, and a result whose
// columns are of several zones.
func TestTimeZonesOfSteps(t *testing.T) {
	eng := openEngine(t)
	const text = "SELECT date_trunc('day', z) AS d, max(z) AS m, avg(z)::VARCHAR AS a, string_agg(z, ' ') AS s, list(z) AS l " +
		"FROM (SELECT TIMESTAMPTZ '2021-03-13 23:00:00+00' + to_hours(i) AS z FROM range(48) AS r(i)) AS v " +
		"WHERE z::DATE = '2021-03-14' AND hour(z) IN (0, 3) GROUP BY d"
	s, err := sql.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := askOf(eng, s, plan.Options{TimeZone: "America/New_York"})
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	const list = "2021-03-14 00:00:00-05 2021-03-14 03:00:00-04"
	if rows[0][2] != "2021-03-14 01:00:00-05" || rows[0][3] != list {
		t.Error(rows)
	}
	q, err := plan.Prepare(context.Background(), eng, s, plan.Options{TimeZone: "America/New_York"})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for _, want := range []string{"d: type=timestamp[us, tz=America/New_York]", "m: type=timestamp[us, tz=America/New_York]",
		"l: type=list<item: timestamp[us, tz=America/New_York]"} {
		if text := q.Schema().String(); !strings.Contains(text, want) {
			t.Errorf("want %s in %s", want, text)
		}
	}
	if _, err := plan.Prepare(context.Background(), eng, s, plan.Options{TimeZone: "Nowhere"}); err == nil {
		t.Error("a zone that does not exist is taken")
	}
}
