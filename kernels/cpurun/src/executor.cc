// Runs kernels on the CPU, and obeys a stream of commands that stands for a device.
//
//   - Blocks start in a shuffled order, at most `resident` of them at a time: waiting for a block
//     that nobody promised to have started hangs, and is killed by the alarm.
//   - The schedule is a function of the seed alone; a race or a missing barrier shows as an answer
//     that changes with the seed.
//   - Shared memory and fresh memory hold garbage. AddressSanitizer watches global memory and the
//     end of dynamic shared memory, the sanitizer of bounds static shared arrays.
#define CPURUN_EXECUTOR
#include "cuda.h"

#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <link.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define SWITCH_STARTS(save, bottom, bytes) __sanitizer_start_switch_fiber(save, bottom, bytes)
#define SWITCH_ENDS(saved) __sanitizer_finish_switch_fiber(saved, nullptr, nullptr)
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes)
#define SWITCH_STARTS(save, bottom, bytes)
#define SWITCH_ENDS(saved)
#endif

namespace cpurun {

thread_local uint3 thread_index, block_index, block_size, grid_size;

struct Block;
// Not of the unnamed namespace: scramble writes it through another pointer.
thread_local Block* self = nullptr;

namespace {

constexpr size_t kStackBytes = 128 << 10;  // frames are several times larger under a sanitizer
constexpr int kGarbage = 0xa5;
constexpr unsigned kLaunchSeconds = 300;
// One in so many atomics and fences lets another thread, or another block, run.
constexpr unsigned kPreemptOne = 8, kPreemptBlock = 64;

struct Named {
  Launch launch;
  size_t arguments;
  const size_t* bytes;  // of each argument
};
std::map<std::string, Named>& kernels() {
  static std::map<std::string, Named> all;
  return all;
}
struct Dynamic {
  void* (*at)();
  size_t bytes;
};
std::vector<Dynamic>& dynamics() {
  static std::vector<Dynamic> all;
  return all;
}

// xorshift64* (Vigna, 2016).
struct Random {
  uint64_t state = 1;
  uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1d;
  }
  uint64_t below(uint64_t n) { return (next() >> 11) % n; }
};

// Where a fiber goes on. swapcontext would do, at two system calls a switch, a tenth of the speed.
#if defined(__x86_64__)
struct Context {
  void* stack_pointer;
};

extern "C" void cpurun_switch(void** from, void* to);
asm(R"(
.text
cpurun_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

void switch_context(Context* from, Context* to) { cpurun_switch(&from->stack_pointer, to->stack_pointer); }

void make_context(Context* c, char* stack, void (*entry)()) {
  void** top = reinterpret_cast<void**>(stack + kStackBytes) - 2;  // as after a call: 8 beyond a multiple of 16
  *top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; i++) *--top = nullptr;  // registers
  c->stack_pointer = top;
}
#else
using Context = ucontext_t;

void switch_context(Context* from, Context* to) { swapcontext(from, to); }

void make_context(Context* c, char* stack, void (*entry)()) {
  getcontext(c);
  c->uc_stack.ss_sp = stack;
  c->uc_stack.ss_size = kStackBytes;
  c->uc_link = nullptr;
  makecontext(c, entry, 0);
}
#endif

enum State { kRunnable, kAtBarrier, kAtMeeting, kEnded };

struct Fiber {
  Context context;
  char* stack = nullptr;
  void* fake_stack = nullptr;
  State state;
  Meeting meeting;
  uint32_t mask;
  uint64_t value;
  uint64_t seen[32];
};

struct Launching {
  Launch launch;
  void** arguments;
  uint3 grid, block;
  size_t shared;
};

}  // namespace

// One block, with the process's thread that runs it.
struct Block {
  std::vector<Fiber> fibers;
  std::vector<unsigned> runnable;
  unsigned current = 0, live = 0, waiting = 0, came_true = 0, counted = 0;
  Context home;
  void* home_fake_stack = nullptr;
  const void* home_bottom = nullptr;
  size_t home_bytes = 0;
  const Launching* work = nullptr;
  // Of the baton, see Machine.
  std::condition_variable turn;
};

