package regex

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// randomExpr returns an expression of some depth: with groups, alternatives, loops of all kinds,
// and parts that no program has.
func randomExpr(rng *rand.Rand, depth int) string {
	atoms := []string{"a", "b", "ab", "é", "日本", "x", "[ab]", "[^a]", "[^ab]", ".", "(?s:.)", "[a-z]", `\d`, `\w`, `\.`, "/", "(?i:a)", "(?i:k)", "[éa]", `\b`, "^", "$", ""}
	if depth == 0 {
		return atoms[rng.IntN(len(atoms))]
	}
	sub := func() string { return randomExpr(rng, depth-1) }
	switch rng.IntN(8) {
	case 0:
		return "(" + sub() + ")"
	case 1:
		return "(?:" + sub() + "|" + sub() + ")"
	case 2, 3:
		return "(?:" + sub() + ")" + []string{"*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?"}[rng.IntN(9)]
	case 4:
		return atoms[rng.IntN(len(atoms)-3)] + []string{"*", "+", "?", "*?", "+?", "??"}[rng.IntN(6)] + sub()
	default:
		return sub() + sub()
	}
}

func randomText(rng *rand.Rand) string {
	parts := []string{"a", "a", "b", "ab", "aab", "x", "é", "日本", ".", "/", "1", "K", "k", "\n", "\xff", "\xc3", "A"}
	var s strings.Builder
	for range rng.IntN(25) {
		s.WriteString(parts[rng.IntN(len(parts))])
	}
	return s.String()
}

// check compares all that an expression says of a string with what the library says.
func check(t *testing.T, re *Regexp, s string) {
	t.Helper()
	if got, want := re.MatchString(s), re.library.MatchString(s); got != want {
		t.Fatalf("%q in %q: %v", re.library, s, got)
	}
	if got, want := re.First(s), re.library.FindStringSubmatchIndex(s); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q in %q: got %v, want %v", re.library, s, got, want)
	}
	var got [][]int
	ok, _ := re.Each(s, func(m []int) error {
		got = append(got, append([]int(nil), m...))
		return nil
	})
	want := re.library.FindAllStringSubmatchIndex(s, -1)
	if ok && len(got) != len(want) || len(got) > len(want) || len(got) > 0 && !reflect.DeepEqual(got, want[:len(got)]) {
		t.Fatalf("%q in %q: got %v, want %v", re.library, s, got, want)
	}
}

// Programs answer as the library does, for expressions and strings of all kinds. E1.
func TestRandom(t *testing.T) {
	programs := 0
	for seed := range uint64(20_000) {
		rng := rand.New(rand.NewPCG(41, seed))
		expr := randomExpr(rng, 1+rng.IntN(4))
		if rng.IntN(4) == 0 {
			expr = "^" + expr
		}
		if rng.IntN(4) == 0 {
			expr += "$"
		}
		re, err := Compile(expr)
		if err != nil {
			if _, want := regexp.Compile(expr); want == nil {
				t.Fatalf("%q: %v", expr, err)
			}
			continue
		}
		if re.program != nil {
			programs++
		}
		for range 20 {
			check(t, re, randomText(rng))
		}
	}
	if programs < 5000 {
		t.Errorf("%d expressions have programs", programs)
	}
}

// These expressions have programs: without them, their speed would be lost, and nothing else would
// show it.
func TestSimple(t *testing.T) {
	for _, expr := range []string{
		`^https?://(?:www\.)?([^/]+)/.*$`, `id=(\d+)`, `google`, `(google|yandex|bing)\.(com|ru)`, `.*google.*`, `[0-9]+`, `page[0-9]*7\?`, `main$`,
		`^(\w+)://([^/:]+)(:\d+)?`, `(?i)home`, `^\s*(.*?)\s*$`, `страница (\d+)`, `\A(?:ab)\z`,
	} {
		re, err := Compile(expr)
		if err != nil {
			t.Fatal(err)
		}
		if re.program == nil {
			t.Errorf("%q has no program", expr)
		}
		for _, s := range []string{"", "https://www.google.com/a/b?id=17", "http://x.org/page107?main", "yandex.ru home", "  страница 12 ", "\xff/"} {
			check(t, re, s)
		}
	}
}

// Expressions that go back over and over end, with the library's answer. E2.
func TestBounded(t *testing.T) {
	for _, expr := range []string{`(?:a|aa)+b`, `a*a*a*a*a*b`, `(?:a*b?)+c`, `(a)+$`, `.*.*.*x`, `(?:[ab]+a)+z`, `(x?)(x?)(x?)(x?)y`} {
		re, err := Compile(expr)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{10, 1000, 200_000} {
			check(t, re, strings.Repeat("a", n))
		}
	}
}

// A long expression is compiled, and one with too many parts is the library's.
func TestLong(t *testing.T) {
	long := strings.Repeat("abcdefghij", 100_000)
	re, err := Compile(long)
	if err != nil {
		t.Fatal(err)
	}
	if re.program != nil && !re.MatchString("x"+long) || re.MatchString(long[1:]) {
		t.Error("a text of 1 MB is not found as it is")
	}
	re, err = Compile(strings.Repeat("(a|b)", 1000))
	if err != nil || re.program != nil {
		t.Errorf("a program of 1000 groups: %v", err)
	}
	if _, err := Compile("(a{1000}){1000}"); err == nil {
		t.Error("an expression of a million characters is compiled")
	}
}

func FuzzRegex(f *testing.F) {
	f.Add(`^(a|b)+?c*$`, "abcc")
	f.Fuzz(func(t *testing.T, expr, s string) {
		if re, err := Compile(expr); err == nil && len(s) < 1000 {
			check(t, re, s)
		}
	})
}

func BenchmarkFirst(b *testing.B) {
	texts := make([]string, 1000)
	rng := rand.New(rand.NewPCG(42, 0))
	for i := range texts {
		texts[i] = fmt.Sprintf("http%s://%shost%d.ru/a/page%d?c=%d", []string{"", "s"}[rng.IntN(2)], []string{"", "www."}[rng.IntN(2)], rng.IntN(2000), rng.IntN(100_000), rng.IntN(100_000))
	}
	for _, expr := range []string{`^https?://(?:www\.)?([^/]+)/.*$`, `c=(\d+)`, `[0-9]+`, `(google|yandex|host1)\.(com|ru)`, `.*host7.*`, `page[0-9]*7\?`, `(?i)HOST7`} {
		re, err := Compile(expr)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(expr, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				re.First(texts[i%len(texts)])
			}
		})
		b.Run(expr+"/library", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				re.library.FindStringSubmatchIndex(texts[i%len(texts)])
			}
		})
	}
}
