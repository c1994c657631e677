package csv

import "testing"

func TestParseChar(t *testing.T) {
	for text, want := range map[string]byte{"": 0, ";": ';', `\t`: '\t', "tab": '\t', "\t": '\t'} {
		if got, err := ParseChar(text); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, bad := range []string{"ab", "é"} {
		if _, err := ParseChar(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}