namespace {

// One block runs at a time: the one that holds the baton.
struct Machine {
  std::mutex mu;
  std::vector<Block*> resident;
  Block* holder = nullptr;
  Random random;
  std::vector<unsigned> order;  // of blocks, last first
};

Machine machine;
unsigned resident_blocks = 4;

void take_turn(std::unique_lock<std::mutex>& lock, Block* b) {
  b->turn.wait(lock, [&] { return machine.holder == b; });
}

// Hands the baton to any block, and waits until it is back.
void pass_baton() {
  std::unique_lock<std::mutex> lock(machine.mu);
  Block* next = machine.resident[machine.random.below(machine.resident.size())];
  if (next == self) return;
  machine.holder = next;
  next->turn.notify_one();
  take_turn(lock, self);
}

uint3 position(unsigned i, uint3 size) { return {i % size.x, i / size.x % size.y, i / size.x / size.y}; }

void arrived(Fiber& me) {
  SWITCH_ENDS(me.fake_stack);
  (void)me;
}

void switch_to(unsigned next) {
  Block* b = self;
  if (next == b->current) return;
  Fiber &from = b->fibers[b->current], &to = b->fibers[next];
  b->current = next;
  thread_index = position(next, block_size);
  SWITCH_STARTS(from.state == kEnded ? nullptr : &from.fake_stack, to.stack, kStackBytes);
  switch_context(&from.context, &to.context);
  arrived(from);
}

const char* name_of(Meeting kind) {
  const char* names[] = {"__syncwarp", "a shuffle", "a vote", "a match", "a reduction"};
  return names[kind];
}

[[noreturn]] void stuck() {
  Block* b = self;
  fprintf(stderr, "block %u: no thread can go on\n", block_index.x);
  for (unsigned i = 0; i < b->fibers.size() && i < 128; i++) {
    Fiber& f = b->fibers[i];
    if (f.state == kAtBarrier) fprintf(stderr, "  thread %u waits at __syncthreads\n", i);
    if (f.state == kAtMeeting) fprintf(stderr, "  thread %u waits in %s of %08x\n", i, name_of(f.meeting), f.mask);
  }
  _exit(1);
}

void make_runnable(unsigned i) {
  self->fibers[i].state = kRunnable;
  self->runnable.push_back(i);
}

// Opens the barrier when all that live are at it.
bool open_barrier() {
  Block* b = self;
  if (b->waiting == 0 || b->waiting < b->live) return false;
  b->counted = b->came_true;
  b->waiting = b->came_true = 0;
  for (unsigned i = 0; i < b->fibers.size(); i++) {
    if (b->fibers[i].state == kAtBarrier) make_runnable(i);
  }
  return true;
}

// Leaves the current fiber, which is not runnable, for one that is.
void leave() {
  Block* b = self;
  if (b->runnable.empty() && !open_barrier()) {
    if (b->live > 0) stuck();
    SWITCH_STARTS(nullptr, b->home_bottom, b->home_bytes);
    switch_context(&b->fibers[b->current].context, &b->home);
  }
  size_t pick = machine.random.below(b->runnable.size());
  unsigned next = b->runnable[pick];
  b->runnable[pick] = b->runnable.back();
  b->runnable.pop_back();
  switch_to(next);
}

void run_fiber() {
  Block* b = self;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, b->home_bottom ? nullptr : &b->home_bottom,
                                  b->home_bytes ? nullptr : &b->home_bytes);
#endif
  b->work->launch(b->work->arguments);
  b->fibers[b->current].state = kEnded;
  b->live--;
  leave();
}

// Fills the thread's own variables of this program, which are the shared memory, with garbage,
// but for those of the executor.
int scramble(dl_phdr_info* info, size_t, void*) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type == PT_TLS && info->dlpi_tls_data) {
      uint3 kept[] = {thread_index, block_index, block_size, grid_size};
      Block* kept_self = self;
      memset(info->dlpi_tls_data, kGarbage, info->dlpi_phdr[i].p_memsz);
      thread_index = kept[0], block_index = kept[1], block_size = kept[2], grid_size = kept[3];
      self = kept_self;
    }
  }
  return 1;  // the program itself comes first; libraries keep theirs
}

