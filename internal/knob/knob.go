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

// knobError is an error that Errorf has made.
type knobError struct {
	error  // with the words of a program
	format string
	args   []any
}

// Errorf is fmt.Errorf for an error whose arguments of type Name are options.
func Errorf(format string, args ...any) error {
	return &knobError{fmt.Errorf(format, args...), format, args}
}

func (e *knobError) Unwrap() error { return e.error }

// Word implements Worder.
func (e *knobError) Word(word func(Name) string) string {
	args := make([]any, len(e.args))
	for i, arg := range e.args {
		switch a := arg.(type) {
		case Name:
			args[i] = word(a)
		case error:
			args[i] = Reword(a, word)
		default:
			args[i] = arg
		}
	}
	return fmt.Errorf(e.format, args...).Error()
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
	text := err.Error()
	said := make(map[string]bool)
	for _, w := range worders(err, nil) {
		worded := w.Word(word)
		text = strings.ReplaceAll(text, w.Error(), worded)
		if said[worded] { // of another option that has the same word
			text = strings.TrimSuffix(strings.Replace(text+"\n", "\n"+worded+"\n", "\n", 1), "\n")
		}
		said[worded] = true
	}
	if text == err.Error() {
		return err
	}
	return &worded{err, text}
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
