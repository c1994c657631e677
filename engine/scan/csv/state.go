package csv

import "bytes"

// textState is where a byte of a text stands, as dialect.field has it.
type textState uint8

const (
	atField     textState = iota // at the beginning of a field; behind a newline, of a row
	inField                      // within a field without quotes
	inQuotes                     // within quotes
	afterQuote                   // behind a quote that closes quotes, or is the first of two
	afterEscape                  // behind an escape within quotes
	afterSpace                   // behind such a quote and spaces
	afterReturn                  // behind such a quote and CR
	inRest                       // within what is left out of a line: a comment, or all behind an error
	textStates  = iota
)

// stateTable has the state behind a byte, by the state before.
type stateTable [textStates][256]textState

// newStateTable returns the states of a dialect.
//
//	atField, inField  delimiter, newline -> atField   comment -> inRest   others -> inField
//	atField           quote -> inQuotes               space, unless it is one of these -> atField
//	inField           quote -> inRest
//	inQuotes          quote -> afterQuote             others -> inQuotes
//	inQuotes          escape -> afterEscape           afterEscape: all -> inQuotes
//	afterQuote        quote -> inQuotes, unless there are escapes: inRest
//	afterQuote        delimiter, newline -> atField   CR -> afterReturn   space -> afterSpace
//	afterSpace        as afterQuote, but quote -> inRest
//	others            newline -> atField   others -> inRest
func newStateTable(d *dialect) *stateTable {
	t := &stateTable{}
	for c := range 256 {
		for s := range t {
			t[s][c] = inRest
		}
		t[atField][c], t[inField][c], t[inQuotes][c] = inField, inField, inQuotes
		t[afterEscape][c] = inQuotes
	}
	if d.comment != 0 {
		t[atField][d.comment], t[inField][d.comment] = inRest, inRest
	}
	if !d.noQuote {
		t[atField][d.quote], t[inField][d.quote] = inQuotes, inRest
		t[inQuotes][d.quote], t[afterQuote][d.quote] = afterQuote, inQuotes
	}
	if d.escape != 0 {
		t[inQuotes][d.escape], t[afterQuote][d.quote] = afterEscape, inRest
	}
	t[afterQuote]['\r'], t[afterSpace]['\r'] = afterReturn, afterReturn
	if !d.special[' '] {
		t[atField][' '], t[afterQuote][' '], t[afterSpace][' '] = atField, afterSpace, afterSpace
	}
	for _, s := range []textState{atField, inField, afterQuote, afterSpace} {
		t[s][d.delimiter] = atField
	}
	for s := range t {
		if textState(s) != inQuotes && textState(s) != afterEscape {
			t[s]['\n'] = atField
		}
	}
	return t
}

// transition has the state at the end of a text, by the state at its beginning.
type transition [textStates]textState

// walk returns the state behind a text.
func (t *stateTable) walk(s textState, text []byte) textState {
	for _, c := range text {
		s = t[s][c]
	}
	return s
}

// leap is walk in steps from mark to mark, which are quotes, escapes and characters that begin
// comments. Where there is none, a newline ends all states but inQuotes, and the bytes before it do
// not matter.
func (d *dialect) leap(s textState, text []byte) textState {
	quotes, comments := markFinder{mark: d.quote, none: d.noQuote}, markFinder{mark: d.comment, none: d.comment == 0}
	escapes := markFinder{mark: d.escape, none: d.escape == 0}
	for at := 0; ; at++ {
		next := quotes.from(text, at)
		switch s {
		case afterEscape:
			next = at
		case inQuotes:
			next = min(next, escapes.from(text, at))
		default:
			next = min(next, comments.from(text, at))
			part := text[at:next]
			if last := bytes.LastIndexByte(part, '\n'); last >= 0 {
				s, part = atField, part[last+1:]
			}
			s = d.steps.walk(s, part)
		}
		if next == len(text) {
			return s
		}
		s = d.steps[s][text[next]]
		at = next
	}
}

// markFinder finds a mark in a text, again and again from further on.
type markFinder struct {
	mark byte
	none bool // there is no such mark
	next int  // what was found last
}

// from returns where the mark is at a place or behind it, and the length of the text where it is
// not.
func (f *markFinder) from(text []byte, at int) int {
	switch {
	case f.none:
		return len(text)
	case f.next >= at && f.next > 0:
		return f.next
	}
	f.next = len(text)
	if i := bytes.IndexByte(text[at:], f.mark); i >= 0 {
		f.next = at + i
	}
	return f.next
}

// mergeBytes is a part of a text behind which most states have become one.
const mergeBytes = 1 << 10

// irregular is transition where steps tell: the text is walked from every state at once, and once
// where several have met.
func (d *dialect) irregular(text []byte) (of transition) {
	for s := range of {
		of[s] = textState(s)
	}
	for size := mergeBytes; len(text) > 0; size *= 4 {
		part := text[:min(size, len(text))]
		text = text[len(part):]
		var next transition
		var known [textStates]bool
		for i, s := range of {
			if !known[s] {
				known[s], next[s] = true, d.leap(s, part)
			}
			of[i] = next[s]
		}
	}
	return of
}
