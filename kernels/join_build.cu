// Builds the table of a join in device memory: a slot for each key, by linear probing, with a row of the key; the other
// rows of a key are a list behind it. Where keys are said to be unique there are no lists, and rows of a key that is
// there already are counted, and left out.
//
//   launch  any grid
//   reads   build     writes  table, whose slots are zeros before and more than the rows; next; status.repeated
#include "join.cuh"

template <class Key, bool kUnique>
__device__ __forceinline__ void join_build(const JoinLaunch& p) {
  const u32 key_words = p.key_bytes / 8;
  const u64 step = u64(gridDim.x) * blockDim.x;
  u64 repeated = 0;
  for (u64 row = u64(blockIdx.x) * blockDim.x + threadIdx.x; row < p.build.count; row += step) {
    if (!has_key(p.build, row)) continue;
    const Key key = Key::load(p.build.keys, row, key_words);
    const u64 hash = key.hash(0);
    const u32 tag = tag_of(key, hash);
    const u64 own = (row + 1) << 32 | tag;
    u32 after = 0;
    for (u64 at = slot_of(hash, p.slots);; at = at + 1 == p.slots ? 0 : at + 1) {
      u64 seen = *static_cast<volatile u64*>(p.table + at);
      if (seen == 0) seen = atomicCAS(p.table + at, 0ull, own);
      if (seen == 0) break;
      // The key of a slot stays, whichever of its rows is seen.
      if (u32(seen) != tag || !is_key(p.build.keys, (seen >> 32) - 1, key)) continue;
      if (kUnique) repeated++; else after = u32(atomicExch(p.table + at, own) >> 32);
      break;
    }
    if (!kUnique) p.next[row] = after;
  }
  if (repeated != 0) atomicAdd(&p.status->repeated, repeated);
}

#define MPGA_KERNEL(name, Key, kUnique)                                                                                \
  extern "C" __global__ void __launch_bounds__(kJoinThreads) join_build_##name(const __grid_constant__ JoinLaunch p) { \
    join_build<Key, kUnique>(p);                                                                                       \
  }
MPGA_KERNEL(k4_unique, Key4, true)
MPGA_KERNEL(k8_unique, Key8, true)
MPGA_KERNEL(kn_unique, KeyN, true)
MPGA_KERNEL(k4_repeated, Key4, false)
MPGA_KERNEL(k8_repeated, Key8, false)
MPGA_KERNEL(kn_repeated, KeyN, false)
