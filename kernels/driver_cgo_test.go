//go:build cgo && linux

package kernels

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// buildFake compiles a driver without a device, and returns its path.
func buildFake(t *testing.T, flags ...string) string {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to build a driver without a device")
	}
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	args := append([]string{"-shared", "-fPIC", "-Wall", "-Wno-unused-function", "-o", path, "testdata/fakecuda.c"}, flags...)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// useImage lets kernels come from an image that the driver without a device takes.
func useImage(t *testing.T) {
	t.Helper()
	image, before := []byte("FAKE image"), kernelImage
	kernelImage = func(string, int) ([]byte, error) { return image, nil }
	t.Cleanup(func() { kernelImage = before })
}

func openFake(t *testing.T, o Options, flags ...string) *cudaDevice {
	t.Helper()
	d, err := loadDriver(buildFake(t, flags...))
	if err != nil {
		t.Fatal(err)
	}
	dev, err := d.open(o)
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

// What is wrong with a machine is told, not crashed on.
func TestDriverStates(t *testing.T) {
	fake, old := buildFake(t), buildFake(t, "-DOLD")
	for _, tc := range []struct {
		name string
		path string
		env  []string
		want string
	}{
		{"no library", "/nowhere/libcuda.so.1", nil, "no NVIDIA driver: /nowhere/libcuda.so.1: cannot open"},
		{"no driver library", "/etc/passwd", nil, "no NVIDIA driver: /etc/passwd"},
		{"function missing", old, nil, "it has no cuEventCreate"},
		{"too old", fake, []string{"FAKE_CUDA_VERSION=11080"}, "of CUDA 11.8; it must be of 12.0 or newer (driver 525)"},
		{"too old to start", fake, []string{"FAKE_CUDA_VERSION=11080", "FAKE_CUDA_FAIL=cuInit:1:803"}, "of CUDA 11.8"},
		{"no start", fake, []string{"FAKE_CUDA_FAIL=cuInit:1:803"}, "cuInit: "},
		{"no device", fake, []string{"FAKE_CUDA_FAIL=cuInit:1:100"}, "code 100"},
		{"no devices", fake, []string{"FAKE_CUDA_DEVICES=0"}, "sees none"},
		{"prohibited", fake, []string{"FAKE_CUDA_MODE=2"}, "no device 0: compute mode is prohibited"},
		{"exclusive and in use", fake, []string{"FAKE_CUDA_MODE=3", "FAKE_CUDA_FAIL=cuDevicePrimaryCtxRetain:1:46"}, "cuDevicePrimaryCtxRetain (device 0): CUDA_ERROR_DEVICE_UNAVAILABLE, code 46"},
		{"old device", fake, []string{"FAKE_CUDA_CAPABILITY=61"}, "compute capability 6.1 is below 7.5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, e := range tc.env {
				name, value, _ := strings.Cut(e, "=")
				t.Setenv(name, value)
			}
			d, err := loadDriver(tc.path)
			if err == nil {
				_, err = d.open(Options{})
			}
			if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestDriverInfo(t *testing.T) {
	t.Setenv("FAKE_CUDA_DEVICES", "2")
	d, err := loadDriver(buildFake(t))
	if err != nil {
		t.Fatal(err)
	}
	infos, err := d.list()
	if err != nil {
		t.Fatal(err)
	}
	want := Info{
		Ordinal: 1,
		Properties: Properties{
			Name: "Fake 1", UUID: "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f", ComputeCapability: 90, Multiprocessors: 132,
			MemoryBytes: 1 << 30, L2Bytes: 50 << 20, SharedBytesMax: 227 << 10, DriverVersion: 12040, CopyEngines: 3,
		},
		PCIBus: "0000:0a:01.0",
	}
	if len(infos) != 2 || infos[1] != want {
		t.Errorf("got %+v, want %+v as the second", infos, want)
	}
	if _, err := d.open(Options{Ordinal: 2}); !errors.Is(err, ErrNoDevice) || err.Error() != "no device 2: the driver sees 2" {
		t.Errorf("device 2: %v", err)
	}
	if _, err := d.open(Options{Ordinal: -1, MemoryLimit: -1}); err == nil || !strings.Contains(err.Error(), "MemoryLimit (-1) must not be negative") {
		t.Errorf("negative options: %v", err)
	}
}

// The parameters of a kernel, as a launcher declares them.
type storeArguments struct {
	to    uint64
	value uint32
}

// One pass over the whole binding: what is copied in, filled, computed and copied out arrives.
func useDevice(d *cudaDevice) (err error) {
	check := func(e error) { err = errors.Join(err, e) }
	buffer, e := d.Alloc(1 << 20)
	if e != nil {
		return e
	}
	defer func() { check(buffer.Free()) }()
	pinned, e := d.AllocPinned(3 << 20)
	if e != nil {
		return e
	}
	defer func() { check(pinned.Free()) }()
	s, e := d.NewStream()
	if e != nil {
		return e
	}
	defer func() { check(s.Close()) }()

	host := pinned.Bytes()
	for i := range host {
		host[i] = byte(i * 7 / 3)
	}
	half := len(host) / 2
	first, e := s.Record()
	if e != nil {
		return e
	}
	defer func() { check(first.Close()) }()
	check(s.Copy(Copy{Device: Span{buffer, 4096}, Host: host[:8192]}))
	check(s.Fill(Span{buffer, 8192}, 100, 0xAB))
	check(s.CopyBatch([]Copy{
		{Device: Span{buffer, 4096}, Host: host[half : half+8192], Out: true},
		{Device: Span{buffer, 0}, Host: host[100:1000]},
		{Device: Span{buffer, 20000}, Host: []byte("from the heap")},
		{Device: Span{buffer, 0}, Host: nil},
	}))
	heap := make([]byte, 13)
	check(s.Copy(Copy{Device: Span{buffer, 20000}, Host: heap, Out: true}))
	cuda := s.(*cudaStream)
	shared := [...]int{40 << 10, 48<<10 - 100, 100 << 10}
	for i := range shared {
		arg := storeArguments{address(Span{buffer, int64(30000 + 16*i)}, 16), uint32(i)}
		check(cuda.launch("store", 10+i, 256, shared[i], unsafe.Pointer(&arg), unsafe.Sizeof(arg)))
		if i == len(shared)-1 {
			cuda.copyWithin(address(Span{buffer, 40000}, 48), address(Span{buffer, 30000}, 48), 48)
		}
		check(cuda.submit("a store"))
	}
	stored := make([]byte, 48)
	check(s.Copy(Copy{Device: Span{buffer, 40000}, Host: stored, Out: true}))
	last, e := s.Record()
	if e != nil {
		return errors.Join(err, e)
	}
	defer func() { check(last.Close()) }()
	check(s.WaitFor(first))
	check(last.Wait())
	if err != nil {
		return err
	}
	if nanos, e := last.Nanos(first); nanos != 500_000 || e != nil {
		check(fmt.Errorf("%d ns, %w", nanos, e))
	}
	want := slices.Concat(host[:4096], bytes.Repeat([]byte{0xAB}, 100), host[4196:8192])
	if !bytes.Equal(host[half:half+8192], want) {
		check(errors.New("what came back is not what went there"))
	}
	if string(heap) != "from the heap" {
		check(fmt.Errorf("heap: %q", heap))
	}
	for i := range shared {
		w := [4]uint32{uint32(10 + i), 256, uint32(shared[i]), uint32(i)}
		var got [4]uint32
		_, _ = binary.Decode(stored[16*i:], binary.LittleEndian, &got)
		if got != w {
			check(fmt.Errorf("launch %d: %v, want %v", i, got, w))
		}
	}
	return err
}

func TestDriverWork(t *testing.T) {
	useImage(t)
	d := openFake(t, Options{})
	if err := useDevice(d); err != nil {
		t.Error(err)
	}
	if free, total, err := d.Memory(); free != 768<<20 || total != 768<<20 || err != nil {
		t.Errorf("memory: %d free of %d B, %v", free, total, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// Would catch copies from and to memory that another device has pinned, each of which waits as one
// of ordinary memory does.
func TestDriverPinnedByOther(t *testing.T) {
	t.Setenv("FAKE_CUDA_DEVICES", "2")
	driver, err := loadDriver(buildFake(t))
	if err != nil {
		t.Fatal(err)
	}
	var devices [2]*cudaDevice
	for i := range devices {
		if devices[i], err = driver.open(Options{Ordinal: i}); err != nil {
			t.Fatal(err)
		}
	}
	pinned, err := devices[1].AllocPinned(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	buffer, err := devices[0].Alloc(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	s, err := devices[0].NewStream()
	if err != nil {
		t.Fatal(err)
	}
	const half = 1 << 19
	first, second := Copy{Device: Span{buffer, 0}, Host: pinned.Bytes()[:half]}, Copy{Device: Span{buffer, half}, Host: pinned.Bytes()[half:]}
	t.Setenv("FAKE_CUDA_FAIL", "cuStreamSynchronize:1:719")
	if err := s.Copy(first); err != nil {
		t.Error(err)
	}
	if err := s.CopyBatch([]Copy{first, second}); err != nil {
		t.Error(err)
	}
	if err := s.Copy(Copy{Device: Span{buffer, 0}, Host: make([]byte, half)}); !errors.Is(err, ErrDeviceLost) {
		t.Errorf("a copy of ordinary memory does not wait: %v", err)
	}
	for _, err := range []error{s.Close(), buffer.Free(), pinned.Free(), devices[1].Close(), devices[0].Close()} {
		if err != nil {
			t.Error(err)
		}
	}
}

// Every call of the driver fails once: its error comes back with its name and code, and nothing
// panics.
func TestDriverFailures(t *testing.T) {
	useImage(t)
	path := buildFake(t)
	for _, call := range []string{
		"cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid_v2", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute", "cuDeviceGetPCIBusId",
		"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuCtxSetCurrent", "cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemFree_v2",
		"cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2",
		"cuMemsetD8Async", "cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction", "cuFuncSetAttribute",
		"cuLaunchKernel", "cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize", "cuStreamWaitEvent", "cuEventCreate",
		"cuEventDestroy_v2", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime",
	} {
		t.Run(call, func(t *testing.T) {
			t.Setenv("FAKE_CUDA_FAIL", call+":1:700")
			d, err := loadDriver(path)
			if err != nil {
				t.Fatal(err)
			}
			dev, err := d.open(Options{})
			if err == nil {
				err = errors.Join(useDevice(dev), dev.Close())
			}
			var code *driverError
			if !errors.As(err, &code) || code.code != 700 || !strings.HasPrefix(call, code.call) {
				t.Errorf("got %v", err)
			}
			if !errors.Is(err, ErrDeviceLost) {
				t.Errorf("%v is not ErrDeviceLost", err)
			}
		})
	}
}

// Memory that is given back is taken again, never beyond the limit, and goes where the driver has no other.
func TestDeviceMemoryKept(t *testing.T) {
	d := openFake(t, Options{MemoryLimit: 64 << 20})
	alloc := func(n int64) *cudaBuffer {
		t.Helper()
		b, err := d.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		return b.(*cudaBuffer)
	}
	free := func(b *cudaBuffer) {
		t.Helper()
		if err := b.Free(); err != nil {
			t.Fatal(err)
		}
	}
	a := alloc(4 << 20)
	at := a.at
	free(a)
	if n := d.kept.size(); n != 4<<20 {
		t.Errorf("%d B are kept", n)
	}
	if a = alloc(4<<20 - 1000); a.at == at {
		t.Error("memory is wasted where a user has set the limit")
	}
	free(a)
	d.kept.wasteLimit = 1000 // as where the limit is what is free, less a reserve
	a = alloc(4<<20 - 2000)
	if a.at == at || a.Bytes() != 4<<20-2000 || d.used.Load() != 4<<20-2000 || d.kept.waste() != 1000 {
		t.Errorf("%d B at %#x, %d B in use, %d wasted", a.Bytes(), a.at, d.used.Load(), d.kept.waste())
	}
	free(a)
	if d.kept.waste() != 0 || d.used.Load() != 0 {
		t.Errorf("%d B are wasted, %d in use", d.kept.waste(), d.used.Load())
	}
	large := alloc(62 << 20) // beside what is kept it would pass the limit
	if d.kept.size() != 0 {
		t.Errorf("%d B are kept beside %d", d.kept.size(), large.Bytes())
	}
	free(large)
	free(alloc(8 << 20))
	if d.kept.size() != 8<<20 {
		t.Errorf("%d B are kept", d.kept.size())
	}
	t.Setenv("FAKE_CUDA_MEMORY", "5000")
	if _, err := d.Alloc(2 << 20); !errors.Is(err, ErrOutOfMemory) {
		t.Error(err)
	}
	if d.kept.size() != 0 || d.used.Load() != 0 {
		t.Errorf("%d B are kept, and %d in use, where the driver has none", d.kept.size(), d.used.Load())
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestDeviceMemoryLimit(t *testing.T) {
	d := openFake(t, Options{MemoryLimit: 10000})
	a, err := d.Alloc(6000)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Alloc(4001)
	if !errors.Is(err, ErrOutOfMemory) || err.Error() != "4001 B of device 0, 6000 B of 10000 B in use: out of device memory" {
		t.Error(err)
	}
	if free, total, err := d.Memory(); free != 4000 || total != 10000 || err != nil {
		t.Errorf("memory: %d free of %d B, %v", free, total, err)
	}
	if err := a.Free(); err != nil {
		t.Error(err)
	}
	empty, err := d.Alloc(0)
	if err != nil || empty.Free() != nil {
		t.Errorf("no bytes: %v", err)
	}
	t.Setenv("FAKE_CUDA_MEMORY", "5000")
	_, err = d.Alloc(6000)
	if !errors.Is(err, ErrOutOfMemory) || err.Error() != "cuMemAlloc_v2 (6000 B of device 0): CUDA_ERROR_OUT_OF_MEMORY, code 2: out of memory" {
		t.Error(err)
	}
	if d.used.Load() != 0 {
		t.Errorf("%d B in use after a failure", d.used.Load())
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
