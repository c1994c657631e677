// A block's own table, in shared memory: keys by slot, linear probing, and the states of a program.
// Each slot may have several copies of its states, one for every few lanes of a warp, so that
// lanes with the same key do not wait for each other.
//
//   | keys of slots + 1, or key words and tags | states of (slots + 2) << copies_bits |
//
// Slots of keys of one word lie in buckets of 16 bytes, which are looked at at once: where a slot in
// four is taken, one key in 250 is not in the bucket that its search begins at, and one in eight
// would not be in its slot. Searches begin at the first `homes` slots and never wrap.
//
// Slot `slots` is that of the one key that marks empty slots; slot `slots + 1` has no key, and takes
// the rows that are refused. A key that finds no slot by its search's end finds none later: slots
// never become free. So a key is either in the table with all its rows, or all its rows are refused.
#ifndef MPGA_KERNELS_BLOCK_TABLE_CUH
#define MPGA_KERNELS_BLOCK_TABLE_CUH

#include "block.cuh"
#include "table.cuh"

// Room for the groups of a block's warps, which all lanes of a warp ask for together.
struct Room {
  u64 first;  // of the warp's
  u32 count;  // for how many of its groups there is some
  u64 lost;   // in thread 0: groups of the block for which there is none

  __device__ __forceinline__ Room(const Groups& groups, u32 wanted) : count(wanted) {
    __shared__ u64 begin;
    u32 total;
    const u32 before = block_scan(lane_id() == 0 ? wanted : 0, &total);
    if (threadIdx.x == 0) begin = atomicAdd(&groups.status->groups, u64(total));
    __syncthreads();  // begin is there
    first = begin + __shfl_sync(kAllLanes, before, 0);
    const u64 room = groups.capacity > begin ? groups.capacity - begin : 0;
    lost = threadIdx.x == 0 && total > room ? total - room : 0;
    if (total > room) count = first >= groups.capacity ? 0 : u32(min(u64(count), groups.capacity - first));
  }
};

constexpr u32 kTakenStep = 128;  // slots that a warp reads at a time
constexpr u32 kBlockProbeMax = 128;

// Where a search that begins at a slot ends. Few begin so late that the table ends first.
__device__ __forceinline__ u32 search_end(u32 slot, u32 slots) { return min(slot + kBlockProbeMax, slots); }

template <class T>
struct WordKeys {
  static constexpr T kEmpty = T(kEmptyKey);
  static constexpr u32 kBucket = 16 / sizeof(T);
  struct alignas(16) Bucket {
    T keys[kBucket];
  };

  T* keys;
  u32 slots;

  __device__ __forceinline__ WordKeys(char* memory, const Launch& p) : keys(reinterpret_cast<T*>(memory)), slots(p.slots) {}

  static __device__ __forceinline__ u32 bytes(const Launch& p) { return (p.slots + 4) * sizeof(T); }

  __device__ __forceinline__ void init(T empty) {
    const u64 word = sizeof(T) == 8 ? u64(empty) : u64(empty) << 32 | empty;
    fill_shared(reinterpret_cast<u64*>(keys), slots * sizeof(T) / 8, make_ulonglong2(word, word));
  }
  __device__ __forceinline__ void init() {
    init(kEmpty);
    if (threadIdx.x == 0) keys[slots] = ~kEmpty;
  }

  // What is in a bucket may be old: that a slot is empty is certain only once it is claimed.
  __device__ __forceinline__ Bucket look(u32 slot) const { return *reinterpret_cast<const Bucket*>(keys + slot); }

  // Turns the first slots of keys into their slots, or that of the refused. All are looked at before
  // any is searched for; a search has few lanes, and is best over soon.
  template <u32 kKeys>
  __device__ __forceinline__ void find(const T (&key)[kKeys], u32 (&slot)[kKeys], u32 wanted) {
    Bucket now[kKeys];
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) {
      slot[i] &= ~(kBucket - 1);
      if (wanted >> i & 1) now[i] = look(slot[i]);
    }
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) {
      u32 at;
      if ((wanted >> i & 1) && in_bucket(now[i], key[i], &at)) {
        slot[i] += at;
        wanted &= ~(1u << i);
      }
    }
    if (wanted == 0) return;
    // Those of full buckets are seldom further than in the next one.
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) {
      if (!(wanted >> i & 1) || slot[i] + kBucket >= slots) continue;
      u32 at;
      if (in_bucket(look(slot[i] + kBucket), key[i], &at)) {
        slot[i] += kBucket + at;
        wanted &= ~(1u << i);
      }
    }
    // One key of a lane at a time, whichever it is, since few lanes have one.
