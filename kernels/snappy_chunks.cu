// Finds the chunks of blocks of the snappy format: where the elements of each kChunkSize bytes begin.
// Where an element begins depends on all before it. But who begins to read at any byte soon comes upon the begin of an
// element by chance, and reads the block's elements from there on. So each thread reads a segment of a stretch, from some
// bytes before it on, and notes the places that it reads at. A segment is right if the one before it is left at such a
// place. What is not right one thread reads, element by element, until it comes upon a noted place. Each thread then reads
// the elements that begin in its segment, and a sum over the threads tells how many bytes the elements before them
// stand for. In dictionaries of TPC-H's prices none of 100,000 elements is read by that one thread.
//
//   launch  a block of kChunksThreads for each block
//   reads   packed, blocks    writes  chunks, status
#include "block.cuh"
#include "params_decompress.h"
#include "snappy.cuh"

constexpr u32 kSegmentMin = 256, kSegmentMax = 512;  // bytes; 32 are a word of Stretch.seen
constexpr u32 kBefore = 256;                         // bytes before a segment, from which its thread reads
constexpr u32 kGuessMax = 300;                       // bytes of an element that a thread takes for one
constexpr u32 kChunksWarps = kChunksThreads / 32;
constexpr u32 kNever = ~u32(0);

// What the threads know of a stretch: places are bytes from its begin on.
struct Stretch {
  u32 seen[kChunksThreads * kSegmentMax / 32];  // a bit for each byte: its segment's thread has read an element there
  u32 left[kChunksThreads];   // by segment: where its thread has left it
  u32 enter[kChunksThreads];  // by segment: where the first element behind those of other segments begins
  u32 broken[kChunksWarps];   // a bit for each segment that is not entered at a place that its thread has noted
  u64 sums[kChunksWarps];     // by warp: bytes that the elements of its segments stand for
  u32 segment;                // bytes
  u32 bytes;                  // of all segments
  u32 end;                    // where the first element behind the stretch begins
  u32 wrong;                  // whether an element is
  u32 status;                 // of the block, where an element is wrong

  __device__ __forceinline__ u32 end_of(u32 i) const { return min((i + 1) * segment, bytes); }
  __device__ __forceinline__ bool is_seen(u32 at) const { return seen[at / 32] >> at % 32 & 1; }
};

// Reads the elements that begin between two places of a stretch, and calls a function with each and its place, while it
// returns true. Returns where the element behind them begins, or kNever where one exceeds the block.
template <class Do>
__device__ __forceinline__ u32 read_elements(const u8* in, u32 bytes, u32 at, u32 end, Do with) {
#pragma unroll 1
  while (at < end) {
    const Element e = parse_element(load_head(in + at));
    if (e.exceeds(bytes - at)) return kNever;
    if (!with(at, e)) return at;
    at += e.bytes();
  }
  return at;
}

// Reads the thread's segment, and notes the places behind the last element that is none.
__device__ __forceinline__ void guess(const u8* in, u32 bytes, Stretch* s) {
  const u32 first = threadIdx.x * s->segment, end = s->end_of(threadIdx.x);
  if (first >= s->bytes) return;
  for (u32 i = first / 32; i < (first + s->segment) / 32; i++) s->seen[i] = 0;
  u32 at = first - min(first, kBefore);
#pragma unroll 1
  while (at < end) {
    const Element e = parse_element(load_head(in + at));
    if (e.exceeds(min(bytes - at, kGuessMax))) {
      for (u32 i = first / 32; i <= at / 32; i++) s->seen[i] = 0;
      at++;
    } else {
      if (at >= first) s->seen[at / 32] |= 1u << at % 32;
      at += e.bytes();
    }
  }
  s->left[threadIdx.x] = at;
}

// Notes where the thread's segment is entered, if the one before it is right, and whether it is right then.
__device__ __forceinline__ void enter_segment(Stretch* s) {
  const u32 i = threadIdx.x;
  const bool has = i * s->segment < s->bytes;
  const u32 at = !has ? kNever : i == 0 ? 0 : s->left[i - 1];
  s->enter[i] = at;
  const u32 broken = __ballot_sync(kAllLanes, has && !(at < s->end_of(i) && s->is_seen(at)));
  if (lane_id() == 0) s->broken[i / 32] = broken;
}

// Enters the segments that are not right. One thread calls it.
__device__ __forceinline__ void enter_broken(const u8* in, u32 bytes, Stretch* s) {
  const u32 segments = (s->bytes + s->segment - 1) / s->segment;
  u32 at = s->left[segments - 1];
#pragma unroll 1
  for (u32 i = 0; i < segments;) {
    const u32 broken = s->broken[i / 32] >> i % 32;
    if (broken == 0) {
      i = (i / 32 + 1) * 32;
      continue;
    }
    i += __ffs(broken) - 1;
    at = i == 0 ? 0 : s->left[i - 1];
    do {  // until a segment is left where its thread has left it
      s->enter[i] = at;
      bool is_seen = false;
      at = read_elements(in, bytes, at, s->end_of(i), [&](u32 place, const Element&) {
        is_seen = s->is_seen(place);
        return !is_seen;
      });
      if (is_seen) at = s->left[i];
      i++;
    } while (i < segments && at != s->left[i - 1] && at != kNever);
    if (at == kNever) {
      s->wrong = 1;
      return;
    }
    if (i < segments) at = s->left[segments - 1];
  }
  s->end = at;
}

