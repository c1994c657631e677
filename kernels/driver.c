//go:build cgo && linux

#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Handles are pointers and a device is an int, in every driver since CUDA 4.
typedef int CUresult;

// The functions: name of the symbol, member, parameters. All are in every driver of CUDA 12.
#define MPGA_FUNCTIONS(F)                                                                        \
	F(cuInit, (unsigned))                                                                        \
	F(cuDriverGetVersion, (int *))                                                               \
	F(cuGetErrorName, (CUresult, const char **))                                                 \
	F(cuGetErrorString, (CUresult, const char **))                                               \
	F(cuDeviceGetCount, (int *))                                                                 \
	F(cuDeviceGet, (int *, int))                                                                 \
	F(cuDeviceGetName, (char *, int, int))                                                       \
	F(cuDeviceGetUuid_v2, (unsigned char *, int))                                                \
	F(cuDeviceTotalMem_v2, (size_t *, int))                                                      \
	F(cuDeviceGetAttribute, (int *, int, int))                                                   \
	F(cuDeviceGetPCIBusId, (char *, int, int))                                                   \
	F(cuDevicePrimaryCtxRetain, (void **, int))                                                  \
	F(cuDevicePrimaryCtxRelease_v2, (int))                                                       \
	F(cuCtxSetCurrent, (void *))                                                                 \
	F(cuMemGetInfo_v2, (size_t *, size_t *))                                                     \
	F(cuMemAlloc_v2, (mpga_address *, size_t))                                                   \
	F(cuMemFree_v2, (mpga_address))                                                              \
	F(cuMemHostRegister_v2, (void *, size_t, unsigned))                                          \
	F(cuMemHostUnregister, (void *))                                                             \
	F(cuMemcpyHtoDAsync_v2, (mpga_address, const void *, size_t, void *))                        \
	F(cuMemcpyDtoHAsync_v2, (void *, mpga_address, size_t, void *))                              \
	F(cuMemcpyDtoDAsync_v2, (mpga_address, mpga_address, size_t, void *))                        \
	F(cuMemsetD8Async, (mpga_address, unsigned char, size_t, void *))                            \
	F(cuModuleLoadData, (void **, const void *))                                                 \
	F(cuModuleUnload, (void *))                                                                  \
	F(cuModuleGetFunction, (void **, void *, const char *))                                      \
	F(cuFuncSetAttribute, (void *, int, int))                                                    \
	F(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,       \
	                   unsigned, void *, void **, void **))                                      \
	F(cuStreamCreate, (void **, unsigned))                                                       \
	F(cuStreamDestroy_v2, (void *))                                                              \
	F(cuStreamSynchronize, (void *))                                                             \
	F(cuStreamWaitEvent, (void *, void *, unsigned))                                             \
	F(cuEventCreate, (void **, unsigned))                                                        \
	F(cuEventDestroy_v2, (void *))                                                               \
	F(cuEventRecord, (void *, void *))                                                           \
	F(cuEventSynchronize, (void *))                                                              \
	F(cuEventElapsedTime, (float *, void *, void *))

struct mpga_driver {
	void *library;
#define F(name, parameters) CUresult(*name) parameters;
	MPGA_FUNCTIONS(F)
#undef F
};

enum {
	attribute_multiprocessors = 16,
	attribute_compute_mode = 20,
	attribute_l2_bytes = 38,
	attribute_copy_engines = 40,
	attribute_capability_major = 75,
	attribute_capability_minor = 76,
	attribute_shared_bytes_max = 97,  // of a block that opts in
	function_shared_bytes_max = 8,
	stream_non_blocking = 1,
	event_blocking_sync = 1,  // a waiting thread sleeps
	register_portable = 1,
};

// connections are as many as the driver has at most. Without them it has 8.
static const char connections[] = "32";

static const mpga_status success = {0, NULL, 0};

// TRY returns from an entry point with the first call that fails.
#define TRY_AT(i, name, ...)                                          \
	do {                                                              \
		CUresult code = d->name(__VA_ARGS__);                         \
		if (code != 0) return (mpga_status){code, #name, i};          \
	} while (0)
#define TRY(name, ...) TRY_AT(0, name, __VA_ARGS__)

mpga_driver *mpga_driver_load(const char *path, char *missing, size_t missing_bytes) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		const char *why = dlerror();
		snprintf(missing, missing_bytes, "%s", why != NULL ? why : path);
		return NULL;
	}
	mpga_driver *d = calloc(1, sizeof *d);
	if (d == NULL) {
		snprintf(missing, missing_bytes, "no memory");
		dlclose(library);
		return NULL;
	}
	d->library = library;
