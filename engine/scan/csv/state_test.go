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
