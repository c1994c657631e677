package spawn

import "runtime/debug"

// Go starts a goroutine that calls a function, and then ended with the error of the function or of
// its panic. The call of ended is the last thing that the goroutine does. ended must not panic: it
// notes the error, then tells whoever waits. S2.
func Go(f func() error, ended func(err error)) {
	go func() {
		var err error
		returned := false
		defer func() {
			if !returned {
				err = &PanicError{Value: "runtime.Goexit was called", Stack: debug.Stack()}
			}
			ended(err)
		}()
		err = Call(func() error { return steps(f) })
		returned = true
	}()
}

// steps calls a function between two steps.
func steps(f func() error) error {
	Step()
	if err := f(); err != nil {
		return err
	}
	Step()
	return nil
}
