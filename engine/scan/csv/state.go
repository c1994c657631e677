package csv

// textState is where a byte of a text stands, as dialect.field has it.
type textState uint8

const (
	atField     textState = iota // at the beginning of a field; behind a newline, of a row
	inField                      // within a field without quotes
	inQuotes                     // within quotes
	afterQuote                   // behind a quote that closes quotes, or is the first of two
	afterReturn                  // behind such a quote and CR
	inRest                       // within what is left out of a line: a comment, or all behind an error
	textStates  = iota
)

// stateTable has the state behind a byte, by the state before.
type stateTable [textStates][256]textState

// newStateTable returns the states of a dialect.
//
//	atField, inField  delimiter, newline -> atField   comment -> inRest   others -> inField
//	atField           quote -> inQuotes
//	inField           quote -> inRest
//	inQuotes          quote -> afterQuote             others -> inQuotes
//	afterQuote        quote -> inQuotes    delimiter, newline -> atField   CR -> afterReturn
//	others            newline -> atField   others -> inRest
func newStateTable(d *dialect) *stateTable {
	t := &stateTable{}
	for c := range 256 {
		for s := range t {
			t[s][c] = inRest
		}
		t[atField][c], t[inField][c], t[inQuotes][c] = inField, inField, inQuotes
	}
	if d.comment != 0 {
		t[atField][d.comment], t[inField][d.comment] = inRest, inRest
	}
	if !d.noQuote {
		t[atField][d.quote], t[inField][d.quote] = inQuotes, inRest
		t[inQuotes][d.quote], t[afterQuote][d.quote] = afterQuote, inQuotes
	}
	t[afterQuote]['\r'] = afterReturn
	for _, s := range []textState{atField, inField, afterQuote} {
		t[s][d.delimiter] = atField
	}
	for s := range t {
		if textState(s) != inQuotes {
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

// mergeBytes is a part of a text behind which most states have become one.
const mergeBytes = 256

// transition walks a text from every state at once, and each state once where several have met.
func (t *stateTable) transition(text []byte) (of transition) {
	for s := range of {
		of[s] = textState(s)
	}
	for len(text) > 0 {
		part := text[:min(mergeBytes, len(text))]
		text = text[len(part):]
		var next transition
		var known [textStates]bool
		for i, s := range of {
			if !known[s] {
				known[s], next[s] = true, t.walk(s, part)
			}
			of[i] = next[s]
		}
	}
	return of
}
