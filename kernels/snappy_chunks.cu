// Finds the chunks of blocks of the snappy format: where the elements of each kChunkSize bytes begin.
// Where an element begins depends on all before it. So the block's threads find, for each byte of a
// stretch, where elements that begin there would leave a window of 32 bytes, and of these, where they would
// leave a window of 256; one thread then goes from window to window.
//
//   launch  a block of kChunksThreads for each block
//   reads   packed, blocks    writes  chunks, status
#include "jumps.cuh"
#include "params_decompress.h"
#include "snappy.cuh"

constexpr u32 kLargeWindow = 256;
constexpr u32 kStretch = 2048;
constexpr u32 kEach = kStretch / kChunksThreads;  // bytes of a stretch for each thread
constexpr u32 kNever = ~u32(0);

// Steps are, for each byte of a stretch, where the elements that begin there leave its window, from
// the begin of the stretch, and how many bytes they stand for. kNever: one exceeds the block.
struct Steps {
  u32 next[kStretch];
  u32 size[kStretch];
};

// Makes the steps of the bytes from a byte of a block on. All threads call it.
__device__ __forceinline__ void make_steps(const u8* in, u32 from, u32 bytes, Steps* steps) {
  const u32 lane = lane_id();
#pragma unroll 1
  for (u32 i = threadIdx.x; i < kStretch; i += kChunksThreads) {
    u32 next = kNever, size = 0;
    if (i < bytes - from) {
      const Element e = parse_element(load_pair(in + from + i));
      if (!e.exceeds(bytes - from - i)) {
        next = lane + e.bytes();
        size = u32(e.size);
      }
    }
    // An element has two bytes or more: 16 begin in a window at most.
#pragma unroll
    for (u32 elements = 1; elements < 16; elements *= 2) {
      const u32 to = next < kWindow ? next : lane;
      const u32 then = __shfl_sync(kAllLanes, next, to), more = __shfl_sync(kAllLanes, size, to);
      if (next < kWindow) {
        next = then;
        size += more;
      }
    }
    steps->next[i] = next == kNever ? kNever : next + i - lane;
    steps->size[i] = size;
  }
}

// Makes large steps of steps. All threads call it, and go on when all steps are there.
__device__ __forceinline__ void make_large_steps(const Steps& steps, Steps* large) {
  __syncthreads();  // all steps are there
  for (u32 i = threadIdx.x; i < kStretch; i += kChunksThreads) {
    large->next[i] = steps.next[i];
    large->size[i] = steps.size[i];
  }
#pragma unroll 1
  for (u32 window = 2 * kWindow; window <= kLargeWindow; window *= 2) {
    __syncthreads();  // the steps of half of the window are there
    u32 next[kEach], size[kEach];
#pragma unroll
    for (u32 k = 0; k < kEach; k++) {
      const u32 i = threadIdx.x + k * kChunksThreads;
      next[k] = large->next[i];
      size[k] = large->size[i];
      if (next[k] / window == i / window) {  // it is in the other half
        size[k] += large->size[next[k]];
        next[k] = large->next[next[k]];
      }
    }
    __syncthreads();  // they may be written again
#pragma unroll
    for (u32 k = 0; k < kEach; k++) {
      large->next[threadIdx.x + k * kChunksThreads] = next[k];
      large->size[threadIdx.x + k * kChunksThreads] = size[k];
    }
  }
  __syncthreads();  // all large steps are there
}

// Walker goes over the elements of a block, and notes its chunks.
struct Walker {
  u32 at, done;  // bytes, packed and unpacked
  u32 status;

  // All elements that begin in a stretch.
  __device__ __forceinline__ void walk(
      const u8* in, u32 from, const Steps& steps, const Steps& large, const Block& b, Chunk* chunks) {
    const u32 end = b.bytes - from < kStretch ? b.bytes : from + kStretch;
#pragma unroll 1
    while (at < end && status == kBlockDone) {
      if (step(from, large, b) || step(from, steps, b)) continue;
      const u32 window = at - (at - from) % kWindow;
#pragma unroll 1
      while (at < end && at - window < kWindow && status == kBlockDone) take(in, b, chunks);
    }
  }