#pragma unroll 1
    while (wanted != 0) {
      const u32 bit = wanted & (0 - wanted);
      T k = key[0];
      u32 s = slot[0];
#pragma unroll
      for (u32 i = 1; i < kKeys; i++) {
        if (bit >> i & 1) {
          k = key[i];
          s = slot[i];
        }
      }
      s = search(k, s);
#pragma unroll
      for (u32 i = 0; i < kKeys; i++) {
        if (bit >> i & 1) slot[i] = s;
      }
      wanted ^= bit;
    }
  }

  // Finds a key, but not the one that marks empty slots.
  static __device__ __forceinline__ bool in_bucket(const Bucket& now, T key, u32* at) {
    bool found = false;
    *at = 0;
#pragma unroll
    for (u32 k = 0; k < kBucket; k++) {
      if (now.keys[k] == key) {
        found = true;
        *at = k;
      }
    }
    return found && key != kEmpty;
  }

  // Claims a slot for a key at once, without a look, or finds it there: not the one that marks empty slots.
  __device__ __forceinline__ bool claim(T key, u32 slot) {
    const T was = atomicCAS(keys + slot, kEmpty, key);
    return (was == kEmpty || was == key) && key != kEmpty;
  }

  // Searches from a bucket's first slot on.
  __device__ __forceinline__ u32 search(T key, u32 slot) {
    if (key == kEmpty) {
      keys[slots] = kEmpty;
      return slots;
    }
    const u32 end = search_end(slot, slots);
#pragma unroll 1
    for (;;) {
      const Bucket now = look(slot);
      u32 at = kBucket;  // the key, or else the first slot that is empty: keys fill a bucket in order
#pragma unroll
      for (u32 k = kBucket; k-- > 0;) {
        if (now.keys[k] == key || now.keys[k] == kEmpty) at = k;
      }
      if (at < kBucket) {
        const T was = atomicCAS(keys + slot + at, kEmpty, key);
        if (was == kEmpty || was == key) return slot + at;
      } else {
        slot += kBucket;
        if (slot >= end) return slots + 1;
      }
    }
  }

  // Of the slots before the last.
  __device__ __forceinline__ bool taken(u32 slot) const { return keys[slot] != kEmpty; }
  __device__ __forceinline__ bool last_taken() const { return keys[slots] == kEmpty; }

  // How many slots of its warp's a thread counts: warps have kTakenStep each, in turn.
  __device__ __forceinline__ u32 count_taken() const {
    u32 count = 0;
#pragma unroll 1
    for (u32 base = threadIdx.x / 32 * kTakenStep; base < slots; base += blockDim.x / 32 * kTakenStep) {
#pragma unroll
      for (u32 i = 0; i < kTakenStep; i += 32 * kBucket) {
        const u32 slot = base + i + lane_id() * kBucket;
        if (slot >= slots) continue;
        const Bucket now = look(slot);
#pragma unroll
        for (u32 k = 0; k < kBucket; k++) count += now.keys[k] != kEmpty;
      }
    }
    return count + (threadIdx.x == 0 && last_taken());
  }
};

template <class Key>
struct BlockKeys;

template <>
struct BlockKeys<Key4> : WordKeys<u32> {
  using WordKeys<u32>::WordKeys;
  template <u32 kKeys>
  __device__ __forceinline__ void find(const Key4 (&key)[kKeys], u32 (&slot)[kKeys], u32 wanted) {
    u32 words[kKeys];
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) words[i] = key[i].value;
    WordKeys<u32>::find(words, slot, wanted);
  }
  __device__ __forceinline__ u32 search(Key4 key, u32 home) { return WordKeys<u32>::search(key.value, home & ~(kBucket - 1)); }
  __device__ __forceinline__ bool claim(Key4 key, u32 slot) { return WordKeys<u32>::claim(key.value, slot); }
  __device__ __forceinline__ Key4 key(u32 slot) const { return {keys[slot]}; }
};

template <>
struct BlockKeys<Key8> : WordKeys<u64> {
  using WordKeys<u64>::WordKeys;
  template <u32 kKeys>
  __device__ __forceinline__ void find(const Key8 (&key)[kKeys], u32 (&slot)[kKeys], u32 wanted) {
    u64 words[kKeys];
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) words[i] = key[i].value;
    WordKeys<u64>::find(words, slot, wanted);
  }
  __device__ __forceinline__ u32 search(Key8 key, u32 home) { return WordKeys<u64>::search(key.value, home & ~(kBucket - 1)); }
  __device__ __forceinline__ bool claim(Key8 key, u32 slot) { return WordKeys<u64>::claim(key.value, slot); }
  __device__ __forceinline__ Key8 key(u32 slot) const { return {keys[slot]}; }
};

template <>
struct BlockKeys<KeyN> {
  static constexpr u32 kBucket = 1;
  u64* words;  // by word, then slot
  u32* tags;   // 0, or 30 bits of the hash and kTagLocked or kTagReady
  u32 slots, num_words;

