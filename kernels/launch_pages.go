package kernels

import "fmt"

// Of params_pages.h.
const (
	pagesThreads = 128
	pageWarps    = pagesThreads / 32
)

// pagesLaunch is PagesLaunch.
type pagesLaunch struct {
	memory      uint64
	memoryBytes uint64
	pages       uint64
	count       uint64
	numSteps    uint64
	steps       uint64
	values      uint64
	rows        uint64
	valid       uint64
	status      uint64
	width       uint64
	numbers     uint64
	form        uint64
}

func (q operators) DecodePages(p *Pages) error {
	if p.Count == 0 {
		return nil
	}
	if !p.Form.suits(p.Width) {
		return fmt.Errorf("values of %d B in the form %d cannot be decoded", p.Width, p.Form)
	}
	o := &operation{queue: q.queue}
	param := &pagesLaunch{
		memory:      o.address(p.Memory, p.MemoryBytes+PagesPad),
		memoryBytes: uint64(p.MemoryBytes),
		pages:       o.address(p.List, p.Count*PageBytes),
		count:       uint64(p.Count),
		numSteps:    uint64(p.Steps),
		steps:       o.address(p.Scratch, p.ScratchBytes()),
		values:      o.address(p.Values, p.Rows*int64(p.Form.Width(p.Width))),
		rows:        uint64(p.Rows),
		valid:       o.address(p.Valid, ceilDiv(p.Rows, 32)*4),
		status:      o.address(p.Status, 4*p.Count),
		width:       uint64(p.Width),
		form:        uint64(p.Form),
	}
	if p.Numbers {
		param.numbers = 1
	}
	if p.Steps > 0 {
		o.fill(param.steps, p.ScratchBytes(), 0xFF) // steps of no page
	}
	launchWith(o, "page_steps", int(ceilDiv(p.Count, pageWarps)), pagesThreads, 0, param)
	if p.Steps > 0 {
		kernel := fmt.Sprintf("page_values_%d_%d", p.Width, p.Form.Width(p.Width))
		if p.Form == FormBig {
			kernel = "page_values_big"
		}
		launchWith(o, kernel, int(ceilDiv(p.Steps, pageWarps)), pagesThreads, 0, param)
	}
	return o.end("decoding of %d pages", p.Count)
}
