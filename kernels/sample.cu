// Adds keys to a HyperLogLog sketch: partition.Register, with a block's registers in shared memory.
//
//   launch  any grid; any block; shared: one byte a register
//   reads   rows.keys    writes  registers: raised
#include "key.cuh"

constexpr u32 kSketchBits = 14;
constexpr u32 kSketchWords = (1u << kSketchBits) / 4;

// Raises one byte of a word that other threads raise others of.
__device__ __forceinline__ void raise(u32* word, u32 shift, u32 rank) {
  u32 now = *static_cast<volatile u32*>(word);
#pragma unroll 1
  while ((now >> shift & 255) < rank) {
    const u32 seen = atomicCAS(word, now, (now & ~(255u << shift)) | rank << shift);
    if (seen == now) return;
    now = seen;
  }
}

template <class Key>
__device__ __forceinline__ void sample(const Launch& p) {
  extern __shared__ u32 registers[];
#pragma unroll 1
  for (u32 i = threadIdx.x; i < kSketchWords; i += blockDim.x) registers[i] = 0;
  __syncthreads();  // registers are 0
  const u64 threads = u64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (u64 row = u64(blockIdx.x) * blockDim.x + threadIdx.x; row < p.rows.count; row += threads) {
    const u64 hash = Key::load(p.rows.keys, row, p.shape.key_bytes / 8).hash(0);
    const u32 index = u32(hash) & ((1u << kSketchBits) - 1);
    const u32 rank = u32(__ffsll(i64(hash >> kSketchBits | 1ull << (64 - kSketchBits))));
    raise(registers + index / 4, index % 4 * 8, rank);
  }
  __syncthreads();  // registers have all rows
#pragma unroll 1
  for (u32 i = threadIdx.x; i < kSketchWords; i += blockDim.x) {
#pragma unroll 1
    for (u32 shift = 0; shift < 32; shift += 8) {
      const u32 rank = registers[i] >> shift & 255;
      if (rank != 0) raise(p.registers + i, shift, rank);
    }
  }
}

extern "C" __global__ void __launch_bounds__(1024) sample_k4(const __grid_constant__ Launch p) { sample<Key4>(p); }
extern "C" __global__ void __launch_bounds__(1024) sample_k8(const __grid_constant__ Launch p) { sample<Key8>(p); }
extern "C" __global__ void __launch_bounds__(1024) sample_kn(const __grid_constant__ Launch p) { sample<KeyN>(p); }