  // The elements of a step, if they end no chunk. It returns false where they may.
  __device__ __forceinline__ bool step(u32 from, const Steps& steps, const Block& b) {
    const u32 next = steps.next[at - from];
    const u64 then = u64(done) + steps.size[at - from];
    if (next == kNever || then > b.size || then / kChunkSize != done / kChunkSize) return false;
    at = from + next;
    done = u32(then);
    return true;
  }

  // One element.
  __device__ __forceinline__ void take(const u8* in, const Block& b, Chunk* chunks) {
    const Element e = parse_element(load_pair(in + at));
    if (e.exceeds(b.bytes - at)) {
      status = kBlockEnds;
    } else if (e.size > b.size - done) {
      status = kBlockLong;
    } else if (done % kChunkSize + e.size > kChunkSize) {
      status = kBlockCrosses;
    } else {
      at += e.bytes();
      done += u32(e.size);
      if (done % kChunkSize == 0 && done < b.size) {
        end_chunk(b, chunks + done / kChunkSize - 1);
        begin_chunk(b, chunks + done / kChunkSize);
      }
    }
  }

  __device__ __forceinline__ void begin_chunk(const Block& b, Chunk* chunk) const {
    chunk->from = b.from + at;
    chunk->to = b.to + done;
    chunk->size = min(b.size - done, u32(kChunkSize));
  }

  __device__ __forceinline__ void end_chunk(const Block& b, Chunk* chunk) const {
    chunk->bytes = u32(b.from + at - chunk->from);
  }
};

extern "C" __global__ void __launch_bounds__(kChunksThreads) snappy_chunks(const __grid_constant__ DecompressLaunch p) {
  __shared__ Steps steps, large;
  __shared__ Walker walker;
  const u32 number = blockIdx.x;
  const Block b = p.blocks[number];
  const u32 num_chunks = b.size == 0 ? 1 : u32((u64(b.size) + kChunkSize - 1) / kChunkSize);
  if (b.from > p.packed_bytes || b.bytes > p.packed_bytes - b.from || b.to > p.plain_bytes ||
      b.size > p.plain_bytes - b.to || b.first_chunk > p.num_chunks || num_chunks > p.num_chunks - b.first_chunk) {
    if (threadIdx.x == 0) p.status[number] = kBlockOutside;
    return;
  }
  const u8* in = p.packed + b.from;
  Chunk* chunks = p.chunks + b.first_chunk;
  if (threadIdx.x == 0) {
    walker.at = walker.done = 0;
    walker.status = kBlockDone;
    walker.begin_chunk(b, chunks);
    if (num_chunks == 1) walker.at = b.bytes;  // its elements are looked at when they are decompressed
  }
  __syncthreads();  // the walker is there
  u32 from = walker.at;
#pragma unroll 1
  while (from < b.bytes && walker.status == kBlockDone) {
    make_steps(in, from, b.bytes, &steps);
    make_large_steps(steps, &large);
    if (threadIdx.x == 0) walker.walk(in, from, steps, large, b, chunks);
    __syncthreads();  // the walker has gone on
    from = walker.at;
  }
  const bool is_short = num_chunks > 1 && walker.done < b.size;
  const u32 status = walker.status == kBlockDone && is_short ? u32(kBlockShort) : walker.status;
  if (threadIdx.x == 0) {
    if (status == kBlockDone) walker.end_chunk(b, chunks + num_chunks - 1);
    p.status[number] = status;
  }
  if (status != kBlockDone) return;
#pragma unroll 1
  for (u32 i = threadIdx.x; i < num_chunks; i += kChunksThreads) chunks[i].block = number;
}
