// What Go passes to the kernels of packed tables; launch_packed.go declares the same struct. Plain C.
#ifndef MPGA_KERNELS_PARAMS_PACKED_H
#define MPGA_KERNELS_PARAMS_PACKED_H

#include "params.h"

enum { kBucketSlots = 4, kPackedSteps = 31 };

// Some of the sum of a group, which its slot had no room for.
typedef struct {
  u64 key;
  i64 sum;
} Carry;

// A table of packed slots in device memory: a PackedHeader, then the carries, then the slots. See packed.cuh.
typedef struct {
  u64 groups, carries;
  u64 unused[14];
} PackedHeader;

typedef struct {
  Launch launch;
  u64 reciprocal;   // ceil(2^64 / buckets)
  u64 max_carries;
  u32 buckets;
  u32 shift;        // of the sum in a slot
} PackedLaunch;

#endif
