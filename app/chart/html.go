package chart

import (
	"bytes"
	"fmt"
	"html"
)

// Writer writes HTML. A template of the standard library calls methods by their names, so that a
// program with a template keeps all exported methods of all its types: 7 MB here.
type Writer struct{ bytes.Buffer }

// F writes a format whose arguments are escaped, but for numbers.
func (w *Writer) F(format string, args ...any) {
	for i, a := range args {
		switch a.(type) {
		case int, int64, float64:
		default:
			args[i] = html.EscapeString(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(w, format, args...)
}
