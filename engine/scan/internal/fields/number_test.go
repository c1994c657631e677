package fields

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// inText puts a number among other bytes, as in a row.
func inText(number string) ([]byte, Span) {
	text := "9" + number + "9,.8765432109876543"
	return []byte(text), Span{1, uint32(1 + len(number))}
}

// sameFast compares the fast paths, which may leave a number to the others, with those.
func sameFast(t *testing.T, number string) {
	t.Helper()
	text, s := inText(number)
	if n, ok := fastInt(text, s); ok {
		if want, wantOK := ParseInt([]byte(number)); n != want || !wantOK {
			t.Fatalf("%q: got %d, want %d (%v)", number, n, want, wantOK)
		}
	}
	if f, ok := fastFloat(text, s); ok {
		if want, err := strconv.ParseFloat(number, 64); math.Float64bits(f) != math.Float64bits(want) || err != nil {
			t.Fatalf("%q: got %v, want %v (%v)", number, f, want, err)
		}
	}
}

func TestFastNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 300_000 {
		v := rng.Uint64() >> rng.IntN(64)
		f := float64(int64(v)) / pow10[rng.IntN(12)]
		sameFast(t, strconv.FormatInt(int64(v), 10))
		sameFast(t, strconv.FormatFloat(f, 'f', rng.IntN(12)-1, 64))
		garbage := make([]byte, rng.IntN(18))
		for i := range garbage {
			garbage[i] = "0123456789.-+ e/:\xB0\xFA"[rng.IntN(19)]
		}
		sameFast(t, string(garbage))
	}
	for _, number := range []string{"", "-", ".", "-.", "0", "-0", "-0.0", "00000000", "00000000.5", "12345678.12345678", "123456789.5", "1234567.12345678", "99999999", "9999999999999999"} {
		sameFast(t, number)
	}
	for _, number := range []string{"0", "-7", "12345678", "-1234567890123456"} {
		text, s := inText(number)
		if _, ok := fastInt(text, s); !ok {
			t.Errorf("%s takes the slow path", number)
		}
	}
	for _, number := range []string{"0", "-7.25", "42.415656", ".5", "5.", "12345678.5", "12345678"} {
		text, s := inText(number)
		if _, ok := fastFloat(text, s); !ok {
			t.Errorf("%s takes the slow path", number)
		}
	}
}
