package job

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Every is the step from one date of a backfill to the next.
type Every string

// The steps.
const (
	EveryHour  Every = "hour"
	EveryDay   Every = "day"
	EveryWeek  Every = "week"
	EveryMonth Every = "month"
)

// Everies returns the steps that there are.
func Everies() []string {
	return []string{string(EveryHour), string(EveryDay), string(EveryWeek), string(EveryMonth)}
}

// datesMax bounds the dates of a backfill: more are a typing error, or several backfills.
const datesMax = 20_000

// Dates returns the dates from a moment to another, which counts, a step apart. In a month without
// the day of the first date, the last day takes its place.
func Dates(from, to time.Time, every Every) ([]time.Time, error) {
	if !slices.Contains(Everies(), string(every)) {
		return nil, unknown("step", string(every), Everies())
	}
	if to.Before(from) {
		return nil, fmt.Errorf("the last date (%s) is before the first (%s)", dateText(to), dateText(from))
	}
	var dates []time.Time
	for n := 0; ; n++ {
		date := every.after(from, n)
		if date.After(to) {
			return dates, nil
		}
		if len(dates) == datesMax {
			return nil, fmt.Errorf("%s to %s: more than %d dates, one every %s", dateText(from), dateText(to), datesMax, every)
		}
		dates = append(dates, date)
	}
}

// after returns the date that is n steps after another.
func (e Every) after(from time.Time, n int) time.Time {
	switch e {
	case EveryHour:
		return from.Add(time.Duration(n) * time.Hour)
	case EveryWeek:
		return from.AddDate(0, 0, 7*n)
	case EveryMonth:
		first := from.AddDate(0, 0, 1-from.Day()).AddDate(0, n, 0)
		last := first.AddDate(0, 1, -1).Day()
		return first.AddDate(0, 0, min(from.Day(), last)-1)
	}
	return from.AddDate(0, 0, n)
}

// dateText writes a date: a day, with its time and its zone where that is not midnight in UTC.
func dateText(date time.Time) string {
	text := date.Format(time.RFC3339)
	return strings.TrimSuffix(text, "T00:00:00Z")
}
