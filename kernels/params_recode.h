// What Go passes to the kernel that recodes; launch_recode.go declares the same struct. Plain C.
#ifndef MPGA_KERNELS_PARAMS_RECODE_H
#define MPGA_KERNELS_PARAMS_RECODE_H

#include "params.h"

enum { kRecodeThreads = 256 };

typedef struct {
  u32* codes;
  u64 count;
  const u32* table;
  u64 entries;
} RecodeLaunch;

#endif
