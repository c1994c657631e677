package decode

import (
	"strings"
	"testing"
)

// What is shown has the first wrong byte, is short, and begins and ends between characters.
func TestQuoteInvalid(t *testing.T) {
	for value, want := range map[string]string{
		"a\xffb":                            `"a\xffb"`,
		"\xff":                              `"\xff"`,
		"gr\xc3":                            `"gr\xc3"`,
		strings.Repeat("x", 50) + "\xff":    `..."` + strings.Repeat("x", 20) + `\xff"`,
		"\xff" + strings.Repeat("x", 50):    `"\xff` + strings.Repeat("x", 19) + `"...`,
		strings.Repeat("日", 30) + "\xed":    `..."` + strings.Repeat("日", 6) + `\xed"`,
		"\xff" + strings.Repeat("日", 30):    `"\xff` + strings.Repeat("日", 6) + `"...`,
		strings.Repeat("\x80", 100):         `"` + strings.Repeat(`\x80`, 1) + `"...`,
		"\ufffd" + "\n" + "\xed\xa0\x80 ok": "\"\ufffd\\n\\xed\\xa0\\x80 ok\"",
	} {
		if got := QuoteInvalid([]byte(value)); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}
