package main

import (
	"testing"
	"time"
)

// A backfill without its last date ends today.
func TestBackfillUntilToday(t *testing.T) {
	f := backfillFlags{from: "2026-01-30", every: "day"}
	dates, err := f.dates(false)
	if err != nil || len(dates) == 0 || dates[len(dates)-1].Format(time.DateOnly) != f.to {
		t.Errorf("%v up to %q, %v", dates, f.to, err)
	}
}
