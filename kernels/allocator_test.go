package kernels_test

import (
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// An arrow array that is built and freed leaves no pinned memory behind; beyond the limit it comes
// from the heap, and holds the same.
func TestPinnedAllocator(t *testing.T) {
	for _, limit := range []int64{1 << 20, 10_000} {
		device, err := hostdevice.Open(hostdevice.Options{PinnedLimit: limit})
		if err != nil {
			t.Fatal(err)
		}
		pinned := kernels.NewPinnedAllocator(device)
		checked := memory.NewCheckedAllocator(pinned)
		b := array.NewInt64Builder(checked)
		for i := range 10_000 {
			b.Append(int64(i))
		}
		a := b.NewInt64Array()
		b.Release()
		for i := range 10_000 {
			if a.Value(i) != int64(i) {
				t.Fatalf("value %d: %d", i, a.Value(i))
			}
		}
		a.Release()
		checked.AssertSize(t, 0)
		if fell := pinned.HeapBytes() > 0; fell != (limit == 10_000) {
			t.Errorf("limit %d: %d B from the heap", limit, pinned.HeapBytes())
		}
		if err := device.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPinnedAllocatorSizes(t *testing.T) {
	device, err := hostdevice.Open(hostdevice.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := kernels.NewPinnedAllocator(device)
	for _, n := range []int{0, 1, kernels.PinnedBytesMin - 1, kernels.PinnedBytesMin, 100_000} {
		b := a.Allocate(n)
		if len(b) != n || n > 0 && uintptr(unsafe.Pointer(&b[0]))%64 != 0 {
			t.Errorf("%d B: %d B at %p", n, len(b), unsafe.SliceData(b))
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("%d B: byte %d is %d", n, i, b[i])
			}
			b[i] = byte(i)
		}
		b = a.Reallocate(n/2, b)
		b = a.Reallocate(3*n, b)
		for i := range n / 2 {
			if b[i] != byte(i) {
				t.Fatalf("%d B: byte %d is %d after it grew", n, i, b[i])
			}
		}
		a.Free(b)
	}
	if err := device.Close(); err != nil {
		t.Error(err)
	}
}