void run_block(unsigned index) {
  Block* b = self;
  const Launching& w = *b->work;
  for (Dynamic& d : dynamics()) ASAN_UNPOISON_MEMORY_REGION(d.at(), d.bytes);
  dl_iterate_phdr(scramble, nullptr);
  for (Dynamic& d : dynamics()) {
    size_t used = (w.shared + 7) & ~size_t(7);
    ASAN_POISON_MEMORY_REGION(static_cast<char*>(d.at()) + used, d.bytes - used);
  }
  grid_size = w.grid, block_size = w.block, block_index = position(index, w.grid);
  b->live = unsigned(b->fibers.size());
  b->waiting = b->came_true = 0;
  b->runnable.clear();
  for (unsigned i = 0; i < b->fibers.size(); i++) {
    Fiber& f = b->fibers[i];
    ASAN_UNPOISON_MEMORY_REGION(f.stack, kStackBytes);  // of what ended in it before
    f.fake_stack = nullptr;
    make_context(&f.context, f.stack, run_fiber);
    make_runnable(i);
  }
  size_t pick = machine.random.below(b->runnable.size());
  b->current = b->runnable[pick];
  b->runnable[pick] = b->runnable.back();
  b->runnable.pop_back();
  thread_index = position(b->current, block_size);
  b->home_bottom = nullptr, b->home_bytes = 0;
  SWITCH_STARTS(&b->home_fake_stack, b->fibers[b->current].stack, kStackBytes);
  switch_context(&b->home, &b->fibers[b->current].context);
  SWITCH_ENDS(b->home_fake_stack);
}

// The stacks of a launch, with a page that cannot be touched below each.
struct Stacks {
  size_t each = kStackBytes + size_t(sysconf(_SC_PAGESIZE)), bytes;
  char* at;
  explicit Stacks(size_t n) : bytes(n * each) {
    at = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (at == MAP_FAILED) fail("no memory for %zu stacks", n);
    for (size_t i = 0; i < n; i++) mprotect(at + i * each, each - kStackBytes, PROT_NONE);
  }
  ~Stacks() {
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
    munmap(at, bytes);
  }
  char* stack(size_t i) { return at + (i + 1) * each - kStackBytes; }
};

void run_blocks(Block* b) {
  self = b;
  std::unique_lock<std::mutex> lock(machine.mu);
  take_turn(lock, b);
  while (!machine.order.empty()) {
    unsigned index = machine.order.back();
    machine.order.pop_back();
    lock.unlock();
    run_block(index);
    lock.lock();
  }
  for (size_t i = 0; i < machine.resident.size(); i++) {
    if (machine.resident[i] == b) machine.resident.erase(machine.resident.begin() + long(i--));
  }
  if (machine.resident.empty()) return;
  machine.holder = machine.resident[machine.random.below(machine.resident.size())];
  machine.holder->turn.notify_one();
}

void launch(const Launching& w) {
  size_t blocks = size_t(w.grid.x) * w.grid.y * w.grid.z, threads = size_t(w.block.x) * w.block.y * w.block.z;
  if (blocks == 0 || threads == 0 || threads > 1024) fail("a grid of %zu blocks of %zu threads", blocks, threads);
  for (Dynamic& d : dynamics()) {
    if (w.shared > d.bytes) fail("%zu B of shared memory, of at most %zu", w.shared, d.bytes);
  }
  machine.order.resize(blocks);
  for (size_t i = 0; i < blocks; i++) {
    size_t j = machine.random.below(i + 1);
    machine.order[i] = machine.order[j];
    machine.order[j] = unsigned(i);
  }
  size_t resident = blocks < resident_blocks ? blocks : resident_blocks;
  Stacks stacks(resident * threads);
  std::vector<std::unique_ptr<Block>> all;
  for (size_t i = 0; i < resident; i++) {
    all.push_back(std::make_unique<Block>());
    all[i]->work = &w;
    all[i]->fibers = std::vector<Fiber>(threads);
    for (size_t t = 0; t < threads; t++) all[i]->fibers[t].stack = stacks.stack(i * threads + t);
    machine.resident.push_back(all[i].get());
  }
  machine.holder = all[0].get();
  alarm(kLaunchSeconds);
  std::vector<std::thread> workers;
  for (auto& b : all) workers.emplace_back(run_blocks, b.get());
  for (std::thread& t : workers) t.join();
  alarm(0);
}

// Commands, in the order of package cpurun's.
enum Command : uint64_t { kAlloc, kFree, kWrite, kRead, kFill, kLaunch, kSeed };

void get(void* to, size_t n) {
  if (n && fread(to, n, 1, stdin) != 1) _exit(0);
}
uint64_t word() {
  uint64_t v;
  get(&v, 8);
  return v;
}
template <class T> T* pointer() { return reinterpret_cast<T*>(word()); }
void put(const void* from, size_t n) {
  if (n) fwrite(from, n, 1, stdout);
}
void answer(uint64_t v) { put(&v, 8); }

