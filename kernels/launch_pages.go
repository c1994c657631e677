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

// pageColumnsMax is how many columns a launch takes.
const pageColumnsMax = 32

// columnsLaunch is ColumnsLaunch.
type columnsLaunch struct {
	columns    uint32
	_          uint32
	firstBlock [pageColumnsMax]uint32
	column     [pageColumnsMax]pagesLaunch
}

// add adds a column, for warps of its own, and returns how many blocks there are then.
func (l *columnsLaunch) add(column *pagesLaunch, blocks int, warps int64) int {
	l.firstBlock[l.columns], l.column[l.columns] = uint32(blocks), *column
	l.columns++
	return blocks + int(ceilDiv(warps, pageWarps))
}

// pageKernels are the kernels that decode values, by the bytes of a value in pages and in the column.
var pageKernels = [...]string{"page_values_4_4", "page_values_4_8", "page_values_8_4",
	"page_values_8_8", "page_values_big"}

// kernel returns the place in pageKernels of the kernel that decodes the column.
func (p *Pages) kernel() int {
	if p.Form == FormBig {
		return len(pageKernels) - 1
	}
	return p.Width/8*2 + p.Form.Width(p.Width)/8
}

func (q operators) DecodePages(columns []*Pages) error {
	if len(columns) > pageColumnsMax {
		return fmt.Errorf("%d columns cannot be decoded at once", len(columns))
	}
	o := &operation{queue: q.queue}
	steps, stepBlocks := &columnsLaunch{}, 0
	var values [len(pageKernels)]columnsLaunch
	var blocks [len(pageKernels)]int
	var filled Span // the scratch that begins the columns
	var filledBytes, pages int64
	for _, p := range columns {
		if p.Count == 0 {
			continue
		}
		if !p.Form.suits(p.Width) {
			return fmt.Errorf("values of %d B in the form %d cannot be decoded", p.Width, p.Form)
		}
		param := o.pages(p)
		pages += p.Count
		stepBlocks = steps.add(param, stepBlocks, p.Count)
		if p.Steps == 0 {
			continue
		}
		k := p.kernel()
		blocks[k] = values[k].add(param, blocks[k], p.Steps)
		if filledBytes > 0 && p.Scratch != filled.At(filledBytes) {
			o.fill(o.address(filled, filledBytes), filledBytes, 0xFF)
			filledBytes = 0
		}
		if filledBytes == 0 {
			filled = p.Scratch
		}
		filledBytes += p.ScratchBytes()
	}
	if pages == 0 {
		return nil
	}
	if filledBytes > 0 {
		o.fill(o.address(filled, filledBytes), filledBytes, 0xFF) // steps of no page
	}
	launchWith(o, "page_steps", stepBlocks, pagesThreads, 0, steps)
	for k, kernel := range pageKernels {
		if blocks[k] > 0 {
			launchWith(o, kernel, blocks[k], pagesThreads, 0, &values[k])
		}
	}
	return o.end("decoding of %d pages", pages)
}

func (o *operation) pages(p *Pages) *pagesLaunch {
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
	return param
}
