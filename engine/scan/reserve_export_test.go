package scan

func (r *reserving) heldBytes() int64 { return r.held }