  __device__ __forceinline__ BlockKeys(char* memory, const Launch& p)
      : words(reinterpret_cast<u64*>(memory)), slots(p.slots), num_words(p.shape.key_bytes / 8) {
    tags = reinterpret_cast<u32*>(words + u64(num_words) * (slots + 1));
  }

  static __device__ __forceinline__ u32 bytes(const Launch& p) { return ((p.shape.key_bytes + 4) * (p.slots + 2) + 15) / 16 * 16; }

  __device__ __forceinline__ void init() {
#pragma unroll 1
    for (u32 i = threadIdx.x; i <= slots; i += blockDim.x) tags[i] = 0;
  }

  template <u32 kKeys>
  __device__ __forceinline__ void find(const KeyN (&key)[kKeys], u32 (&slot)[kKeys], u32 wanted) {
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) {
      if (wanted >> i & 1) slot[i] = find_one(key[i], slot[i]);
    }
  }

  __device__ __forceinline__ u32 find_one(const KeyN& key, u32 slot) {
    const u32 tag = key.block_hash() & ~u32(kTagStates);
    const u32 end = search_end(slot, slots);
#pragma unroll 1
    while (slot < end) {
      const u32 now = atomicCAS(tags + slot, 0u, tag | u32(kTagLocked));
      if (now == 0) {
#pragma unroll 1
        for (u32 i = 0; i < num_words; i++) words[u64(i) * (slots + 1) + slot] = key.words[i];
        __threadfence_block();  // whoever sees the tag ready sees the key
        atomicExch(tags + slot, tag | u32(kTagReady));
        return slot;
      }
      if (now == (tag | u32(kTagLocked))) continue;  // its owner is about to write the key
      if (now == (tag | u32(kTagReady))) {
        __threadfence_block();
        if (equal_words(words + slot, slots + 1, key)) return slot;
      }
      slot++;
    }
    return slots + 1;
  }

  __device__ __forceinline__ bool taken(u32 slot) const { return tags[slot] != 0; }
  __device__ __forceinline__ bool last_taken() const { return false; }

  __device__ __forceinline__ u32 count_taken() const {
    u32 count = 0;
#pragma unroll 1
    for (u32 base = threadIdx.x / 32 * kTakenStep; base < slots; base += blockDim.x / 32 * kTakenStep) {
#pragma unroll 1
      for (u32 slot = base + lane_id(); slot < min(slots, base + kTakenStep); slot += 32) count += taken(slot);
    }
    return count;
  }
  __device__ __forceinline__ KeyN key(u32 slot) const { return {words + slot, num_words, slots + 1}; }
};

// What the tables of the blocks of a launch are to each other.
enum class Tables {
  kCopied,  // each has all keys of its rows, and as many copies of states as there is room for
  kSingle,  // the same, with one copy, but of a key that many rows have
  kShares,  // as kSingle, and each has a share of the keys: together they are one table
};

constexpr u32 kNoSlot = ~0u;

template <class Key, class Program, Tables kTables>
struct BlockTable {
  static constexpr bool kCopies = kTables == Tables::kCopied;
  static constexpr u32 kHotStates = kCopies ? 0 : 32;

  const Launch& p;
  u32 num_states;
  u32 first_home;  // of this share
  u32 hot;         // the slot that has states for each lane, behind all others; or kNoSlot
  BlockKeys<Key> keys;
  u64* states;
  u32* far;  // the states' words in device memory, if the program has some

  __device__ __forceinline__ BlockTable(const Launch& launch, u64* shared)
      : p(launch),
        num_states(((launch.slots + 2) << copies_bits(launch)) + kHotStates),
        first_home(kTables == Tables::kShares ? blockIdx.x % launch.shares * launch.homes : 0),
        hot(kNoSlot),
        keys(reinterpret_cast<char*>(shared), launch),
        states(shared + BlockKeys<Key>::bytes(launch) / sizeof(u64)),
        far(Program::kFar ? launch.far + u64(blockIdx.x) * num_states : nullptr) {}

  static __device__ __forceinline__ u32 copies_bits(const Launch& p) { return kCopies ? p.copies_bits : 0; }

  __device__ __forceinline__ void init() {
    Program::init(p.shape, states, num_states);
    if constexpr (Program::kFar) {
#pragma unroll 4
      for (u32 i = threadIdx.x; i < num_states; i += blockDim.x) far[i] = 0;
    }
    keys.init();
  }

  // Where the search for a key begins, which a share has only if that is one of its own.
  __device__ __forceinline__ u32 home(const Key& key) const {
    return kTables == Tables::kShares ? __umulhi(key.block_hash(), p.homes * p.shares) - first_home : __umulhi(key.block_hash(), p.homes);
  }

