package machine

import (
	"os"
	"path/filepath"
	"testing"
)

// Would catch sizes in other units, lists of one processor, and files that say something else.
func TestReadCache(t *testing.T) {
	for _, c := range []struct {
		size, list string
		want       Cache
		ok         bool
	}{
		{"32768K\n", "0-7,64-71\n", Cache{32 << 20, 16}, true},
		{"36M\n", "0\n", Cache{36 << 20, 1}, true},
		{"512\n", "0,2\n", Cache{512, 2}, true},
		{"many\n", "0\n", Cache{}, false},
		{"\n", "0\n", Cache{}, false},
		{"32K\n", "0-\n", Cache{}, false},
		{"32K\n", "\n", Cache{}, false},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"size": c.size, "shared_cpu_list": c.list} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := readCache(dir); (err == nil) != c.ok || c.ok && got != c.want {
			t.Errorf("size %q of %q: %v, %v; want %v", c.size, c.list, got, err, c.want)
		}
	}
	if _, err := readCache(t.TempDir()); err == nil {
		t.Error("a cache without files")
	}
}

// Would catch a share of nothing that divides by zero, and one of more workers than share the
// cache.
func TestCacheShare(t *testing.T) {
	for _, c := range []struct {
		cache   Cache
		workers int
		want    int64
	}{{Cache{}, 2, 0}, {Cache{32, 8}, 2, 16}, {Cache{32, 8}, 100, 4}, {Cache{32, 1}, 2, 32}, {Cache{32, 0}, 1, 32}} {
		if got := c.cache.Share(c.workers); got != c.want {
			t.Errorf("%v among %d: %d, want %d", c.cache, c.workers, got, c.want)
		}
	}
}
