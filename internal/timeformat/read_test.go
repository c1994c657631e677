package timeformat

import (
	"testing"
	"time"
)

// What DuckDB 2.0.0 reads by each format. Would catch a specifier that reads another field, and
// ranges and texts that are taken, or refused, unlike there.
func TestRead(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"%d.%m.%Y", "31.12.2025", "2025-12-31 00:00:00"},
		{"%d.%m.%Y", "  1.2.2025 ", "2025-02-01 00:00:00"},
		{"%d.%m.%Y", "31.12.2025x", ""},
		{"%d.%m.%Y", "31.12.", ""},
		{"%d.%m.%Y", "31/12/2025", ""},
		{"%Y-%m-%d", "2023-02-29", ""},
		{"%Y-%m-%d", "2024-13-01", ""},
		{"%m/%d/%y %I:%M %p", "12/31/68 12:05 am", "2068-12-31 00:05:00"},
		{"%m/%d/%y %I:%M %p", "12/31/69 12:05 PM", "1969-12-31 12:05:00"},
		{"%H %p", "13 PM", ""},
		{"%H %p", "0 PM", "1900-01-01 12:00:00"},
		{"%a, %d %b %Y %T", "Tue, 05 mar 2024 14:05:06", "2024-03-05 14:05:06"},
		{"%A %B %d", "tuesday MARCH 5", "1900-03-05 00:00:00"},
		{"%a", "Tuesday", ""},
		{"%Y%m%d", "20240305", "2024-03-05 00:00:00"},
		{"%Y %j", "2024 366", "2024-12-31 00:00:00"},
		{"%j %Y", "366 2023", "2024-01-01 00:00:00"},
		{"%Y %m %j", "2024 02 60", "2024-02-01 00:00:00"},
		{"%Y %U %w", "2024 10 3", "2024-03-13 00:00:00"},
		{"%Y %W %w", "2024 10 3", "2024-03-06 00:00:00"},
		{"%G %V %u", "2024 10 3", "2024-03-06 00:00:00"},
		{"%S.%f", "1.5", "1900-01-01 00:00:01.5"},
		{"%S.%g", "1.05", "1900-01-01 00:00:01.05"},
		{"%S.%n", "1.123456789", "1900-01-01 00:00:01.123456789"},
		{"%Y %z", "2024 +0230", "2023-12-31 21:30:00"},
		{"%Y %z", "2024 -02:30:10", "2024-01-01 02:30:10"},
		{"%Y %z", "2024 +02:3", ""},
		{"%Y %z", "2024 +023", ""},
		{"%Y %z", "2024 Z", ""},
		{"%Y %Z", "2024 utc", "2024-01-01 00:00:00"},
		{"%Y %Z", "2024 ", ""},
		{"%d%%%m", "5%6", "1900-06-05 00:00:00"},
		{"%d  %m", "5\t\n 6", "1900-06-05 00:00:00"},
		{"%y ", "24", ""},
		{"%-d/%-m", "05/6", "1900-06-05 00:00:00"},
		{"%Y", "", ""},
		{"%H%M", "12", ""},
	} {
		f, err := Reader(c.format)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if m, err := f.Read(c.text); err == nil {
			got = time.Unix(m.Days*24*60*60, m.Nanos).UTC().Format("2006-01-02 15:04:05.999999999")
		}
		if got != c.want {
			t.Errorf("%q by %q: got %q, want %q", c.text, c.format, got, c.want)
		}
	}
}

// Would catch a wrong format that is found in the middle of a file, or never.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		format string
		ok     bool
	}{
		{"", false}, {"%", false}, {"%-", false}, {"%d%", false}, {"%q", false}, {"%-Y", false}, {"%t", false}, {"%-%", false},
		{"%U %W", false}, {"%U %U %Y", false}, {"%j %j %Y", false}, {"%G %V %V", false}, {"%j %U", false}, {"%Y %V", false}, {"%G %j", false},
		{"%d %U %W", true}, {"x", true}, {"%c", true}, {"%-j", true}, {"100%%", true},
	} {
		if _, err := Reader(c.format); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.format, err)
		}
	}
}

// Would catch a text that makes Read panic, or a time that is far off.
func FuzzRead(f *testing.F) {
	for _, seed := range [][2]string{{"%d.%m.%Y", "31.12.2025"}, {"%c %z", "2024-01-01 10:00:00 +02"}, {"%G-W%V-%u %p", "2024-W10-3 am"}, {"%b%Z", "mar utc"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, format, text string) {
		of, err := Reader(format)
		if err != nil {
			return
		}
		if m, err := of.Read(text); err == nil && (m.Days < -800_000 || m.Days > 3_000_000) {
			t.Errorf("%q by %q is day %d", text, format, m.Days)
		}
	})
}
