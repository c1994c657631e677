// What Go passes to the kernels of KernelThreadPrivate; launch_private.go declares the same struct. Plain C.
#ifndef MPGA_KERNELS_PARAMS_PRIVATE_H
#define MPGA_KERNELS_PARAMS_PRIVATE_H

#include "params.h"

enum { kPrivateThreads = 1024 };  // of a block

typedef struct {
  Launch launch;
  u64* tables;  // of all threads of the grid, word by word: word w of thread t is at w * threads + t
  u32 slots;    // of a thread's table
  u32 unused;
} PrivateLaunch;

#endif
