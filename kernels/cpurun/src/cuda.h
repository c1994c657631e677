// What the kernels use of CUDA, as C++ for the executor: a kernel compiles with this header in
// front of it and runs thread by thread, see executor.cc.
//
//   - A thread of a block is a fiber; a block is a thread of the process, so that thread_local is
//     what __shared__ is. One fiber of one block runs at a time.
//   - Fibers change at barriers and warp operations, and at random at atomics and fences. A loop
//     that waits for another thread must have one of these in it.
//   - Barriers and warp operations that not all their threads reach end the program, with a message.
//   - __activemask names the caller alone: code that is right for every answer is right for it.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__ [[gnu::used]]
#define __device__
#define __host__
#define __constant__ static const
#define __shared__ thread_local
#define __forceinline__ inline
#ifndef CPURUN_EXECUTOR  // whose headers have attributes of this name
#define __noinline__ __attribute__((noinline))
#endif
#define __launch_bounds__(...)
#define __maxnreg__(n)
#define __grid_constant__
#define __align__(n) alignas(n)

struct uint3 { unsigned x, y, z; };
using dim3 = uint3;
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };
struct alignas(16) longlong2 { long long x, y; };
struct alignas(16) double2 { double x, y; };
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

namespace cpurun {

extern thread_local uint3 thread_index, block_index, block_size, grid_size;

// What a warp's lanes meet in.
enum Meeting { kSyncWarp, kShuffle, kBallot, kMatch, kReduce };

// Waits until all lanes of mask are here, and returns the values they came with, by lane; they
// stay until the caller's next meeting.
const uint64_t* meet(Meeting kind, uint32_t mask, uint64_t value);
// Waits until all threads of the block that have not ended are here, and returns how many came
// with true.
int sync_block(bool value);
// Lets another thread run, at random.
void preempt();
// Lets other threads, and other blocks, run.
void yield();
[[noreturn]] void fail(const char* format, ...);
unsigned lane();

template <class T> struct Identity { using type = T; };
template <class T> using Same = typename Identity<T>::type;

template <class T> uint64_t to_bits(T v) {
  static_assert(sizeof(T) <= 8);
  uint64_t bits = 0;
  memcpy(&bits, &v, sizeof(T));
  return bits;
}

template <class T> T from_bits(uint64_t bits) {
  T v;
  memcpy(&v, &bits, sizeof(T));
  return v;
}

// The value of lane source; of a lane outside the mask, what no kernel may rely on.
template <class T> T shuffle(uint32_t mask, T v, unsigned source) {
  const uint64_t* all = meet(kShuffle, mask, to_bits(v));
  return from_bits<T>(mask >> source & 1 ? all[source] : 0xa5a5a5a5a5a5a5a5);
}

template <class T, class F> T reduce(uint32_t mask, T v, F combine) {
  const uint64_t* all = meet(kReduce, mask, to_bits(v));
  bool any = false;
  T sum{};
  for (unsigned i = 0; i < 32; i++) {
    if (mask >> i & 1) {
      sum = any ? combine(sum, from_bits<T>(all[i])) : from_bits<T>(all[i]);
      any = true;
    }
  }
  return sum;
}

template <class T, class F> T update(T* at, F change) {
  preempt();
  T old = *at;
  *at = change(old);
  return old;
}

}  // namespace cpurun

#define threadIdx cpurun::thread_index
#define blockIdx cpurun::block_index
#define blockDim cpurun::block_size
#define gridDim cpurun::grid_size
constexpr int warpSize = 32;

// Barriers and fences.

inline void __syncthreads() { cpurun::sync_block(false); }
inline int __syncthreads_count(int v) { return cpurun::sync_block(v != 0); }
inline int __syncthreads_or(int v) { return cpurun::sync_block(v != 0) != 0; }
inline int __syncthreads_and(int v) { return cpurun::sync_block(v == 0) == 0; }
inline void __syncwarp(uint32_t mask = 0xffffffff) { cpurun::meet(cpurun::kSyncWarp, mask, 0); }
inline void __threadfence() { cpurun::preempt(); }
inline void __threadfence_block() { cpurun::preempt(); }
inline void __nanosleep(unsigned) { cpurun::yield(); }
[[noreturn]] inline void __trap() { cpurun::fail("__trap"); }

