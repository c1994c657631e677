package expr

// rowError is the error of an expression for a row.
type rowError struct {
	Row int // of the batch
	err error
}

func (e *rowError) Error() string { return e.err.Error() }
func (e *rowError) Unwrap() error { return e.err }

// BatchRow returns the row of the batch, counted from 0.
func (e *rowError) BatchRow() int { return e.Row }

// atRow finds the row for which a node gives an error, by evaluating row after row.
func (e *Evaluator) atRow(n *node, from, rows int, err error) error {
	if err == errManyTexts {
		return err
	}
	if rows == 1 {
		return &rowError{from, err}
	}
	for row := from; row < from+rows; row++ {
		e.reset()
		e.together, e.text.full = 1, e.text.frame
		f := e.frameOf(row, 1, nil)
		_, found := f.eval(n)
		e.done(f)
		if found != nil {
			return &rowError{row, found}
		}
	}
	return err
}
