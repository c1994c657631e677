package decode

import (
	"fmt"
	"unicode/utf8"
)

// TextError is the error of a value of a string column that is not UTF-8.
type TextError struct {
	Row   int64 // counted from where the reader that returns the error says
	Value string
}

// NewTextError returns the error of a value. It keeps a copy of the value.
func NewTextError(row int64, value []byte) *TextError {
	return &TextError{Row: row, Value: QuoteInvalid(value)}
}

// Error shows the value, and says what other bytes need; it does not name the row.
func (e *TextError) Error() string {
	return fmt.Sprintf("%s is not valid UTF-8, as strings must be; other bytes need a column of type binary", e.Value)
}

// shownBytes are shown before and behind the first byte that is wrong.
const shownBytes = 20

// QuoteInvalid quotes what is around the first byte of a value that is not UTF-8, or the beginning
// of a value that is.
func QuoteInvalid(value []byte) string {
	at := 0
	for at < len(value) {
		r, size := utf8.DecodeRune(value[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	if at == len(value) {
		at = 0
	}
	from, to := max(at-shownBytes, 0), min(at+shownBytes, len(value))
	for from < at && !utf8.RuneStart(value[from]) {
		from++
	}
	for to > at+1 && to < len(value) && !utf8.RuneStart(value[to]) {
		to--
	}
	before, behind := "", ""
	if from > 0 {
		before = "..."
	}
	if to < len(value) {
		behind = "..."
	}
	return fmt.Sprintf("%s%q%s", before, value[from:to], behind)
}
