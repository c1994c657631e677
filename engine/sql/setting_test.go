package sql

import "testing"

// Would catch a SET that is taken and sets something else, or nothing.
func TestParseSet(t *testing.T) {
	for text, want := range map[string]string{
		"SET TimeZone = 'Europe/Berlin'": "Europe/Berlin", "set session timezone to 'UTC';": "UTC", "RESET timezone": "",
		"SET TIME ZONE 'Asia/Tokyo' -- east": "Asia/Tokyo", "SET TIME ZONE LOCAL": "", "SET TimeZone = DEFAULT": "",
	} {
		set, err := ParseSet(text)
		if err != nil || set.TimeZone != want {
			t.Errorf("%s: %v, %v, want %q", text, set, err, want)
		}
	}
	for _, text := range []string{"SET", "RESET", "SET threads = 4", "SET TimeZone", "SET TimeZone 'UTC'", "SET TimeZone = ''",
		"SET TimeZone = 'Nowhere'", "SET TimeZone = 'UTC' 'UTC'", "RESET TimeZone UTC", "SET TIME", "SET TimeZone = Local",
		"SET TimeZone = '"} {
		if set, err := ParseSet(text); err == nil {
			t.Errorf("%s: %v, want an error", text, set)
		}
	}
}
