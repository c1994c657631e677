package csv

import (
	"math/rand/v2"
	"testing"
)

// Would catch a leap over a byte that changes the state, which a walk over all bytes sees.
func TestLeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, opt := range []Options{
		{Comment: '#'}, {IgnoreErrors: true}, {Comment: '#', NoQuote: true}, {IgnoreErrors: true, NoQuote: true},
		{Quote: '"', Escape: '\\'}, {Quote: '"', Escape: '\\', Comment: '#', IgnoreErrors: true},
	} {
		opt.EnsureDefaults()
		d := newDialect(&opt, ',')
		for range 3000 {
			text := make([]byte, rng.IntN(60))
			for i := range text {
				text[i] = "ab,,\"\"\n\r#\\ "[rng.IntN(11)]
			}
			for s := range textState(textStates) {
				if got, want := d.leap(s, text), d.steps.walk(s, text); got != want {
					t.Fatalf("%q from state %d: got %d, want %d", text, s, got, want)
				}
				if got, want := d.transition(text)[s], d.steps.walk(s, text); got != want {
					t.Fatalf("%q from state %d: the transition has %d, want %d", text, s, got, want)
				}
			}
		}
	}
}

// Would catch a state in which a text is cut otherwise than into the rows that it is read as, so that rows of chunks are
// lost: a character may be a space, a delimiter, a quote and the begin of a comment in some dialect.
func TestStatesOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tried := 0
	for range 300 {
		mark := func() byte { return ",\" ;'#\\"[rng.IntN(7)] }
		opt := Options{Delimiter: mark(), Quote: mark(), IgnoreErrors: true}
		if rng.IntN(2) == 0 {
			opt.Comment = mark()
		}
		if rng.IntN(3) == 0 {
			opt.Escape = mark()
		}
		if opt.EnsureDefaults(); opt.Validate() != nil {
			continue
		}
		tried++
		d := newDialect(&opt, opt.Delimiter)
		for range 2000 {
			text := make([]byte, 1+rng.IntN(14), 40)
			for i := range text {
				text[i] = "ab,\" ;'#\\\n\r"[rng.IntN(11)]
			}
			end := d.rowEnd(text, 0)
			if end < 0 {
				end = len(text) + 1
			}
			s := atField
			for i, c := range text {
				if s = d.steps[s][c]; c == '\n' && (s == atField) != (i+1 >= end) && i < end {
					t.Fatalf("%+v: %q: the row ends at %d, and the state behind byte %d is %d", opt, text, end, i, s)
				}
			}
		}
	}
	if tried < 60 {
		t.Errorf("%d dialects were tried", tried)
	}
}
