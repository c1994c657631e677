// Package knob names options in errors, so that whoever shows an error names them in the words of
// its users: a field of a struct to a program, a flag to who types a command, a field of a file to
// who writes a job.
package knob

import (
	"errors"
	"fmt"
	"strings"
)

// Name is an option: a package and the field of its options, as in "engine.MemoryLimit". In the
// text of an error it is the field.
type Name string

// String returns the field.
func (n Name) String() string {
	_, field, _ := strings.Cut(string(n), ".")
	return field
}

// Worder is an error whose text names options.
type Worder interface {
	error

	// Word returns the text with the word for each option.
	Word(word func(Name) string) string
}

// knobError is an error that Errorf has made. Its text is made at once, but for the words of options: nothing that an
// argument refers to is read later, when it may have other values, or be gone as a mapped file is.
type knobError struct {
	error          // with the words of a program
	parts []string // of the text, between which the operands stand
	named []operand
}

// operand is an argument of Errorf that names options.
type operand struct {
	format string // its verb with flags, as in %q
	name   Name   // where it is an option itself
	text   string // of an error, with the words of a program
	within []Worder
}

// Errorf is fmt.Errorf for an error whose arguments of type Name are options.
func Errorf(format string, args ...any) error {
	e := &knobError{error: fmt.Errorf(format, args...)}
	mark := "\x00" // which the text has not
	for strings.Contains(e.Error(), mark) {
		mark += "\x00"
	}
	marked := make([]any, len(args))
	for i, arg := range args {
		marked[i] = arg
		switch a := arg.(type) {
		case Name:
			marked[i] = &marker{e, mark, operand{name: a}}
		case error:
			if within := worders(a, nil); len(within) > 0 {
				marked[i] = &marker{e, mark, operand{text: a.Error(), within: within}}
			}
		}
	}
	e.parts = strings.Split(fmt.Errorf(format, marked...).Error(), mark)
	return e
}

// Errors are what is wrong with options.
type Errors []error

// If adds an error as Errorf makes it, where something is wrong.
func (e *Errors) If(wrong bool, format string, args ...any) {
	if wrong {
		*e = append(*e, Errorf(format, args...))
	}
}

// marker stands for an operand while a text is formatted: it is written as a mark, and noted in its error.
type marker struct {
	in   *knobError
	mark string
	operand
}

// Format implements fmt.Formatter.
func (m *marker) Format(f fmt.State, verb rune) {
	m.format = fmt.FormatString(f, verb)
	m.in.named = append(m.in.named, m.operand)
	_, _ = f.Write([]byte(m.mark))
}

// Error implements error, so that a marker may stand for what is wrapped.
func (m *marker) Error() string { return m.mark }

func (e *knobError) Unwrap() error { return e.error }

// Word implements Worder.
func (e *knobError) Word(word func(Name) string) string {
	var b strings.Builder
	for i, o := range e.named {
		b.WriteString(e.parts[i])
		if o.within == nil {
			fmt.Fprintf(&b, o.format, word(o.name))
		} else {
			fmt.Fprintf(&b, o.format, reworded(o.text, o.within, word))
		}
	}
	b.WriteString(e.parts[len(e.named)])
	return b.String()
}

// worded is an error with another text.
type worded struct {
	error
	text string
}

func (w *worded) Error() string { return w.text }
func (w *worded) Unwrap() error { return w.error }

// Reword returns an error whose text has the word for each option. It wraps err, or is err where
// that names no option. Of lines that are equal then, of options that share a word, the first stays.
func Reword(err error, word func(Name) string) error {
	if err == nil {
		return nil
	}
	text := reworded(err.Error(), worders(err, nil), word)
	if text == err.Error() {
		return err
	}
	return &worded{err, text}
}

// reworded returns a text that has the texts of errors, with the words of these.
func reworded(text string, within []Worder, word func(Name) string) string {
	said := make(map[string]bool)
	for _, w := range within {
		worded := w.Word(word)
		text = strings.ReplaceAll(text, w.Error(), worded)
		if said[worded] { // of another option that has the same word
			text = strings.TrimSuffix(strings.Replace(text+"\n", "\n"+worded+"\n", "\n", 1), "\n")
		}
		said[worded] = true
	}
	return text
}

// worders appends the outermost errors of a tree that name options.
func worders(err error, found []Worder) []Worder {
	switch e := err.(type) {
	case Worder:
		return append(found, e)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			found = worders(one, found)
		}
		return found
	case interface{ Unwrap() error }:
		return worders(e.Unwrap(), found)
	}
	if w := Worder(nil); errors.As(err, &w) { // of an error that shows what it wraps by As alone
		return append(found, w)
	}
	return found
}
