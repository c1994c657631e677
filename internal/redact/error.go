package redact

import (
	"errors"
	"net/url"
)

// Error returns an error whose text is for people, and which is what the error is to errors.Is and
// errors.As. An error that has nothing to hide is returned as it is.
func Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if request, ok := err.(*url.Error); ok { //nolint:errorlint // whose text repeats the URL, where it is all that is said
		text = request.Err.Error()
	}
	if text = Text(text); text == err.Error() {
		return err
	}
	return &shownError{text: text, err: err}
}

// shownError is an error with a text for people.
type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string { return e.text }

// Is and As see the error, which Unwrap does not give away: its text has secrets.
func (e *shownError) Is(target error) bool { return errors.Is(e.err, target) }
func (e *shownError) As(target any) bool   { return errors.As(e.err, target) }