void run_launch() {
  std::string name(word(), 0);
  get(&name[0], name.size());
  Launching w{};
  w.grid = {unsigned(word()), 1, 1};
  w.block = {unsigned(word()), 1, 1};
  w.shared = word();
  auto found = kernels().find(name);
  if (found == kernels().end()) fail("no kernel %s", name.c_str());
  const Named& kernel = found->second;
  std::vector<std::vector<ulonglong2>> values(word());  // aligned as any parameter
  if (kernel.arguments != values.size())
    fail("%s takes %zu arguments, not %zu", name.c_str(), kernel.arguments, values.size());
  std::vector<void*> arguments;
  for (size_t i = 0; i < values.size(); i++) {
    size_t n = word();
    if (n != kernel.bytes[i]) fail("argument %zu of %s has %zu B, not %zu", i, name.c_str(), kernel.bytes[i], n);
    values[i].resize((n + 15) / 16);
    get(values[i].data(), n);
    arguments.push_back(values[i].data());
  }
  w.launch = kernel.launch;
  w.arguments = arguments.data();
  launch(w);
}

void obey() {
  switch (word()) {
    case kAlloc: {
      size_t n = word();
      void* at = nullptr;
      if (posix_memalign(&at, 256, n ? n : 1)) fail("no memory for %zu B", n);
      memset(at, kGarbage, n);
      return answer(reinterpret_cast<uint64_t>(at));
    }
    case kFree:
      free(pointer<void>());
      return answer(0);
    case kWrite: {
      char* at = pointer<char>();
      get(at, word());
      return answer(0);
    }
    case kRead: {
      char* at = pointer<char>();
      return put(at, word());
    }
    case kFill: {
      char* at = pointer<char>();
      size_t n = word();
      memset(at, int(word()), n);
      return answer(0);
    }
    case kLaunch:
      run_launch();
      return answer(0);
    case kSeed:
      machine.random.state = word() * 2 + 1;
      resident_blocks = unsigned(word());
      return answer(0);
    default:
      fail("an unknown command");
  }
}

}  // namespace

Kernel::Kernel(const char* name, Launch launch, size_t arguments, const size_t* bytes) {
  kernels()[name] = {launch, arguments, bytes};
}
SharedMemory::SharedMemory(void* (*at)(), size_t bytes) { dynamics().push_back({at, bytes}); }

unsigned lane() { return self->current % 32; }

void fail(const char* format, ...) {
  va_list args;
  va_start(args, format);
  if (self) fprintf(stderr, "block %u, thread %u: ", block_index.x, self->current);
  vfprintf(stderr, format, args);
  fprintf(stderr, "\n");
  _exit(1);
}

const uint64_t* meet(Meeting kind, uint32_t mask, uint64_t value) {
  Block* b = self;
  unsigned first = b->current & ~31u, mine = b->current & 31;
  Fiber* warp = &b->fibers[first];
  Fiber& me = warp[mine];
  if (!(mask >> mine & 1)) fail("%s of %08x without lane %u", name_of(kind), mask, mine);
  me.meeting = kind, me.mask = mask, me.value = value, me.state = kAtMeeting;
  for (unsigned i = 0; i < 32; i++) {
    if (!(mask >> i & 1)) continue;
    if (first + i >= b->fibers.size() || warp[i].state == kEnded)
      fail("%s of %08x: lane %u is not there", name_of(kind), mask, i);
    if (warp[i].state != kAtMeeting || warp[i].mask != mask) {
      leave();  // the last lane to come wakes the others
      return me.seen;
    }
    if (warp[i].meeting != kind) fail("%s of %08x: lane %u is in %s", name_of(kind), mask, i, name_of(warp[i].meeting));
  }
  for (unsigned i = 0; i < 32; i++) {
    if (!(mask >> i & 1)) continue;
    for (unsigned j = 0; j < 32; j++) warp[i].seen[j] = (mask >> j & 1) ? warp[j].value : 0;
    if (i == mine) {
      me.state = kRunnable;
    } else {
      make_runnable(first + i);
    }
  }
  preempt();
  return me.seen;
}

int sync_block(bool value) {
  Block* b = self;
  b->fibers[b->current].state = kAtBarrier;
  b->waiting++;
  b->came_true += value;
  leave();
  return int(b->counted);
}

void yield() {
  if (machine.resident.size() > 1 && machine.random.below(4) == 0) pass_baton();
  make_runnable(self->current);
  leave();
}

void preempt() {
  if (machine.random.below(kPreemptOne)) return;
  if (machine.resident.size() > 1 && machine.random.below(kPreemptBlock / kPreemptOne) == 0) pass_baton();
  make_runnable(self->current);
  leave();
}

}  // namespace cpurun

int main() {
  for (;;) {
    cpurun::obey();
    fflush(stdout);
  }
}