  // Claims the slot that a search for a key begins at, or one beside it in the same bucket, or finds the
  // key there.
  __device__ __forceinline__ bool claim(const Key& key, u32* slot) {
    const u32 first = home(key);
    const bool at_home = keys.claim(key, first);
    if (!at_home && !keys.claim(key, first ^ 1)) return false;
    *slot = at_home ? first : first ^ 1;
    return true;
  }

  // Finds the slot of a key by a search alone.
  __device__ __forceinline__ u32 search(const Key& key) { return keys.search(key, home(key)); }

  // Finds the slots of those keys that are this table's, and returns which they are.
  template <u32 kKeys>
  __device__ __forceinline__ u32 find(const Key (&key)[kKeys], u32 (&slot)[kKeys]) {
    u32 own = (1u << kKeys) - 1;
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) {
      slot[i] = home(key[i]);
      if (kTables == Tables::kShares && slot[i] >= p.homes) own &= ~(1u << i);
    }
    keys.find(key, slot, own);
    return own;
  }

  // Gives a slot that many rows have states for each lane: the one that most of 32 keys have, if it is
  // not one or two. The first warp calls it, with a key in each lane that has one.
  template <bool kClaims>
  __device__ __forceinline__ u32 find_hot(const Key& key, bool has) {
    u32 slot = kNoSlot;
    if constexpr (kClaims) {
      if (has) claim(key, &slot);
    } else if (has) {
      const Key one[1] = {key};
      u32 slots[1];
      if (find(one, slots) != 0 && !refused(slots[0])) slot = slots[0];
    }
    __syncwarp();  // after the searches
    const u32 peers = __match_any_sync(kAllLanes, slot);
    u32 best = slot == kNoSlot ? 0 : u32(__popc(peers)) << 16 | slot;
    for (u32 d = 16; d > 0; d /= 2) best = max(best, __shfl_xor_sync(kAllLanes, best, d));
    return best >> 16 > 2 ? best & 0xffff : kNoSlot;
  }

  // The state of a slot that a row of this lane is accumulated into.
  __device__ __forceinline__ u32 state_of(u32 slot) const {
    if (kCopies) return slot << p.copies_bits | (lane_id() & ((1u << p.copies_bits) - 1));
    return slot == hot ? p.slots + 2 + lane_id() : slot;
  }

  __device__ __forceinline__ bool refused(u32 slot) const { return slot > keys.slots; }

  // Merges all groups into the table in device memory, and returns how many found no slot there. Each
  // block begins elsewhere, so that they do not wait for each other at the same groups.
  __device__ u64 flush(Insertions& did) {
    const u32 words = slot_words(p.shape), key_words = slot_key_words(p.shape), count = keys.slots + 1;
    const u32 first = u32(u64(count) * blockIdx.x / gridDim.x);
    u64 lost = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
      const u32 slot = first + i < count ? first + i : first + i - count;
      if (slot < keys.slots ? !keys.taken(slot) : !keys.last_taken()) continue;
      u64* at = find_or_insert(p.table, words, keys.key(slot), p.probe_max, did);
      if (at == nullptr) {
        lost++;
        continue;
      }
      Program::flush(p.shape, states, num_states, slot << copies_bits(p), 1u << copies_bits(p), at + key_words, far);
      if (slot == hot) Program::flush(p.shape, states, num_states, p.slots + 2, kHotStates, at + key_words, far);
    }
    return lost;
  }

  // Writes all groups, which no other block has, and returns, in thread 0, how many found no room.
  __device__ __forceinline__ u64 emit() {
    static_assert(!kCopies, "states have one copy");
    const u32 warp = threadIdx.x / 32;
    u32 mine = keys.count_taken();
    for (u32 d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(kAllLanes, mine, d);
    const Room room(p.groups, mine);
    u32 next = 0;  // from the warp's room on
#pragma unroll 1
    for (u32 base = warp * kTakenStep; base < keys.slots; base += blockDim.x / 32 * kTakenStep) {
#pragma unroll
      for (u32 i = 0; i < kTakenStep; i += 32) {
        const u32 slot = base + i + lane_id();
        const bool taken = slot < keys.slots && keys.taken(slot);
        const u32 lanes = __ballot_sync(kAllLanes, taken);
        const u32 at = next + __popc(lanes & ((1u << lane_id()) - 1));
        if (taken && at < room.count) {
          keys.key(slot).store(p.groups.keys, room.first, at);
          Program::emit(p.shape, states, num_states, slot, p.groups, room.first, at);
        }
        next += __popc(lanes);
      }
    }
    if (threadIdx.x == 0 && keys.last_taken() && next < room.count) {
      keys.key(keys.slots).store(p.groups.keys, room.first, next);
      Program::emit(p.shape, states, num_states, keys.slots, p.groups, room.first, next);
    }
    return room.lost;
  }
};

#endif
