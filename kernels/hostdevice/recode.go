package hostdevice

import "github.com/mpga/mpga/kernels"

func (s *stream) Recode(c *kernels.Codes) error {
	o := s.operation("Recode", &kernels.Shape{})
	codes := view[uint32](o.view(c.Codes, 4*c.Count, true))
	table := view[uint32](o.view(c.Table, 4*c.Entries, false))
	return o.enqueue(func() {
		for i, code := range codes {
			codes[i] = 0
			if int(code) < len(table) {
				codes[i] = table[code]
			}
		}
	})
}
