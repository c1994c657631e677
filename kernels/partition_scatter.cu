// Writes rows by partition, column by column, so that neighbouring threads write neighbouring rows
// of a partition.
//
//   launch  a block of tile_rows / kRowsPerThread threads per tile; shared: scatterSharedBytes in launch_scatter.go
//   reads   rows; tiles and work, in a second pass
//   writes  out; cursors: where the next row of each partition goes
//
// Rows of one call number fewer than 2^32. Bitmaps of `out` are all zeros before.
#include "scatter.cuh"
#include "state.cuh"

// What is moved at a time: words of 4 or 8 bytes, one a row. Wider keys and values are several.
struct Lane {
  u32 column, word;  // column 0 is the keys

  __device__ __forceinline__ u32 width(const Launch& p) const { return column == 0 ? p.shape.key_bytes : p.shape.column_bytes[column - 1]; }
  __device__ __forceinline__ bool exists(const Launch& p) const { return column <= p.shape.num_columns; }
  __device__ __forceinline__ void next(const Launch& p) {
    if (++word * 8 < width(p)) return;
    word = 0;
    column++;
  }

  // Where T word i of the rows is.
  template <class T>
  __device__ __forceinline__ T* at(const Launch& p, const Rows& rows, u64 i) const {
    T* words = static_cast<T*>(column == 0 ? rows.keys : rows.columns[column - 1]) + word;
    return words + i * stride<T>(p);
  }
  template <class T>
  __device__ __forceinline__ u32 stride(const Launch& p) const { return sizeof(T) == 4 ? 1 : width(p) / 8; }
};

// Moves the rows of a tile through shared memory to where they go.
template <bool kWhole>
struct Mover {
  const Launch& p;
  const Order<kWhole>& order;
  u64 first;
  u64* stage;
  u16* digits;    // of the rows in order
  Halves places;  // in order, of a row

  __device__ __forceinline__ u32 target(u32 at) const { return order.shifts[digits[at]] + at; }

  // Takes the digits and ranks of the rows.
  __device__ __forceinline__ Mover(const Launch& launch, const Order<kWhole>& o, const u32* ranked, u64 begin, u64* shared)
      : p(launch), order(o), first(begin), stage(shared), digits(reinterpret_cast<u16*>(o.shifts + (1u << launch.digit_bits))) {
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++) {
      u32 at = 0;
      if (order.has(i)) {
        at = order.starts[ranked[i] >> kRankBits] + (ranked[i] & kRankMask);
        digits[at] = u16(ranked[i] >> kRankBits);
      }
      places.set(i, at);
    }
  }

  template <class T>
  __device__ __forceinline__ void load(const Lane& lane, u64* values) const {
    const T* in = lane.at<T>(p, p.rows, first + order.row(0));
    const u32 step = 32 * lane.stride<T>(p);
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++, in += step) {
      if (order.has(i)) values[i] = *in;
    }
  }
  template <class T>
  __device__ __forceinline__ void fill(const u64* values) const {
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++) {
      if (order.has(i)) reinterpret_cast<T*>(stage)[places.get(i)] = T(values[i]);
    }
  }
  template <class T>
  __device__ __forceinline__ void write(const Lane& lane) const {
#pragma unroll 4
    for (u32 i = 0; i < kRowsPerThread; i++) {
      const u32 at = order.out(i);
      if (kWhole || at < order.count) *lane.at<T>(p, p.out, target(at)) = reinterpret_cast<const T*>(stage)[at];
    }
  }

  // Lane by lane; the next one is loaded while one is written.
  __device__ __forceinline__ void move() const {
    u64 values[kRowsPerThread];
    Lane lane = {0, 0};
    load_any(lane, values);
    for (;;) {
      if (lane.width(p) == 4) fill<u32>(values); else fill<u64>(values);
      __syncthreads();  // the stage has the lane, and digits are there
      Lane next = lane;
      next.next(p);
      if (next.exists(p)) load_any(next, values);
      if (lane.width(p) == 4) write<u32>(lane); else write<u64>(lane);
      lane = next;
      if (!lane.exists(p)) return;
      __syncthreads();  // the stage may be filled again
    }
  }
  __device__ __forceinline__ void load_any(const Lane& lane, u64* values) const {
    if (lane.width(p) == 4) load<u32>(lane, values); else load<u64>(lane, values);
  }
};

template <class Key, bool kWhole>
__device__ __forceinline__ void scatter_tile(const Launch& p, const Part& part) {
  extern __shared__ u64 stage[];
  const u32 key_words = p.shape.key_bytes / 8;
  Order<kWhole> order(p, part.count, stage);
  u32 ranked[kRowsPerThread];  // digits, then with ranks
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    if (order.has(i)) ranked[i] = digit_of(p, Key::load(p.rows.keys, part.first + order.row(i), key_words).hash(p.seed));
  }
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    if (order.has(i)) ranked[i] = ranked[i] << kRankBits | order.rank(ranked[i]);
  }
  order.settle(p, part.cursors);
  const Mover<kWhole> mover(p, order, ranked, part.first, stage);
  mover.move();
#pragma unroll 1
  for (u32 c = 0; c < p.shape.num_columns; c++) {
    const u32* in = p.rows.valid[c];
    u32* out = p.out.valid[c];
    if (in == nullptr || out == nullptr) continue;
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++) {
      if (!order.has(i) || !is_valid(in, part.first + order.row(i))) continue;
      const u32 to = mover.target(mover.places.get(i));
      atomicOr(out + to / 32, 1u << (to % 32));
    }
  }
}

template <class Key>
__device__ __forceinline__ void partition_scatter(const Launch& p) {
  const Part part(p);
  if (part.count == p.tile_rows) {
    scatter_tile<Key, true>(p, part);
  } else if (part.count > 0) {
    scatter_tile<Key, false>(p, part);
  }
}

extern "C" __global__ void __launch_bounds__(1024, 1) partition_scatter_k4(const __grid_constant__ Launch p) { partition_scatter<Key4>(p); }
extern "C" __global__ void __launch_bounds__(1024, 1) partition_scatter_k8(const __grid_constant__ Launch p) { partition_scatter<Key8>(p); }
extern "C" __global__ void __launch_bounds__(1024, 1) partition_scatter_kn(const __grid_constant__ Launch p) { partition_scatter<KeyN>(p); }
