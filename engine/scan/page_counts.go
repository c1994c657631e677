package scan

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

// PageCount is pages of one codec.
type PageCount = decode.PageCount

// PageCounts counts pages by codec. The zero value is ready for use, by several goroutines at once.
type PageCounts struct {
	mu      sync.Mutex
	byCodec map[string]PageCount
}

// Add counts pages.
func (p *PageCounts) Add(of PageCount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byCodec == nil {
		p.byCodec = map[string]PageCount{}
	}
	sum := p.byCodec[of.Codec]
	sum.Codec = of.Codec
	sum.Pages += of.Pages
	sum.Bytes += of.Bytes
	sum.Decompressed += of.Decompressed
	p.byCodec[of.Codec] = sum
}

// List returns the counts of each codec, by name.
func (p *PageCounts) List() []PageCount {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.byCodec), func(a, b PageCount) int { return cmp.Compare(a.Codec, b.Codec) })
}
