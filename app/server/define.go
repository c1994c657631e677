package server

import (
	"errors"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/app/copyto"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
)

// rows is what a run returns: the result of its statement, or the answer of a CREATE or a COPY.
type rows interface {
	array.RecordReader
	Stats() engine.Stats
}

// count does what a CREATE or a COPY says, and returns its answer, nil of a view. run runs the statement in it.
func (r *Run) count(run func() (*plan.Result, error)) (*copyto.Result, error) {
	st := r.Statement
	if st.copies == nil {
		return r.define(run)
	}
	result, err := run()
	if err != nil {
		return nil, err
	}
	return copyto.Write(r.ctx, r.server.opt.Engine, st.copies.Copy, result, st.copies.files)
}

// define makes what a CREATE says.
func (r *Run) define(run func() (*plan.Result, error)) (*copyto.Result, error) {
	st := r.Statement
	session := st.session
	var made int64
	var stats engine.Stats
	switch there, err := session.tables.Check(st.create); {
	case err != nil:
		return nil, err
	case st.create.View:
		return nil, errors.Join(session.tables.Define(st.create, nil, st.made), session.renamed())
	case !there:
		result, err := run()
		if err != nil {
			return nil, err
		}
		defer result.Release()
		table, rows, err := r.server.spilled.Keep(r.ctx, result)
		if err != nil {
			return nil, err
		}
		made, stats = rows, result.Stats()
		if err := errors.Join(session.tables.Define(st.create, table, nil), session.renamed()); err != nil {
			return nil, err
		}
	}
	return copyto.NewResult(made, stats)
}
