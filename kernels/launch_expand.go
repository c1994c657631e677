package kernels

// expandThreads is kExpandThreads of params_expand.h.
const expandThreads = 128

// expandLaunch is ExpandLaunch.
type expandLaunch struct {
	memory      uint64
	memoryBytes uint64
	pages       uint64
}

func (q operators) ExpandPages(e *Expansions) error {
	if e.Count == 0 {
		return nil
	}
	o := &operation{queue: q.queue}
	launchWith(o, "expand_pages", int(e.Count), expandThreads, 0, &expandLaunch{
		memory:      o.address(e.Memory, e.MemoryBytes+PagesPad),
		memoryBytes: uint64(e.MemoryBytes),
		pages:       o.address(e.List, e.Count*ExpansionBytes),
	})
	return o.end("expansion of %d pages", e.Count)
}
