package cpurun

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// Machine is a process that holds memory and runs kernels on it. One call at a time is obeyed,
// from any goroutine. After a kernel has failed, every call returns what the process said of it.
type Machine struct {
	mu      sync.Mutex
	process *exec.Cmd
	in      *bufio.Writer
	pipe    io.Closer
	out     *bufio.Reader
	said    bytes.Buffer // by the process, of what went wrong
	lost    error
}

// Address is memory of the machine.
type Address uint64

type command uint64

// In the order of executor.cc's.
const (
	commandAlloc command = iota
	commandFree
	commandWrite
	commandRead
	commandFill
	commandLaunch
	commandSeed
)

// Start runs a program of Build. The seed makes the schedule of threads; at most the given number
// of blocks run side by side.
func Start(program string, seed uint64, residentBlocks int) (*Machine, error) {
	m := &Machine{process: exec.Command(program)}
	m.process.Env = append(os.Environ(),
		"ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1",
		"UBSAN_OPTIONS=print_stacktrace=1")
	m.process.Stderr = &m.said
	in, err := m.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := m.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	m.in, m.pipe, m.out = bufio.NewWriterSize(in, 1<<16), in, bufio.NewReaderSize(out, 1<<16)
	if err := m.process.Start(); err != nil {
		return nil, err
	}
	return m, m.Seed(seed, residentBlocks)
}

// Seed makes the schedule of the launches that follow.
func (m *Machine) Seed(seed uint64, residentBlocks int) error {
	return m.do(commandSeed, []uint64{seed, uint64(residentBlocks)}, nil, nil)
}

// Alloc returns n bytes, aligned to 256 bytes, full of garbage.
func (m *Machine) Alloc(n int64) (Address, error) {
	var at [8]byte
	err := m.do(commandAlloc, []uint64{uint64(n)}, nil, at[:])
	return Address(binary.LittleEndian.Uint64(at[:])), err
}

// Free gives memory back; a kernel that touches it afterwards is caught.
func (m *Machine) Free(at Address) error {
	return m.do(commandFree, []uint64{uint64(at)}, nil, nil)
}

// Write copies into the machine's memory.
func (m *Machine) Write(at Address, from []byte) error {
	return m.do(commandWrite, []uint64{uint64(at), uint64(len(from))}, from, nil)
}

// Read copies out of the machine's memory.
func (m *Machine) Read(to []byte, at Address) error {
	return m.do(commandRead, []uint64{uint64(at), uint64(len(to))}, nil, to)
}

// Fill sets n bytes to a value.
func (m *Machine) Fill(at Address, n int64, value byte) error {
	return m.do(commandFill, []uint64{uint64(at), uint64(n), uint64(value)}, nil, nil)
}

// Launch runs a kernel to its end. Each argument is the bytes of a parameter.
func (m *Machine) Launch(kernel string, grid, block, sharedBytes int, arguments ...[]byte) error {
	var text bytes.Buffer
	text.WriteString(kernel)
	for _, w := range []int{grid, block, sharedBytes, len(arguments)} {
		writeWord(&text, uint64(w))
	}
	for _, a := range arguments {
		writeWord(&text, uint64(len(a)))
		text.Write(a)
	}
	if err := m.do(commandLaunch, []uint64{uint64(len(kernel))}, text.Bytes(), nil); err != nil {
		return fmt.Errorf("kernel %s, grid %d, block %d, %d B shared: %w", kernel, grid, block, sharedBytes, err)
	}
	return nil
}

// Close ends the process.
func (m *Machine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost != nil {
		return nil // it has ended
	}
	if err := m.pipe.Close(); err != nil {
		return err
	}
	return m.process.Wait()
}

// do sends one command and takes its answer: the bytes to be read, or else one word.
func (m *Machine) do(c command, words []uint64, payload, answer []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost != nil {
		return m.lost
	}
	if c != commandRead && answer == nil {
		answer = make([]byte, 8)
	}
	if err := m.exchange(c, words, payload, answer); err != nil {
		_ = m.pipe.Close() // so that the process, if it lives, ends
		_ = m.process.Wait()
		m.lost = fmt.Errorf("the executor ended: %s", strings.TrimSpace(m.said.String()))
		return m.lost
	}
	return nil
}

func (m *Machine) exchange(c command, words []uint64, payload, answer []byte) error {
	writeWord(m.in, uint64(c))
	for _, w := range words {
		writeWord(m.in, w)
	}
	_, _ = m.in.Write(payload) // a bufio.Writer keeps its first error for Flush
	if err := m.in.Flush(); err != nil {
		return err
	}
	_, err := io.ReadFull(m.out, answer)
	return err
}

func writeWord(w io.Writer, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	_, _ = w.Write(b[:]) // to a buffer, which fails later or never
}