#define F(name, parameters)                                                   \
	*(void **)&d->name = dlsym(library, #name);                               \
	if (d->name == NULL) {                                                    \
		snprintf(missing, missing_bytes, "%s: it has no %s", path, #name);    \
		mpga_driver_unload(d);                                                \
		return NULL;                                                          \
	}
	MPGA_FUNCTIONS(F)
#undef F
	return d;
}

void mpga_driver_unload(mpga_driver *d) {
	dlclose(d->library);
	free(d);
}

const char *mpga_error_name(const mpga_driver *d, int code) {
	const char *s = NULL;
	return d->cuGetErrorName(code, &s) == 0 && s != NULL ? s : "";
}

const char *mpga_error_text(const mpga_driver *d, int code) {
	const char *s = NULL;
	return d->cuGetErrorString(code, &s) == 0 && s != NULL ? s : "";
}

mpga_status mpga_driver_init(const mpga_driver *d, int *version, int *devices) {
	TRY(cuDriverGetVersion, version);  // needs no cuInit, and tells an older driver's version
	// Streams that share a connection wait for each other. cuInit reads how many there are; Go has its own
	// copy of the environment, so that processes that are started later do not get it.
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", connections, 0);
	TRY(cuInit, 0);
	TRY(cuDeviceGetCount, devices);
	return success;
}

mpga_status mpga_device_properties(const mpga_driver *d, int ordinal, mpga_properties *p) {
	int device = 0, major = 0, minor = 0, l2 = 0;
	size_t bytes = 0;
	TRY(cuDeviceGet, &device, ordinal);
	TRY(cuDeviceGetName, p->name, sizeof p->name, device);
	TRY(cuDeviceGetUuid_v2, p->uuid, device);
	TRY(cuDeviceTotalMem_v2, &bytes, device);
	TRY(cuDeviceGetAttribute, &major, attribute_capability_major, device);
	TRY(cuDeviceGetAttribute, &minor, attribute_capability_minor, device);
	TRY(cuDeviceGetAttribute, &l2, attribute_l2_bytes, device);
	TRY(cuDeviceGetAttribute, &p->multiprocessors, attribute_multiprocessors, device);
	TRY(cuDeviceGetAttribute, &p->shared_bytes_max, attribute_shared_bytes_max, device);
	TRY(cuDeviceGetAttribute, &p->copy_engines, attribute_copy_engines, device);
	TRY(cuDeviceGetAttribute, &p->compute_mode, attribute_compute_mode, device);
	TRY(cuDeviceGetPCIBusId, p->pci_bus, sizeof p->pci_bus, device);
	p->memory_bytes = (int64_t)bytes;
	p->l2_bytes = l2;
	p->compute_capability = 10 * major + minor;
	return success;
}

mpga_status mpga_device_open(const mpga_driver *d, int ordinal, void **context) {
	int device = 0;
	TRY(cuDeviceGet, &device, ordinal);
	TRY(cuDevicePrimaryCtxRetain, context, device);
	return success;
}

mpga_status mpga_device_close(const mpga_driver *d, int ordinal) {
	int device = 0;
	TRY(cuDeviceGet, &device, ordinal);
	TRY(cuCtxSetCurrent, NULL);
	TRY(cuDevicePrimaryCtxRelease_v2, device);
	return success;
}

mpga_status mpga_memory(const mpga_driver *d, void *context, int64_t *free, int64_t *total) {
	size_t free_bytes = 0, total_bytes = 0;
	TRY(cuCtxSetCurrent, context);
	TRY(cuMemGetInfo_v2, &free_bytes, &total_bytes);
	*free = (int64_t)free_bytes;
	*total = (int64_t)total_bytes;
	return success;
}

mpga_status mpga_alloc(const mpga_driver *d, void *context, int64_t bytes, mpga_address *at) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuMemAlloc_v2, at, (size_t)bytes);
	return success;
}

mpga_status mpga_free(const mpga_driver *d, void *context, mpga_address at) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuMemFree_v2, at);
	return success;
}