// Operations of a warp.

inline unsigned __activemask() { return 1u << cpurun::lane(); }

inline unsigned __ballot_sync(uint32_t mask, int v) {
  const uint64_t* all = cpurun::meet(cpurun::kBallot, mask, v != 0);
  unsigned ballot = 0;
  for (unsigned i = 0; i < 32; i++) ballot |= (mask >> i & 1 && all[i]) ? 1u << i : 0;
  return ballot;
}
inline int __any_sync(uint32_t mask, int v) { return __ballot_sync(mask, v) != 0; }
inline int __all_sync(uint32_t mask, int v) { return __ballot_sync(mask, v) == mask; }

template <class T> unsigned __match_any_sync(uint32_t mask, T v) {
  const uint64_t* all = cpurun::meet(cpurun::kMatch, mask, cpurun::to_bits(v));
  unsigned same = 0;
  for (unsigned i = 0; i < 32; i++) same |= (mask >> i & 1 && all[i] == cpurun::to_bits(v)) ? 1u << i : 0;
  return same;
}
template <class T> unsigned __match_all_sync(uint32_t mask, T v, int* all_same) {
  *all_same = __match_any_sync(mask, v) == mask;
  return *all_same ? mask : 0;
}

template <class T> T __shfl_sync(uint32_t mask, T v, int source, int width = 32) {
  unsigned first = cpurun::lane() & ~(width - 1u);
  return cpurun::shuffle(mask, v, first + (source & (width - 1)));
}
template <class T> T __shfl_up_sync(uint32_t mask, T v, unsigned delta, int width = 32) {
  unsigned lane = cpurun::lane(), in = lane & (width - 1u);
  return cpurun::shuffle(mask, v, in >= delta ? lane - delta : lane);
}
template <class T> T __shfl_down_sync(uint32_t mask, T v, unsigned delta, int width = 32) {
  unsigned lane = cpurun::lane(), in = lane & (width - 1u);
  return cpurun::shuffle(mask, v, in + delta < unsigned(width) ? lane + delta : lane);
}
template <class T> T __shfl_xor_sync(uint32_t mask, T v, int bits, int width = 32) {
  unsigned lane = cpurun::lane(), other = lane ^ unsigned(bits);
  return cpurun::shuffle(mask, v, other < (lane & ~(width - 1u)) + width ? other : lane);
}

template <class T> T __reduce_add_sync(uint32_t mask, T v) { return cpurun::reduce(mask, v, [](T a, T b) { return a + b; }); }
template <class T> T __reduce_min_sync(uint32_t mask, T v) { return cpurun::reduce(mask, v, [](T a, T b) { return a < b ? a : b; }); }
template <class T> T __reduce_max_sync(uint32_t mask, T v) { return cpurun::reduce(mask, v, [](T a, T b) { return a > b ? a : b; }); }
template <class T> T __reduce_and_sync(uint32_t mask, T v) { return cpurun::reduce(mask, v, [](T a, T b) { return a & b; }); }
template <class T> T __reduce_or_sync(uint32_t mask, T v) { return cpurun::reduce(mask, v, [](T a, T b) { return a | b; }); }
template <class T> T __reduce_xor_sync(uint32_t mask, T v) { return cpurun::reduce(mask, v, [](T a, T b) { return a ^ b; }); }

// Atomics. One thread runs at a time, and none leaves in the middle of one.

