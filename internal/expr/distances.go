package expr

import (
	"math"

	"github.com/mpga/mpga/internal/nested"
)

// distances are the functions of two lists of as many numbers, as vectors.
func distances() []Function {
	return []Function{
		function("list_distance", "a, b", "the distance of two vectors; a <-> b too", "list_distance([1, 2], [4, 6])", "5.0",
			ofVectors(func(a, b []float64) float64 { return math.Sqrt(innerProduct(vectorDifference(a, b), nil)) }),
			"array_distance", "<->"),
		function("list_inner_product", "a, b", "the sum of the products of their numbers",
			"list_inner_product([1, 2], [3, 4])", "11.0", ofVectors(innerProduct),
			"list_dot_product", "array_inner_product", "array_dot_product"),
		function("list_negative_inner_product", "a, b", "the same with the other sign",
			"list_negative_inner_product([1, 2], [3, 4])", "-11.0",
			ofVectors(func(a, b []float64) float64 { return -innerProduct(a, b) }),
			"list_negative_dot_product", "array_negative_inner_product", "array_negative_dot_product"),
		function("list_cosine_similarity", "a, b", "the cosine of the angle between two vectors",
			"list_cosine_similarity([1, 0], [2, 0])", "1.0", ofVectors(cosine), "array_cosine_similarity"),
		function("list_cosine_distance", "a, b", "1 less that; a <=> b too", "list_cosine_distance([1, 0], [0, 1])", "1.0",
			ofVectors(func(a, b []float64) float64 { return 1 - cosine(a, b) }), "array_cosine_distance", "<=>"),
		function("array_cross_product", "a, b", "the cross product of two vectors of 3 numbers",
			"array_cross_product([1, 0, 0], [0, 1, 0])", "[0.0, 0.0, 1.0]", crossProduct),
	}
}

// innerProduct returns the sum of the products; b is a where it is nil.
func innerProduct(a, b []float64) (sum float64) {
	if b == nil {
		b = a
	}
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func vectorDifference(a, b []float64) []float64 {
	for i := range a {
		a[i] -= b[i]
	}
	return a
}

// cosine returns the cosine of an angle; NaN where a vector is 0 or has no numbers.
func cosine(a, b []float64) float64 {
	c := innerProduct(a, b) / math.Sqrt(innerProduct(a, nil)*innerProduct(b, nil))
	if math.IsNaN(c) {
		return c
	}
	return max(-1, min(1, c))
}

// vectors makes both arguments lists of FLOAT or of DOUBLE, and returns the type.
func (b *binder) vectors(n *node) Type {
	t := b.alikeLists(n, 0, 1)
	if !t.numeric() && t.ID != Null {
		b.fail(n.at, "%s: not for lists of %s", n.text, t)
	}
	if t.ID != Float32 {
		t = typeOf(Float64)
	}
	b.castList(n, 0, t)
	b.castList(n, 1, t)
	n.fallible = true
	return t
}

// pair returns the numbers of two lists, which must be as many.
func pair(n *node, l *nested.Layout, s, t string) (a, b []float64, err error) {
	read := func(s string) (v []float64, err error) {
		v = []float64{}
		for _, x := range l.Elements(nil, s) {
			if x.Null {
				return nil, valueError(n, "an element is NULL")
			}
			v = append(v, l.Parts[0].Float(x.Value))
		}
		return v, nil
	}
	if a, err = read(s); err != nil {
		return nil, nil, err
	}
	if b, err = read(t); err != nil {
		return nil, nil, err
	}
	if len(a) != len(b) {
		return nil, nil, valueError(n, "a list of %d elements and one of %d", len(a), len(b))
	}
	return a, b, nil
}

// ofVectors binds a function of two vectors.
func ofVectors(fn func(a, b []float64) float64) binding {
	return func(b *binder, n *node) {
		n.typ = b.vectors(n)
		isCosine := n.name == "list_cosine_similarity" || n.name == "list_cosine_distance"
		l := n.args[0].typ.layout
		n.eval = map2e(n, func(s, t string) (float64, error) {
			x, y, err := pair(n, l, s, t)
			switch {
			case err != nil:
				return 0, err
			case isCosine && len(x) == 0:
				return 0, errNull
			case n.typ.ID == Float32:
				return float64(float32(fn(x, y))), nil
			}
			return fn(x, y), nil
		})
	}
}

func crossProduct(b *binder, n *node) {
	n.typ = ListOf(b.vectors(n))
	l := n.typ.layout
	n.eval = map2f(n, func(e *Evaluator, s, t string) (string, error) {
		x, y, err := pair(n, l, s, t)
		if err != nil {
			return "", err
		}
		if len(x) != 3 {
			return "", valueError(n, "lists of %d elements, want 3", len(x))
		}
		d := e.draft[:0]
		for i := range 3 {
			j, k := (i+1)%3, (i+2)%3
			d = l.Parts[0].AppendFloat(append(d, nested.Some), x[j]*y[k]-x[k]*y[j])
		}
		return e.keeping(n, append(d, nested.End))
	})
}
