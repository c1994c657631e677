package kernels

import (
	"fmt"

	"github.com/mpga/mpga/internal/rowcode"
)

// Of params_evaluate.h.
const evaluateThreads = 128

// evaluateColumn is EvaluateColumn of params_evaluate.h.
type evaluateColumn struct {
	values uint64
	valid  uint64
	typ    uint64
}

// evaluateLookup is EvaluateLookup.
type evaluateLookup struct {
	keys  uint64
	table uint64
	slots uint64
	marks uint64
}

// evaluateFetched is EvaluateFetched.
type evaluateFetched struct {
	values uint64
	valid  uint64
}

// evaluateLaunch is EvaluateLaunch.
type evaluateLaunch struct {
	rows            uint64
	room            uint64
	head            uint64
	numInstructions uint32
	filters         uint32
	inputs          [InputsMax]evaluateColumn
	outputs         [OutputsMax]evaluateColumn
	lookups         [rowcode.LookupsMax]evaluateLookup
	fetched         [rowcode.FetchedMax]evaluateFetched
	instructions    [rowcode.InstructionsMax]rowcode.Instruction
}

func (q operators) Evaluate(e *Evaluation) error {
	c := e.Code
	if len(e.Inputs) > InputsMax || len(e.Outputs) > OutputsMax || c.Outputs != len(e.Outputs) ||
		len(c.Instructions) > rowcode.InstructionsMax || c.Registers > rowcode.RegistersMax ||
		len(c.Lookups) != len(e.Lookups) || len(c.Fetched) != len(e.Fetched) {
		return fmt.Errorf("%d instructions for %d inputs, %d outputs and %d lookups cannot be run",
			len(c.Instructions), len(e.Inputs), len(e.Outputs), len(e.Lookups))
	}
	o := &operation{queue: q.queue, sms: q.queue.deviceProperties().Multiprocessors}
	param := &evaluateLaunch{
		rows:            uint64(e.Rows),
		room:            uint64(e.Room),
		head:            o.address(e.Head, EvaluationHeadBytes),
		numInstructions: uint32(len(c.Instructions)),
	}
	copy(param.instructions[:], c.Instructions)
	for i := range e.Inputs {
		param.inputs[i] = o.evaluateColumn(&e.Inputs[i], e.Rows)
	}
	o.fill(param.head, EvaluationHeadBytes, 0)
	for i := range e.Outputs {
		param.outputs[i] = o.evaluateColumn(&e.Outputs[i], e.Room)
		if c.Filters && e.Outputs[i].Valid.Buffer != nil {
			o.fill(param.outputs[i].valid, ceilDiv(e.Room, 32)*4, 0)
		}
	}
	for i := range e.Lookups {
		param.lookups[i] = o.evaluateLookup(&e.Lookups[i])
	}
	for i, of := range e.Fetched {
		column := o.evaluateColumn(&of, e.Lookups[c.Fetched[i].Lookup].Rows)
		param.fetched[i] = evaluateFetched{column.values, column.valid}
	}
	if c.Filters {
		param.filters = 1
	}
	blocks := int(max(1, min(ceilDiv(e.Rows, evaluateThreads), int64(o.sms)*16)))
	launchWith(o, "evaluate", blocks, evaluateThreads, max(c.Registers, 1)*evaluateThreads*8, param)
	return o.end("evaluation of %d rows", e.Rows)
}

func (o *operation) evaluateColumn(c *Column, rows int64) evaluateColumn {
	return evaluateColumn{o.address(c.Values, rows*int64(c.Type.Bytes())),
		o.address(c.Valid, ceilDiv(rows, 32)*4), uint64(c.Type)}
}

func (o *operation) evaluateLookup(l *LookupTable) evaluateLookup {
	made := evaluateLookup{
		keys: o.address(l.Keys, 8*l.Rows), table: o.address(l.Table.Memory, 8*l.Table.Slots), slots: uint64(l.Table.Slots),
	}
	if bytes := BitmapBytes(l.Rows); l.Marks.Buffer != nil && bytes > 0 {
		made.marks = o.address(l.Marks, bytes)
		o.fill(made.marks, bytes, 0)
	}
	return made
}
