package rollup

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseDays reads how long files are kept: 400d, as days. "" is 0, for ever.
func ParseDays(text string) (days int, err error) {
	if text == "" {
		return 0, nil
	}
	number, ok := strings.CutSuffix(text, "d")
	days, err = strconv.Atoi(number)
	if !ok || err != nil || days < 1 || days > daysMost {
		return 0, fmt.Errorf("%q: want days, 1d to %dd, such as 400d", text, daysMost)
	}
	return days, nil
}

// daysMost bounds how long files are kept, to a thousand years.
const daysMost = 366_000

// dateInPath is a date of a path: 2026-11-30, 20261130, 2026/11/30, and year=2026/month=11/day=30.
var dateInPath = regexp.MustCompile(`(?:^|\D)([1-9]\d{3})` +
	`(?:(\d\d)(\d\d)|[-_./](?:[a-z]+=)?(\d\d?)[-_./](?:[a-z]+=)?(\d\d?))(?:\D|$)`)

// dateOf returns the last date in a path; ok is false where there is none.
func dateOf(path string) (date time.Time, ok bool) {
	for at := 0; at < len(path); {
		m := dateInPath.FindStringSubmatchIndex(path[at:])
		if m == nil {
			break
		}
		month := 4 // its group's place in m
		if m[month] < 0 {
			month += 4
		}
		text := fmt.Sprintf("%s-%s-%s", path[at+m[2]:at+m[3]], path[at+m[month]:at+m[month+1]],
			path[at+m[month+2]:at+m[month+3]])
		if d, err := time.Parse("2006-1-2", text); err == nil {
			date, ok = d, true
		}
		at += m[3] // dates may share a separator
	}
	return date, ok
}

// keptFiles returns the files of a table whose dates are less than some days before the newest of them, and how many
// others there are. Where no file has a date, all are kept.
func keptFiles(files []file, days int) (kept []file, left int, err error) {
	var newest time.Time
	dates := make([]time.Time, len(files))
	undated := ""
	for i, f := range files {
		date, ok := dateOf(f.Path)
		if !ok {
			undated = f.Path
		}
		if dates[i] = date; date.After(newest) {
			newest = date
		}
	}
	switch {
	case newest.IsZero():
		return files, 0, nil
	case undated != "":
		return nil, 0, fmt.Errorf("%w: --keep goes by the date in the names of files, such as 2026-11-30, and %s has none",
			ErrStatement, undated)
	}
	limit := newest.AddDate(0, 0, -days)
	all := len(files)
	i := -1
	kept = slices.DeleteFunc(files, func(file) bool {
		i++
		return !dates[i].After(limit)
	})
	return kept, all - len(kept), nil
}
