// What Go passes to the kernel that makes pages plain; expand.go and launch_expand.go declare the same
// structs. Plain C.
#ifndef MPGA_KERNELS_PARAMS_EXPAND_H
#define MPGA_KERNELS_PARAMS_EXPAND_H

#include "params_pages.h"

enum { kExpandThreads = 128 };

// PageEncoding of expand.go.
enum { kDeltaBinaryPacked, kDeltaLengthByteArray, kByteStreamSplit };

// Expansion of expand.go.
typedef struct {
  u64 from, to;
  u32 bytes, room, most, width, levels, encoding, unused[2];
} Expansion;

typedef struct {
  u8* memory;  // and kPagesPad bytes more
  u64 memory_bytes;
  const Expansion* pages;
} ExpandLaunch;

#endif