// The sum of the values of the threads before this one, and of all threads. All threads call it.
__device__ __forceinline__ u64 sum_before_thread(u64 value, u64* sums, u64* all) {
  const u32 lane = lane_id(), warp = threadIdx.x / 32;
  u64 sum = value;
#pragma unroll
  for (u32 d = 1; d < 32; d *= 2) {
    const u64 before = __shfl_up_sync(kAllLanes, sum, d);
    if (lane >= d) sum += before;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();  // the sums of all warps are there
  u64 before = 0, total = 0;
#pragma unroll
  for (u32 w = 0; w < kChunksWarps; w++) {
    if (w < warp) before += sums[w];
    total += sums[w];
  }
  *all = total;
  return before + sum - value;
}

// Notes the chunks that begin behind the elements of the thread's segment, before which the elements stand for done
// bytes. Returns false where an element stands for bytes of two chunks.
__device__ __forceinline__ bool begin_chunks(
    const u8* in, const Block& b, u32 stretch, u32 at, u32 end, u32 done, Chunk* chunks) {
  bool whole = true;
  read_elements(in + stretch, b.bytes - stretch, at, end, [&](u32 place, const Element& e) {
    whole = done % kChunkSize + e.size <= kChunkSize;
    done += u32(e.size);
    if (done % kChunkSize == 0 && done < b.size) {
      chunks[done / kChunkSize].from = b.from + stretch + place + e.bytes();
    }
    return whole;
  });
  return whole;
}

// The status of a block of which an element is wrong. One thread calls it.
__device__ __forceinline__ u32 find_wrong(const u8* in, const Block& b) {
  u32 done = 0, status = kBlockDone;
  const u32 end = read_elements(in, b.bytes, 0, b.bytes, [&](u32, const Element& e) {
    if (e.size > b.size - done) status = kBlockLong;
    else if (done % kChunkSize + e.size > kChunkSize) status = kBlockCrosses;
    done += u32(e.size);
    return status == kBlockDone;
  });
  return end == kNever ? u32(kBlockEnds) : status;
}

// Notes where the chunks of a block begin, and returns its status. All threads call it.
__device__ __forceinline__ u32 find_chunks(const u8* in, const Block& b, Chunk* chunks, Stretch* s) {
  u32 from = 0;
  u64 done = 0;
#pragma unroll 1
  while (from < b.bytes) {
    const u32 left = b.bytes - from;
    __syncthreads();  // the stretch before is read
    if (threadIdx.x == 0) {
      s->segment = min(max((left / kChunksThreads + 32) / 32 * 32, kSegmentMin), kSegmentMax);
      s->bytes = min(left, kChunksThreads * s->segment);
      s->wrong = 0;
    }
    __syncthreads();  // the stretch is there
    guess(in + from, left, s);
    __syncthreads();  // all segments are read
    enter_segment(s);
    __syncthreads();  // the segments that are not right are known
    if (threadIdx.x == 0) enter_broken(in + from, left, s);
    __syncthreads();  // where they are entered is known
    if (s->wrong) break;
    const u32 end = s->end_of(threadIdx.x), enter = s->enter[threadIdx.x];
    u64 size = 0, all;
    read_elements(in + from, left, enter, end, [&](u32, const Element& e) {
      size += e.size;
      return true;
    });
    const u64 before = done + sum_before_thread(size, s->sums, &all);
    if (before + size > b.size ||
        (before / kChunkSize != (before + size) / kChunkSize &&
         !begin_chunks(in, b, from, enter, end, u32(before), chunks))) {
      atomicOr(&s->wrong, 1u);
    }
    done += all;
    from += s->end;
    __syncthreads();  // whether an element is wrong is known
    if (s->wrong) break;
  }
  if (!s->wrong) return done < b.size ? kBlockShort : kBlockDone;
  if (threadIdx.x == 0) s->status = find_wrong(in, b);
  __syncthreads();  // what is wrong is known
  return s->status;
}

extern "C" __global__ void __launch_bounds__(kChunksThreads) snappy_chunks(const __grid_constant__ DecompressLaunch p) {
  __shared__ Stretch stretch;
  const u32 number = blockIdx.x;
  const Block b = p.blocks[number];
  const u32 num_chunks = b.size == 0 ? 1 : u32((u64(b.size) + kChunkSize - 1) / kChunkSize);
  if (b.from > p.packed_bytes || b.bytes > p.packed_bytes - b.from || b.to > p.plain_bytes ||
      b.size > p.plain_bytes - b.to || b.first_chunk > p.num_chunks || num_chunks > p.num_chunks - b.first_chunk) {
    if (threadIdx.x == 0) p.status[number] = kBlockOutside;
    return;
  }
  Chunk* chunks = p.chunks + b.first_chunk;
  if (threadIdx.x == 0) {
    chunks[0].from = b.from;
    stretch.wrong = 0;
  }
  __syncthreads();  // the first chunk is there
  // The elements of one chunk are looked at when they are decompressed.
  const u32 status = num_chunks == 1 ? u32(kBlockDone) : find_chunks(p.packed + b.from, b, chunks, &stretch);
  __syncthreads();  // all chunks are there
  if (threadIdx.x == 0) p.status[number] = status;
  if (status != kBlockDone) return;
#pragma unroll 1
  for (u32 i = threadIdx.x; i < num_chunks; i += kChunksThreads) {
    Chunk* c = chunks + i;
    c->to = b.to + u64(i) * kChunkSize;
    c->size = min(b.size - i * kChunkSize, u32(kChunkSize));
    c->bytes = u32((i + 1 < num_chunks ? c[1].from : b.from + b.bytes) - c->from);
    c->block = number;
  }
}
