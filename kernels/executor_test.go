package kernels

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/mpga/mpga/kernels/cpurun"
)

// executor is a queue whose kernels run on the CPU, when they are submitted.
type executor struct {
	machine     *cpurun.Machine
	pending     []func() error
	sharedBytes int // of a block's shared memory, at most
	sources     []string
}

// openExecutor starts kernels whose files' names match the patterns, under a seed.
func openExecutor(t testing.TB, seed uint64, patterns ...string) *executor {
	t.Helper()
	var files []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil || len(found) == 0 {
			t.Fatalf("no files %s: %v", p, err)
		}
		files = append(files, found...)
	}
	program, err := cpurun.Build(files...)
	if errors.Is(err, cpurun.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := cpurun.Start(program, seed, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	e := &executor{machine: m, sharedBytes: 227 << 10}
	for _, file := range files {
		e.sources = append(e.sources, strings.TrimSuffix(filepath.Base(file), ".cu"))
	}
	return e
}

// reseed lets the launches that follow run in another order.
func (e *executor) reseed(t testing.TB, seed uint64) {
	t.Helper()
	if err := e.machine.Seed(seed, 4); err != nil {
		t.Fatal(err)
	}
}

func (e *executor) launch(kernel string, grid, block, sharedBytes int, arg unsafe.Pointer, argBytes uintptr) error {
	if !slices.ContainsFunc(e.sources, func(source string) bool { return isOf(kernel, source) }) {
		return fmt.Errorf("%s has no name of a source, by which a device finds it", kernel)
	}
	param := slices.Clone(unsafe.Slice((*byte)(arg), argBytes))
	e.pending = append(e.pending, func() error { return e.machine.Launch(kernel, grid, block, sharedBytes, param) })
	return nil
}

func (e *executor) fill(at uint64, bytes int64, value byte) {
	if bytes > 0 {
		e.pending = append(e.pending, func() error { return e.machine.Fill(cpurun.Address(at), bytes, value) })
	}
}

func (e *executor) copyWithin(to, from uint64, bytes int64) {
	e.pending = append(e.pending, func() error {
		b := make([]byte, bytes)
		if err := e.machine.Read(b, cpurun.Address(from)); err != nil {
			return err
		}
		return e.machine.Write(cpurun.Address(to), b)
	})
}

func (e *executor) submit(format string, operands ...any) error {
	pending := e.pending
	e.pending = nil
	for _, run := range pending {
		if err := run(); err != nil {
			return fmt.Errorf("%s: %w", fmt.Sprintf(format, operands...), err)
		}
	}
	return nil
}

// deviceProperties are of a small device, so that grids have few blocks.
func (e *executor) deviceProperties() Properties {
	return Properties{Name: "executor", ComputeCapability: 90, Multiprocessors: 2, L2Bytes: 1 << 20, SharedBytesMax: e.sharedBytes}
}

func (e *executor) address(at Span, bytes int64) uint64 {
	if at.Buffer == nil {
		return 0
	}
	b := at.Buffer.(*executorBuffer)
	if at.Offset < 0 || bytes < 0 || at.Offset > b.bytes-bytes {
		panic(fmt.Sprintf("span of %d B at %d of a buffer of %d B", bytes, at.Offset, b.bytes))
	}
	return uint64(b.at) + uint64(at.Offset)
}

type executorBuffer struct {
	executor *executor
	at       cpurun.Address
	bytes    int64
}

func (b *executorBuffer) Bytes() int64 { return b.bytes }
func (b *executorBuffer) Free() error  { return b.executor.machine.Free(b.at) }

// alloc returns memory of exactly n bytes, so that a kernel that goes beyond is caught.
func (e *executor) alloc(t testing.TB, n int64) Span {
	t.Helper()
	at, err := e.machine.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	b := &executorBuffer{e, at, n}
	t.Cleanup(func() { _ = b.Free() }) // of a machine that a kernel may have lost
	return Span{Buffer: b}
}

func (e *executor) upload(t testing.TB, contents []byte) Span {
	t.Helper()
	s := e.alloc(t, int64(len(contents)))
	if err := e.machine.Write(s.Buffer.(*executorBuffer).at, contents); err != nil {
		t.Fatal(err)
	}
	return s
}

func (e *executor) download(t testing.TB, from Span, n int64) []byte {
	t.Helper()
	b := make([]byte, n)
	if err := e.machine.Read(b, cpurun.Address(e.address(from, n))); err != nil {
		t.Fatal(err)
	}
	return b
}
