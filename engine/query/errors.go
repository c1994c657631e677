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