template <class T> T atomicAdd(T* p, cpurun::Same<T> v) { return cpurun::update(p, [=](T old) { return T(old + v); }); }
template <class T> T atomicSub(T* p, cpurun::Same<T> v) { return cpurun::update(p, [=](T old) { return T(old - v); }); }
template <class T> T atomicExch(T* p, cpurun::Same<T> v) { return cpurun::update(p, [=](T) { return v; }); }
template <class T> T atomicMin(T* p, cpurun::Same<T> v) { return cpurun::update(p, [=](T old) { return v < old ? v : old; }); }
template <class T> T atomicMax(T* p, cpurun::Same<T> v) { return cpurun::update(p, [=](T old) { return v > old ? v : old; }); }
template <class T> T atomicAnd(T* p, cpurun::Same<T> v) { return cpurun::update(p, [=](T old) { return T(old & v); }); }
template <class T> T atomicOr(T* p, cpurun::Same<T> v) { return cpurun::update(p, [=](T old) { return T(old | v); }); }
template <class T> T atomicXor(T* p, cpurun::Same<T> v) { return cpurun::update(p, [=](T old) { return T(old ^ v); }); }
template <class T> T atomicCAS(T* p, cpurun::Same<T> expected, cpurun::Same<T> v) {
  return cpurun::update(p, [=](T old) { return old == expected ? v : old; });
}
#define atomicAdd_block atomicAdd
#define atomicOr_block atomicOr
#define atomicMin_block atomicMin
#define atomicMax_block atomicMax
#define atomicCAS_block atomicCAS
#define atomicExch_block atomicExch

// Loads and stores with hints.

template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> T __ldca(const T* p) { cpurun::preempt(); return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> T __ldcv(const T* p) { cpurun::preempt(); return *p; }
template <class T> void __stcg(T* p, cpurun::Same<T> v) { *p = v; }
template <class T> void __stcs(T* p, cpurun::Same<T> v) { *p = v; }

// Bits and numbers.

inline int __popc(uint32_t v) { return __builtin_popcount(v); }
inline int __popcll(uint64_t v) { return __builtin_popcountll(v); }
inline int __ffs(uint32_t v) { return __builtin_ffs(int(v)); }
inline int __ffsll(uint64_t v) { return __builtin_ffsll((long long)v); }
inline int __clz(uint32_t v) { return v ? __builtin_clz(v) : 32; }
inline int __clzll(uint64_t v) { return v ? __builtin_clzll(v) : 64; }
inline uint32_t __umulhi(uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline uint32_t __brev(uint32_t v) {
  uint32_t r = 0;
  for (int i = 0; i < 32; i++) r |= (v >> i & 1) << (31 - i);
  return r;
}
inline uint32_t __funnelshift_l(uint32_t lo, uint32_t hi, uint32_t n) {
  return uint32_t(((uint64_t(hi) << 32 | lo) << (n & 31)) >> 32);
}
inline uint32_t __funnelshift_r(uint32_t lo, uint32_t hi, uint32_t n) {
  return uint32_t((uint64_t(hi) << 32 | lo) >> (n & 31));
}
inline double __longlong_as_double(long long v) { return cpurun::from_bits<double>(cpurun::to_bits(v)); }
inline long long __double_as_longlong(double v) { return cpurun::from_bits<long long>(cpurun::to_bits(v)); }
inline float __uint_as_float(uint32_t v) { return cpurun::from_bits<float>(v); }
inline uint32_t __float_as_uint(float v) { return cpurun::from_bits<uint32_t>(cpurun::to_bits(v)); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ull2double_rn(unsigned long long v) { return double(v); }
inline double __ll2double_rn(long long v) { return double(v); }

template <class T> constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T> constexpr T max(T a, T b) { return a < b ? b : a; }

// Registration, by the unit that the Go side writes around each kernel's file.

namespace cpurun {

using Launch = void (*)(void** arguments);
struct Kernel {
  Kernel(const char* name, Launch launch, size_t arguments, const size_t* bytes);
  template <class E> Kernel(const char* name, E) : Kernel(name, E::launch, E::arguments, E::bytes) {}
};
// Tells where a name of dynamic shared memory lies.
struct SharedMemory {
  SharedMemory(void* (*at)(), size_t bytes);
};

template <auto F> struct Entry;
template <class... A, void (*F)(A...)> struct Entry<F> {
  static constexpr size_t arguments = sizeof...(A);
  static constexpr size_t bytes[] = {sizeof(A)..., 0};
  template <size_t... I> struct Indexes {};
  template <size_t N, size_t... I> struct Count : Count<N - 1, N - 1, I...> {};
  template <size_t... I> struct Count<0, I...> { using type = Indexes<I...>; };
  template <size_t... I> static void call(void** a, Indexes<I...>) { F(*static_cast<A*>(a[I])...); }
  static void launch(void** a) { call(a, typename Count<sizeof...(A)>::type{}); }
};

}  // namespace cpurun
