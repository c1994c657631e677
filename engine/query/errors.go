package query

import (
	"errors"
	"fmt"
)

// ErrQuery marks a query that does not suit its source: an unknown column, a type that a function
// does not take.
var ErrQuery = errors.New("query does not suit the data")

// queryError is an ErrQuery with a text of its own.
type queryError string

func (e queryError) Error() string        { return string(e) }
func (e queryError) Is(target error) bool { return target == ErrQuery }

// Errorf returns an ErrQuery with a text of its own.
func Errorf(format string, args ...any) error { return queryError(fmt.Sprintf(format, args...)) }

// ErrValue marks a value for which an expression has no result, whether the statement has it or the data: a day that
// there is not, a text that is no number, a division by 0.
var ErrValue = errors.New("value has no result")

// valueError is an ErrValue with a text of its own.
type valueError struct{ error }

func (e valueError) Unwrap() error        { return e.error }
func (e valueError) Is(target error) bool { return target == ErrValue }

// Valuef is fmt.Errorf for an ErrValue.
func Valuef(format string, args ...any) error { return valueError{fmt.Errorf(format, args...)} }
