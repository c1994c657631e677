package job

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Would catch a date that is left out at an end, a month without its last day, and dates without
// end.
func TestBackfillDates(t *testing.T) {
	at := func(text string) time.Time {
		t.Helper()
		for _, layout := range []string{time.DateOnly, time.RFC3339} {
			if date, err := time.Parse(layout, text); err == nil {
				return date
			}
		}
		t.Fatal(text)
		return time.Time{}
	}
	for _, c := range []struct {
		from, to string
		every    Every
		want     string
	}{
		{"2024-02-28", "2024-03-01", EveryDay, "2024-02-28 2024-02-29 2024-03-01"},
		{"2024-02-28", "2024-02-28", EveryDay, "2024-02-28"},
		{"2024-02-28", "2024-03-13", EveryWeek, "2024-02-28 2024-03-06 2024-03-13"},
		{"2023-12-31", "2024-04-30", EveryMonth, "2023-12-31 2024-01-31 2024-02-29 2024-03-31 2024-04-30"},
		{"2023-11-15", "2024-01-14", EveryMonth, "2023-11-15 2023-12-15"},
		{"2024-02-28T22:00:00Z", "2024-02-29T00:30:00Z", EveryHour, "2024-02-28T22:00:00Z 2024-02-28T23:00:00Z 2024-02-29"},
		{"2024-02-28T22:00:00+02:00", "2024-02-29T22:00:00+02:00", EveryDay, "2024-02-28T22:00:00+02:00 2024-02-29T22:00:00+02:00"},
		{"2024-02-28", "2024-02-27", EveryDay, "error: the last date (2024-02-27) is before the first (2024-02-28)"},
		{"0001-01-01", "9999-12-31", EveryHour, "error: 0001-01-01 to 9999-12-31: more than 20000 dates, one every hour"},
		{"2024-02-28", "2024-02-28", "days", `error: unknown step "days"; did you mean day?`},
	} {
		dates, err := Dates(at(c.from), at(c.to), c.every)
		texts := make([]string, len(dates))
		for i, d := range dates {
			texts[i] = dateText(d)
		}
		got := strings.Join(texts, " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s to %s, every %s:\ngot  %s\nwant %s", c.from, c.to, c.every, got, c.want)
		}
	}
}

const daily = `
steps:
  - name: cities
    from: "in/a.csv"
    by: city
    agg: count(*) as n
    output: out/cities.csv
  - name: day
    from: "in/a.csv"
    by: city
    agg: "sum(n) as n, '${date}' as day"
    output: "out/${date}.csv"
`

func loadDaily(t *testing.T, text string, days int) (string, Backfill) {
	t.Helper()
	dir, _ := newVisits(t)
	file := filepath.Join(dir, "daily.yaml")
	writeFile(t, file, text)
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dates, err := Dates(first, first.AddDate(0, 0, days-1), EveryDay)
	if err != nil {
		t.Fatal(err)
	}
	b, err := LoadBackfill(file, ParseOptions{}, dates)
	if err != nil {
		t.Fatal(err)
	}
	return dir, b
}

// A step that is the same for all dates runs once; a date is done when its own steps are. Meanwhile
// nobody else runs the job.
func TestBackfill(t *testing.T) {
	_, b := loadDaily(t, daily, 3)
	var steps []string
	opt := Options{Report: func(s StepReport) {
		steps = append(steps, fmt.Sprintf("%s %s", s.Step, s.Outcome))
		if _, err := b[0].Job.Run(context.Background(), Options{}); !errors.Is(err, ErrLocked) {
			t.Errorf("another run: %v", err)
		}
	}}
	report, err := b.Run(context.Background(), opt, false)
	if err != nil || report.Count(Done) != 3 {
		t.Fatalf("%v\n%s", err, report.String())
	}
	if got, want := strings.Join(steps, ", "), "cities done, day done, cities skipped, day done, cities skipped, day done"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if report, err = b.Run(context.Background(), Options{}, false); err != nil || report.Count(Skipped) != 3 {
		t.Errorf("again: %v\n%s", err, report.String())
	}
	if report, err = b.Run(context.Background(), Options{Force: true}, false); err != nil || report.Count(Done) != 3 {
		t.Errorf("forced: %v\n%s", err, report.String())
	}
}

// Would catch a backfill that goes on when it was interrupted, whatever it was told of dates that
// fail, and one that counts dates that it has not begun.
func TestBackfillInterrupted(t *testing.T) {
	for _, keepGoing := range []bool{false, true} {
		_, b := loadDaily(t, daily, 5)
		ctx, cancel := context.WithCancel(context.Background())
		ended := 0
		report, err := b.Run(ctx, Options{Report: func(StepReport) {
			if ended++; ended == 3 { // in the second date
				cancel()
			}
		}}, keepGoing)
		if !errors.Is(err, context.Canceled) || len(report.Dates) != 2 || report.Left != 3 {
			t.Errorf("%v, %d dates were begun, %d not", err, len(report.Dates), report.Left)
		}
		cancel()
	}
}

// A state folder of each date by itself has a lock of its own.
func TestBackfillStates(t *testing.T) {
	dir, b := loadDaily(t, "state: \"state/${date}\"\n"+strings.Replace(daily, "out/cities.csv", `"out/cities-${date}.csv"`, 1), 2)
	report, err := b.Run(context.Background(), Options{}, true)
	if err != nil || report.Count(Done) != 2 {
		t.Fatalf("%v\n%s", err, report.String())
	}
	for _, date := range []string{"2026-01-01", "2026-01-02"} {
		if files, err := filepath.Glob(filepath.Join(dir, "state", date, "*")); err != nil || len(files) != 3 {
			t.Errorf("%s: %q, %v", date, files, err)
		}
	}
}

// Would catch dates each of which would replace the rejects that the date before has written.
func TestBackfillRejects(t *testing.T) {
	dir, _ := newVisits(t)
	file := filepath.Join(dir, "daily.yaml")
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for rejects, want := range map[string]string{
		"left/${date}.csv": "",
		"left.csv":         "daily.yaml:13:22: steps[1].input.rejects: " + filepath.Join(dir, "left.csv") + " is written for 2026-01-01 and for 2026-01-02: ",
	} {
		writeFile(t, file, daily+"    input: {rejects: \""+rejects+"\"}\n")
		_, err := LoadBackfill(file, ParseOptions{}, []time.Time{day, day.AddDate(0, 0, 1)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", rejects, err, want)
		}
	}
}
