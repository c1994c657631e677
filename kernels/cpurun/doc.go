// Package cpurun runs the CUDA kernels on the CPU, for tests: it compiles their files as C++ with
// g++, and starts the program as a process that stands for a device.
//
// What a kernel computes is checked that way, on a machine without a GPU: indexes (every access to
// memory is watched by a sanitizer), barriers and races (threads run in an order that a seed
// shuffles), warp operations (all lanes of the mask must come), memory that nobody wrote (it holds
// garbage). What only a GPU shows stays unchecked: its memory model, since every access is seen by
// all threads at once, inline PTX, and time.
package cpurun
