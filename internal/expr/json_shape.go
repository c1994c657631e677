package expr

import (
	"fmt"

	"github.com/mpga/mpga/internal/jsonpath"
	"github.com/mpga/mpga/internal/nested"
)

// appendShape appends a value of JSON as a type of textShape. mark is None of null. What is not of the shape is NULL,
// or, where isStrict, an error.
func appendShape(dst []byte, t Type, value string, isStrict bool) (out []byte, mark byte, err error) {
	if value[0] == 'n' {
		return dst, nested.None, nil
	}
	switch {
	case t.ID == Text && value[0] == '"':
		return nested.AppendText(dst, jsonpath.Unquote(value)), nested.Some, nil
	case t.ID == Text:
		return nested.AppendText(dst, string(jsonpath.Append(nil, value))), nested.Some, nil
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
		case at >= 0:
			values[at] = v
		case isStrict:
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
