package kernels

// Of params_recode.h.
const recodeThreads = 256

// recodeLaunch is RecodeLaunch.
type recodeLaunch struct {
	codes   uint64
	count   uint64
	table   uint64
	entries uint64
}

func (q operators) Recode(c *Codes) error {
	if c.Count == 0 {
		return nil
	}
	o := &operation{queue: q.queue, sms: q.queue.deviceProperties().Multiprocessors}
	param := &recodeLaunch{
		codes:   o.address(c.Codes, 4*c.Count),
		count:   uint64(c.Count),
		table:   o.address(c.Table, 4*c.Entries),
		entries: uint64(c.Entries),
	}
	blocks := int(max(1, min(ceilDiv(c.Count, recodeThreads), int64(o.sms)*8)))
	launchWith(o, "recode", blocks, recodeThreads, 0, param)
	return o.end("recoding of %d codes", c.Count)
}
