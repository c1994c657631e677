package fields

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/digits"
)

// strconv is the oracle of the fast path, which must round once.
func TestParseFloat(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200_000 {
		text := strconv.FormatFloat(float64(rng.Uint64N(1<<54))/pow10[rng.IntN(20)], 'f', rng.IntN(24)-1, 64)
		want, _ := strconv.ParseFloat(text, 64)
		if got, ok := ParseFloat([]byte(text)); !ok || math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%s: got %v (%v), want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", ".", "-", "e5", "0x1p4", "1_0", "--1", "1e", "1.2.3"} {
		if f, ok := ParseFloat([]byte(text)); ok {
			t.Errorf("%q was read as %v", text, f)
		}
	}
}

// The calendar, against package time.
func TestParseDate(t *testing.T) {
	for day := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 10_000; day = day.AddDate(0, 0, 1) {
		text := day.Format(time.DateOnly)
		if got, ok := ParseDate([]byte(text)); !ok || int64(got) != digits.FloorDiv(day.Unix(), 86_400) {
			t.Fatalf("%s: got day %d (%v), want %d", text, got, ok, digits.FloorDiv(day.Unix(), 86_400))
		}
	}
}

// The axis is who counts the days.
func BenchmarkParseDate(b *testing.B) {
	text := []byte("1998-09-02")
	b.Run("days", func(b *testing.B) {
		for b.Loop() {
			_, _ = ParseDate(text)
		}
	})
	b.Run("time", func(b *testing.B) {
		for b.Loop() {
			century, _ := twoDigits(text[:2])
			year, _ := twoDigits(text[2:4])
			month, _ := twoDigits(text[5:7])
			day, _ := twoDigits(text[8:])
			if at := time.Date(int(100*century+year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC); at.Day() != int(day) || at.Unix() == 0 {
				b.Fatal(at)
			}
		}
	})
}

func TestParseDecimal(t *testing.T) {
	for _, c := range []struct {
		text             string
		precision, scale int32
		want             string
	}{
		{"12.3", 5, 2, "12.30"}, {"-0.05", 5, 2, "-0.05"}, {"+7", 3, 0, "7"}, {".5", 3, 1, "0.5"}, {"999.99", 5, 2, "999.99"}, {"000999.99", 5, 2, "999.99"},
		{"1000", 5, 2, ""}, {"1.234", 5, 2, ""}, {"1.2.3", 5, 2, ""}, {"", 5, 2, ""}, {"-", 5, 2, ""}, {"1e2", 5, 2, ""},
		{"99999999999999999999999999999999999999", 38, 0, "99999999999999999999999999999999999999"}, {"100000000000000000000000000000000000000", 38, 0, ""},
	} {
		got, ok := parseDecimal([]byte(c.text), c.precision, c.scale)
		if ok != (c.want != "") || ok && got.ToString(c.scale) != c.want {
			t.Errorf("%q as decimal(%d, %d): got %s (%v), want %q", c.text, c.precision, c.scale, got.ToString(c.scale), ok, c.want)
		}
	}
}

// Strings that look alike in their first bytes, length or padding must not share a code.
func TestTextCodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	d := newTextCodes(arrow.BinaryTypes.String, slotsAtLeast)
	codes := make(map[string]int32)
	for range 200_000 {
		b := make([]byte, rng.IntN(4)+rng.IntN(2)*7+rng.IntN(2)*8)
		for i := range b {
			b[i] = "\x00ab"[rng.IntN(3)]
		}
		code := d.code(b)
		want, known := codes[string(b)]
		if !known {
			want = int32(len(codes))
			codes[string(b)] = want
		}
		if code != want || d.entry(uint32(code)) != string(b) {
			t.Fatalf("%q: got code %d (%q), want %d", b, code, d.entry(uint32(code)), want)
		}
	}
}