mpga_status mpga_register(const mpga_driver *d, void *context, void *at, int64_t bytes) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuMemHostRegister_v2, at, (size_t)bytes, register_portable);
	return success;
}

mpga_status mpga_unregister(const mpga_driver *d, void *context, void *at) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuMemHostUnregister, at);
	return success;
}

mpga_status mpga_module_load(const mpga_driver *d, void *context, const void *image, void **module) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuModuleLoadData, module, image);
	return success;
}

mpga_status mpga_module_unload(const mpga_driver *d, void *context, void *module) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuModuleUnload, module);
	return success;
}

mpga_status mpga_function(const mpga_driver *d, void *context, void *module, const char *name, void **function) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuModuleGetFunction, function, module, name);
	return success;
}

mpga_status mpga_function_shared(const mpga_driver *d, void *context, void *function, int bytes_max) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuFuncSetAttribute, function, function_shared_bytes_max, bytes_max);
	return success;
}

mpga_status mpga_stream_create(const mpga_driver *d, void *context, void **stream) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuStreamCreate, stream, stream_non_blocking);
	return success;
}

mpga_status mpga_stream_destroy(const mpga_driver *d, void *context, void *stream) {
	TRY(cuCtxSetCurrent, context);
	CUresult work = d->cuStreamSynchronize(stream);
	TRY(cuStreamDestroy_v2, stream);
	return (mpga_status){work, "cuStreamSynchronize", 0};
}

mpga_status mpga_stream_submit(const mpga_driver *d, void *context, void *stream,
                               const mpga_op *ops, int64_t count, void *args) {
	TRY(cuCtxSetCurrent, context);
	for (int64_t i = 0; i < count; i++) {
		const mpga_op *op = &ops[i];
		switch (op->kind) {
		case mpga_op_launch: {
			void *parameters[] = {(char *)args + op->arg_offset};
			TRY_AT(i, cuLaunchKernel, op->function, op->grid, 1, 1, op->block, 1, 1,
			       op->shared_bytes, stream, parameters, NULL);
			break;
		}
		case mpga_op_fill:
			TRY_AT(i, cuMemsetD8Async, op->to, op->value, op->bytes, stream);
			break;
		case mpga_op_copy_within:
			TRY_AT(i, cuMemcpyDtoDAsync_v2, op->to, op->from, op->bytes, stream);
			break;
		case mpga_op_copy_in:
			TRY_AT(i, cuMemcpyHtoDAsync_v2, op->to, (const void *)(uintptr_t)op->from, op->bytes, stream);
			break;
		case mpga_op_copy_out:
			TRY_AT(i, cuMemcpyDtoHAsync_v2, (void *)(uintptr_t)op->to, op->from, op->bytes, stream);
			break;
		}
	}
	return success;
}

mpga_status mpga_stream_copy(const mpga_driver *d, void *context, void *stream, mpga_address device,
                             void *host, int64_t bytes, int out, int wait) {
	TRY(cuCtxSetCurrent, context);
	if (out) {
		TRY(cuMemcpyDtoHAsync_v2, host, device, (size_t)bytes, stream);
	} else {
		TRY(cuMemcpyHtoDAsync_v2, device, host, (size_t)bytes, stream);
	}
	if (wait) {
		TRY(cuStreamSynchronize, stream);
	}
	return success;
}

mpga_status mpga_event_record(const mpga_driver *d, void *context, void *stream, void **event) {
	TRY(cuCtxSetCurrent, context);
	if (*event == NULL) {
		TRY(cuEventCreate, event, event_blocking_sync);
	}
	CUresult code = d->cuEventRecord(*event, stream);
	if (code != 0) {
		d->cuEventDestroy_v2(*event);
		return (mpga_status){code, "cuEventRecord", 0};
	}
	return success;
}

mpga_status mpga_event_destroy(const mpga_driver *d, void *context, void *event) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuEventDestroy_v2, event);
	return success;
}

mpga_status mpga_event_wait(const mpga_driver *d, void *context, void *event) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuEventSynchronize, event);
	return success;
}

mpga_status mpga_event_millis(const mpga_driver *d, void *context, void *from, void *to, float *millis) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuEventElapsedTime, millis, from, to);
	return success;
}

mpga_status mpga_stream_wait_event(const mpga_driver *d, void *context, void *stream, void *event) {
	TRY(cuCtxSetCurrent, context);
	TRY(cuStreamWaitEvent, stream, event, 0);
	return success;
}
