package lake

import (
	"testing"
	"time"
)

// Would catch a time that SQL takes for a TIMESTAMP, and --as-of does not, and another moment.
func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-30": "2026-11-30T00:00:00Z", "2026-11-30 12:05": "2026-11-30T12:05:00Z",
		"2026-11-30T12:05Z": "2026-11-30T12:05:00Z", " 2026-11-30 12:05:06.5+01 ": "2026-11-30T11:05:06.5Z",
		"2026-11-30T12:05:06-01:30": "2026-11-30T13:35:06Z", "2026-11-30 12:05 UTC": "2026-11-30T12:05:00Z",
		"2026-11-30 12:05:06 +02:00": "2026-11-30T10:05:06Z", "soon": "", "2026-11-31": "", "2026-11-30 25:00": "", "": "",
	} {
		at, err := parseTime(text)
		if got := at.UTC().Format(time.RFC3339Nano); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
}
