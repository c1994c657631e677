// A CUDA driver without a device: memory is the host's, and work is done when it is enqueued.
// Environment variables, read at each call, say what it answers:
//
//   FAKE_CUDA_FAIL   "cuMemAlloc_v2:3:2": the third call of it, from when the variable took this
//                    value, returns code 2
//   FAKE_CUDA_LOST   a code that every call but those of errors returns
//   FAKE_CUDA_VERSION, _DEVICES, _MODE, _CAPABILITY, _MEMORY
//
// OLD leaves a function out.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number(const char *name, int otherwise) {
	const char *s = getenv(name);
	return s != NULL && *s != 0 ? atoi(s) : otherwise;
}

static int calls;
static char counted[128];

static int answer(const char *call) {
	int lost = number("FAKE_CUDA_LOST", 0);
	if (lost != 0) return lost;
	const char *fail = getenv("FAKE_CUDA_FAIL");
	if (fail == NULL || *fail == 0) {
		counted[0] = 0;
		return 0;
	}
	char name[64] = "";
	int nth = 0, code = 0;
	if (sscanf(fail, "%63[^:]:%d:%d", name, &nth, &code) != 3 || strcmp(name, call) != 0) return 0;
	if (strcmp(fail, counted) != 0) {
		snprintf(counted, sizeof counted, "%s", fail);
		calls = 0;
	}
	return ++calls == nth ? code : 0;
}

#define ANSWER                                 \
	do {                                       \
		int code = answer(__func__);           \
		if (code != 0) return code;            \
	} while (0)

static size_t memory_used;
static int contexts;
static void *current;

typedef struct { uint64_t at; size_t bytes; } allocation;
static allocation allocations[1024];

int cuInit(unsigned flags) { (void)flags; ANSWER; return 0; }
int cuDriverGetVersion(int *v) { *v = number("FAKE_CUDA_VERSION", 12040); return 0; }
int cuDeviceGetCount(int *n) { ANSWER; *n = number("FAKE_CUDA_DEVICES", 1); return 0; }
int cuDeviceGet(int *d, int i) { ANSWER; *d = i; return i < number("FAKE_CUDA_DEVICES", 1) ? 0 : 101; }

int cuGetErrorName(int code, const char **s) {
	switch (code) {
	case 2: *s = "CUDA_ERROR_OUT_OF_MEMORY"; return 0;
	case 46: *s = "CUDA_ERROR_DEVICE_UNAVAILABLE"; return 0;
	case 700: *s = "CUDA_ERROR_ILLEGAL_ADDRESS"; return 0;
	}
	*s = NULL;
	return 1;
}

int cuGetErrorString(int code, const char **s) {
	*s = code == 2 ? "out of memory" : NULL;
	return *s != NULL ? 0 : 1;
}

