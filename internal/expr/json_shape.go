package expr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mpga/mpga/internal/jsonpath"
	"github.com/mpga/mpga/internal/nested"
)

// appendShape appends a value of JSON as the textShape of a type. mark is None of null. What is not of the shape is
// NULL, or, where isStrict, an error.
func appendShape(dst []byte, t Type, value string, isStrict bool) (out []byte, mark byte, err error) {
	if value[0] == 'n' {
		return dst, nested.None, nil
	}
	switch {
	case !t.nested(), t.whole():
		return nested.AppendText(dst, shapeText(t, value)), nested.Some, nil
	case t.ID == Map && value[0] == '{':
		known := map[string]bool{}
		jsonpath.Each(value, func(key, v string) bool {
			if known[key] {
				err = fmt.Errorf("%.40s has the key %q twice", value, key)
				return false
			}
			known[key] = true
			dst = nested.AppendText(append(dst, nested.Some, nested.Some), key)
			dst, err = appendShapePart(dst, t.parts[1], v, isStrict)
			return err == nil
		})
		return append(dst, nested.End), nested.Some, err
	case t.ID == List && value[0] == '[':
		jsonpath.Each(value, func(_, v string) bool {
			dst, err = appendShapePart(dst, t.parts[0], v, isStrict)
			return err == nil
		})
		return append(dst, nested.End), nested.Some, err
	case t.ID == Struct && value[0] == '{':
		dst, err = appendShapeFields(dst, t, value, isStrict)
		return dst, nested.Some, err
	case isStrict:
		return dst, nested.None, fmt.Errorf("%.40s is not a %s", value, t)
	case t.ID == Struct: // as DuckDB has it
		for range t.parts {
			dst = append(dst, nested.None)
		}
		return dst, nested.Some, nil
	}
	return dst, nested.None, nil
}

// shapeText returns the string of a value that is cast to a type. A number is true where it is not 0, and where true is
// to be a number, it is 1. As in DuckDB, an integer beyond 64 bits and a number beyond DOUBLE are no truth values.
func shapeText(t Type, value string) string {
	switch c := value[0]; {
	case c == '"':
		return jsonpath.Unquote(value)
	case t.numeric() && c == 't':
		return "1"
	case t.numeric() && c == 'f':
		return "0"
	case t.ID == Bool && c <= '9' && (jsonpath.Kind(value) != "DOUBLE" || strings.ContainsAny(value, ".eE")):
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			return strconv.FormatBool(v != 0)
		}
	}
	return string(jsonpath.Append(nil, value))
}

func appendShapePart(dst []byte, t Type, value string, isStrict bool) ([]byte, error) {
	at := len(dst)
	dst, mark, err := appendShape(append(dst, nested.Some), t, value, isStrict)
	if dst[at] = mark; mark == nested.None {
		dst = dst[:at+1]
	}
	return dst, err
}

func appendShapeFields(dst []byte, t Type, value string, isStrict bool) ([]byte, error) {
	values := make([]string, len(t.parts))
	var err error
	jsonpath.Each(value, func(key, v string) bool {
		at := -1
		for i, name := range t.names {
			if name == key {
				at = i
			}
		}
		switch {
		case at >= 0 && values[at] == "":
			values[at] = v
		case at >= 0 && isStrict:
			err = fmt.Errorf("%.40s has the key %q twice", value, key)
		case at < 0 && isStrict:
			err = fmt.Errorf("%.40s has the key %q, which the structure has not", value, key)
		}
		return err == nil
	})
	for i, v := range values {
		switch {
		case err != nil:
			return dst, err
		case v != "":
			dst, err = appendShapePart(dst, t.parts[i], v, isStrict)
		case isStrict:
			err = fmt.Errorf("%.40s lacks the key %q", value, t.names[i])
		default:
			dst = append(dst, nested.None)
		}
	}
	return dst, err
}
