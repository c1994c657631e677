package machine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/dustin/go-humanize"
)

// Cache is a processor's largest cache.
type Cache struct {
	bytes      int64
	processors int // that share it
}

// Share returns the bytes of the cache for each of some workers.
func (c Cache) Share(workers int) int64 { return c.bytes / int64(max(min(c.processors, workers), 1)) }

// LastCache returns the cache of the first processor; nothing where the system does not tell.
// klauspost/cpuid knows the size (32 MiB on an EPYC) and not the processors that share it.
var LastCache = sync.OnceValue(func() (last Cache) {
	for index := range 8 {
		c, err := readCache(fmt.Sprintf("/sys/devices/system/cpu/cpu0/cache/index%d", index))
		if err != nil {
			break
		}
		if c.bytes > last.bytes {
			last = c
		}
	}
	return last
})

// readCache reads what Linux tells of a cache.
func readCache(dir string) (c Cache, err error) {
	size, err := os.ReadFile(dir + "/size")
	if err != nil {
		return Cache{}, err
	}
	list, err := os.ReadFile(dir + "/shared_cpu_list")
	if err != nil {
		return Cache{}, err
	}
	bytes, err := humanize.ParseBytes(cacheUnits.Replace(strings.TrimSpace(string(size))))
	if err != nil {
		return Cache{}, err
	}
	c.bytes = int64(bytes)
	c.processors, err = countProcessors(strings.TrimSpace(string(list)))
	return c, err
}

// cacheUnits are the units of 32768K or 32M.
var cacheUnits = strings.NewReplacer("K", "KiB", "M", "MiB")

// countProcessors counts the processors of a list like 0-3,8-11.
func countProcessors(list string) (n int, err error) {
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		if err != nil {
			return 0, err
		}
		last, err := strconv.Atoi(to)
		if err != nil {
			return 0, err
		}
		n += last - first + 1
	}
	return n, nil
}
