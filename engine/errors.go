package engine

import (
	"errors"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/internal/finalize"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/budget"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
)

var (
	// ErrQuery marks a query that does not suit its source: an unknown column, a type that a
	// function does not take.
	ErrQuery = query.ErrQuery

	// ErrValue marks a value for which an expression has no result, whether the statement has it or the data: a day
	// that there is not, a text that is no number, a division by 0.
	ErrValue = query.ErrValue

	// ErrOverflow marks a sum that passes its type; Query.Overflow says what to do instead.
	ErrOverflow = finalize.ErrOverflow

	// ErrCorrupt marks input whose parts contradict each other, or that ends too early.
	ErrCorrupt = scan.ErrCorrupt

	// ErrInternal marks an error that is a bug of the engine, or of a source, a progress function
	// or a writer that it was given: a panic, which was recovered. The engine goes on with other
	// queries. errors.As finds a *PanicError. A panic of the reader of a split is ErrCorrupt.
	ErrInternal = spawn.ErrInternal

	// ErrMemoryLimit marks a query that cannot run within Options.MemoryLimit.
	ErrMemoryLimit = budget.ErrMemoryLimit

	// ErrTempLimit marks a query that needs more of Options.TempDir than Options.TempLimit, or than is free.
	ErrTempLimit = store.ErrTempLimit

	// ErrRecursion marks a statement of WITH RECURSIVE that has rows after Options.MaxRecursion iterations.
	ErrRecursion = errors.New("the recursion does not end")

	// ErrPairs marks a statement whose join compares more pairs of rows than Options.MaxPairs.
	ErrPairs = errors.New("the join has no key")

	// ErrNoMemory marks memory that the system refuses, whatever Options.MemoryLimit says.
	ErrNoMemory = mem.ErrNoMemory

	// ErrAlgorithm marks a query that Options.Algorithm has no way to do.
	ErrAlgorithm = device.ErrAlgorithm

	// ErrClosed is returned by the methods of an engine that was closed.
	ErrClosed = errors.New("the engine is closed")
)

// PanicError is an ErrInternal, with the query, the value of the panic and the stack of the
// goroutine.
type PanicError = spawn.PanicError
