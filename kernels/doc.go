// Package kernels is the door to the GPU: devices, their memory, streams of work, and the operators
// of group-bys and joins that run on them.
//
// Device is the one interface. The CUDA driver stands behind Open, loaded at run time; package
// hostdevice is the same contract in plain Go.
//
//   - K1 (ownership): memory that a method of a stream takes belongs to the stream until an event
//     recorded after the call is done.
//   - K2 (keys): every bit pattern is a legal key; no value marks an empty slot.
//   - K3 (states): device states are the CPU's words, so either side merges the other's.
//   - K4 (ways out): a full table, a wrong estimate, too little memory are results or typed errors,
//     never a wrong answer.
//
// The package knows rows, tables and buffers, and neither files, plans nor queries.
package kernels
