// Package spawn starts every goroutine of the module, so that a panic of one is an error of the
// work that the goroutine does, and neither ends the process nor looks like success.
//
//		Go, Group.Go --> function --returns, panics, calls runtime.Goexit--> error --> ended, Group.Wait
//
//	  - S1 (recovered): a panic ends at the start of its goroutine, or at a call of Call or Catch
//	    nearer to it. Deferred calls run, so files, memory and threads are given back.
//	  - S2 (told last): the error is known before anybody hears that the goroutine is done. A
//	    deferred call runs while a panic unwinds, before there is an error: whoever waits for a
//	    goroutine hears of its end by the ended function of Go, or by Group.Wait, and never by what
//	    the function itself closes or counts down.
//	  - S3 (no disguise): a panic becomes a *PanicError, which is ErrInternal: a bug of this
//	    program. Only who decodes what others have written, and may be corrupt, asks for Catch and
//	    names the panic otherwise.
//	  - S4 (Fail): a function that returns no error, such as an allocator's, panics by Fail with an
//	    error that is no bug, such as a system without memory. All of the above return this error as
//	    it is.
//
// The boundary: panics are recovered where goroutines start, and on the caller's own goroutine by
// the entry points that run code of a query (the methods of engine.Engine, plan.Prepare and the
// methods of its queries and results, the readers of engine/order, the writers of engine/sink) and
// by the command around all of them. A panic of a goroutine that a library of others starts, and a
// fatal error of the Go runtime (a map that is written by two goroutines, memory that the system
// refuses to the collector), still end the process.
//
// Step is where tests have goroutines panic.
package spawn
