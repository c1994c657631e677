// What Go passes to the kernels of KernelTwoPhase; launch_two_phase.go declares the same struct. Plain C.
#ifndef MPGA_KERNELS_PARAMS_TWO_PHASE_H
#define MPGA_KERNELS_PARAMS_TWO_PHASE_H

#include "params.h"

enum { kLookThreads = 512 };  // of a block

typedef struct {
  Launch launch;
  u32* rest;      // numbers of the rows that the first phase left
  u64* num_rest;
} TwoPhaseLaunch;

#endif