int cuDeviceGetName(char *s, int n, int d) { ANSWER; snprintf(s, n, "Fake %d", d); return 0; }
int cuDeviceGetPCIBusId(char *s, int n, int d) { ANSWER; snprintf(s, n, "0000:0A:%02X.0", d); return 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { (void)d; ANSWER; *n = (size_t)number("FAKE_CUDA_MEMORY", 1 << 30); return 0; }

int cuDeviceGetUuid_v2(unsigned char *u, int d) {
	ANSWER;
	for (int i = 0; i < 16; i++) u[i] = (unsigned char)(16 * d + i);
	return 0;
}

int cuDeviceGetAttribute(int *v, int attribute, int d) {
	(void)d;
	ANSWER;
	int capability = number("FAKE_CUDA_CAPABILITY", 90);
	switch (attribute) {
	case 16: *v = 132; return 0;
	case 20: *v = number("FAKE_CUDA_MODE", 0); return 0;
	case 38: *v = 50 << 20; return 0;
	case 40: *v = 3; return 0;
	case 75: *v = capability / 10; return 0;
	case 76: *v = capability % 10; return 0;
	case 97: *v = 227 << 10; return 0;
	}
	return 1;
}

int cuDevicePrimaryCtxRetain(void **c, int d) { (void)d; ANSWER; contexts++; *c = &contexts; return 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { (void)d; ANSWER; contexts--; return 0; }
int cuCtxSetCurrent(void *c) { ANSWER; current = c; return 0; }

// Every call below needs the context that its entry point sets.
#define ENTER do { if (current == NULL) return 201; ANSWER; } while (0)

int cuMemGetInfo_v2(size_t *free, size_t *total) {
	ENTER;
	*total = (size_t)number("FAKE_CUDA_MEMORY", 1 << 30);
	*free = *total - memory_used;
	return 0;
}

int cuMemAlloc_v2(uint64_t *at, size_t n) {
	ENTER;
	if (n == 0) return 1;
	if (memory_used + n > (size_t)number("FAKE_CUDA_MEMORY", 1 << 30)) return 2;
	for (int i = 0; i < 1024; i++) {
		if (allocations[i].at == 0) {
			*at = (uint64_t)(uintptr_t)aligned_alloc(256, (n + 255) / 256 * 256);
			memset((void *)(uintptr_t)*at, 0xDB, n);
			allocations[i] = (allocation){*at, n};
			memory_used += n;
			return 0;
		}
	}
	return 2;
}

int cuMemFree_v2(uint64_t at) {
	ENTER;
	for (int i = 0; i < 1024; i++) {
		if (allocations[i].at == at) {
			memory_used -= allocations[i].bytes;
			allocations[i].at = 0;
			free((void *)(uintptr_t)at);
			return 0;
		}
	}
	return 1;
}

int cuMemHostRegister_v2(void *at, size_t n, unsigned flags) {
	ENTER;
	return flags == 1 && (uintptr_t)at % 4096 == 0 && n > 0 ? 0 : 1;
}
int cuMemHostUnregister(void *at) { (void)at; ENTER; return 0; }

static int copy(uint64_t to, uint64_t from, size_t n, void *stream) {
	if (stream == NULL) return 400;
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
	return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *s) { ENTER; return copy(to, (uintptr_t)from, n, s); }
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *s) { ENTER; return copy((uintptr_t)to, from, n, s); }
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, void *s) { ENTER; return copy(to, from, n, s); }

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t n, void *s) {
	ENTER;
	if (s == NULL) return 400;
	memset((void *)(uintptr_t)to, value, n);
	return 0;
}

// One kernel: "store" writes the shape it was launched with at the address that it is given.
typedef struct { uint64_t to; uint32_t value; } store_arguments;

int cuModuleLoadData(void **m, const void *image) { ENTER; *m = &contexts; return memcmp(image, "FAKE", 4) == 0 ? 0 : 209; }
int cuModuleUnload(void *m) { ENTER; return m != NULL ? 0 : 400; }
int cuModuleGetFunction(void **f, void *m, const char *name) { ENTER; *f = m; return strcmp(name, "store") == 0 ? 0 : 500; }
// A kernel may have 48 KiB of shared memory, of which 1 KiB is static, until it asks for more.
static unsigned dynamic_max = 47 << 10;
int cuFuncSetAttribute(void *f, int attribute, int value) {
	(void)f;
	ENTER;
	dynamic_max = value;
	return attribute == 8 && value <= 227 << 10 ? 0 : 1;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *s, void **parameters, void **extra) {
	ENTER;
	if (f == NULL || gx == 0 || gy != 1 || gz != 1 || bx == 0 || by != 1 || bz != 1 || s == NULL || extra != NULL || shared > dynamic_max) return 1;
	const store_arguments *a = parameters[0];
	uint32_t out[4] = {gx, bx, shared, a->value};
	memcpy((void *)(uintptr_t)a->to, out, sizeof out);
	return 0;
}

int cuStreamCreate(void **s, unsigned flags) { ENTER; *s = malloc(1); return flags == 1 ? 0 : 1; }
int cuStreamDestroy_v2(void *s) { ENTER; free(s); return 0; }
int cuStreamSynchronize(void *s) { (void)s; ENTER; return 0; }
int cuStreamWaitEvent(void *s, void *e, unsigned flags) { (void)s; ENTER; return e != NULL && flags == 0 ? 0 : 1; }

#ifndef OLD
static float clock_millis;
int cuEventCreate(void **e, unsigned flags) { ENTER; *e = malloc(sizeof(float)); return flags == 1 ? 0 : 1; }
int cuEventDestroy_v2(void *e) { ENTER; free(e); return 0; }
int cuEventRecord(void *e, void *s) { (void)s; ENTER; *(float *)e = clock_millis += 0.5f; return 0; }
int cuEventSynchronize(void *e) { (void)e; ENTER; return 0; }
int cuEventElapsedTime(float *ms, void *from, void *to) { ENTER; *ms = *(float *)to - *(float *)from; return 0; }
#endif
