package jsonpath

import (
	"strconv"
	"strings"
)

// Merge appends a value with a patch of it, as RFC 7396 has it: members of the patch's objects replace the value's, and
// null takes one away. The value "" is none. Requires: value and patch are whole.
func Merge(dst []byte, value, patch string) []byte {
	if patch[0] != '{' {
		return Append(dst, patch)
	}
	patches := map[string]string{}
	Each(patch, func(key, v string) bool {
		patches[key] = v
		return true
	})
	dst = append(dst, '{')
	begin := len(dst)
	member := func(key string) {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, key), ':')
	}
	merged := map[string]bool{}
	if strings.HasPrefix(value, "{") {
		Each(value, func(key, v string) bool {
			p, isPatched := patches[key]
			if merged[key] = true; isPatched && p[0] == 'n' {
				return true
			}
			if member(key); isPatched {
				dst = Merge(dst, v, p)
			} else {
				dst = Append(dst, v)
			}
			return true
		})
	}
	Each(patch, func(key, _ string) bool {
		if p := patches[key]; !merged[key] && p[0] != 'n' {
			merged[key] = true
			member(key)
			dst = Merge(dst, "", p)
		}
		return true
	})
	return append(dst, '}')
}

// Contains says whether a value, or a value within it, has another: an array has the elements of the other, in any
// order, and an object the members. Requires: both are whole.
func Contains(value, other string) (found bool) {
	if has(value, other) {
		return true
	}
	Each(value, func(_, v string) bool {
		found = Contains(v, other)
		return !found
	})
	return found
}

// has says whether a value has another, as Contains does of the value itself.
func has(value, other string) bool {
	kind := Kind(value)
	if kind != Kind(other) {
		return false
	}
	switch kind {
	case "VARCHAR":
		return Unquote(value) == Unquote(other)
	case "DOUBLE":
		a, _ := strconv.ParseFloat(value, 64)
		b, _ := strconv.ParseFloat(other, 64)
		return a == b
	case "OBJECT", "ARRAY":
	default:
		return value == other
	}
	all := true
	Each(other, func(key, want string) bool {
		found := false
		Each(value, func(k, v string) bool {
			found = k == key && has(v, want)
			return !found
		})
		all = found
		return all
	})
	return all
}
