package reserve

func (r *Allocator) HeldBytes() int64 { return r.held }
