package kubernetes

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// written is YAML, or a part of it. K1.
type written string

// quote writes a text as a scalar of YAML in double quotes. The escapes of Go are escapes of YAML too, but
// for \x of a byte that is not UTF-8: such a byte becomes U+FFFD.
func quote(text string) written {
	return written(strconv.QuoteToASCII(strings.ToValidUTF8(text, "\uFFFD")))
}

// quotedArg writes a part of a command, with $ doubled. K2.
func quotedArg(text string) written { return quote(strings.ReplaceAll(text, "$", "$$")) }

// number writes a number.
func number[T ~int | ~int64](n T) written { return written(strconv.FormatInt(int64(n), 10)) }

// fill replaces ${name} in a template. Within a line it stands for a text. Alone on a line it stands for
// lines, which are indented as it is, or for none.
func fill(template string, values map[string]written) written {
	value := func(name string) string {
		v, ok := values[name]
		if !ok {
			panic(fmt.Sprintf("the template has ${%s}, which has no value", name))
		}
		return string(v)
	}
	var b strings.Builder
	for line := range strings.Lines(template) {
		trimmed := strings.TrimSpace(line)
		name, block := strings.CutPrefix(trimmed, "${")
		if !block || !strings.HasSuffix(name, "}") || strings.Contains(name, "$") {
			b.WriteString(os.Expand(line, value))
			continue
		}
		indent := line[:strings.Index(line, "$")]
		for below := range strings.Lines(value(strings.TrimSuffix(name, "}"))) {
			b.WriteString(indent + strings.TrimRight(below, "\n") + "\n")
		}
	}
	return written(b.String())
}
