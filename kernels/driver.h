// The CUDA driver as mpga uses it: loaded at run time, with types declared here, so that neither
// building nor running needs anything of CUDA.
//
// Every entry point sets the context it works in, since a goroutine may call from any thread, and
// does one batch of driver calls. Its status names the first call that failed.

#ifndef MPGA_KERNELS_DRIVER_H
#define MPGA_KERNELS_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef struct mpga_driver mpga_driver;

typedef struct {
	int code;          // a CUresult; 0 is success
	const char *call;  // that returned it
	int64_t index;     // of the operation in a batch
} mpga_status;

typedef uint64_t mpga_address;  // CUdeviceptr

// What cannot change while the driver is loaded.
typedef struct {
	char name[256];
	unsigned char uuid[16];
	int64_t memory_bytes;
	int compute_capability;
	int multiprocessors;
	int64_t l2_bytes;
	int shared_bytes_max;
	int copy_engines;
	int compute_mode;
	char pci_bus[32];
} mpga_properties;

// One of a batch of operations on a stream, in order.
typedef struct {
	int kind;  // mpga_op_*
	void *function;
	uint32_t grid, block, shared_bytes;
	uint64_t arg_offset;  // of the kernel's one parameter, in the batch's arguments
	uint64_t to, from;    // device addresses, or one of page-locked host memory that C or the system has mapped
	uint64_t bytes;
	uint8_t value;
} mpga_op;

enum { mpga_op_launch, mpga_op_fill, mpga_op_copy_within, mpga_op_copy_in, mpga_op_copy_out };

// mpga_driver_load returns a driver, or NULL and what was missing.
mpga_driver *mpga_driver_load(const char *path, char *missing, size_t missing_bytes);
void mpga_driver_unload(mpga_driver *d);
const char *mpga_error_name(const mpga_driver *d, int code);
const char *mpga_error_text(const mpga_driver *d, int code);

mpga_status mpga_driver_init(const mpga_driver *d, int *version, int *devices);
mpga_status mpga_device_properties(const mpga_driver *d, int ordinal, mpga_properties *p);

mpga_status mpga_device_open(const mpga_driver *d, int ordinal, void **context);
mpga_status mpga_device_close(const mpga_driver *d, int ordinal);
mpga_status mpga_memory(const mpga_driver *d, void *context, int64_t *free, int64_t *total);
mpga_status mpga_alloc(const mpga_driver *d, void *context, int64_t bytes, mpga_address *at);
mpga_status mpga_free(const mpga_driver *d, void *context, mpga_address at);
mpga_status mpga_register(const mpga_driver *d, void *context, void *at, int64_t bytes);
mpga_status mpga_unregister(const mpga_driver *d, void *context, void *at);

mpga_status mpga_module_load(const mpga_driver *d, void *context, const void *image, void **module);
mpga_status mpga_module_unload(const mpga_driver *d, void *context, void *module);
mpga_status mpga_function(const mpga_driver *d, void *context, void *module, const char *name, void **function);
mpga_status mpga_function_shared(const mpga_driver *d, void *context, void *function, int bytes_max);

mpga_status mpga_stream_create(const mpga_driver *d, void *context, void **stream);
mpga_status mpga_stream_destroy(const mpga_driver *d, void *context, void *stream);
mpga_status mpga_stream_submit(const mpga_driver *d, void *context, void *stream,
                               const mpga_op *ops, int64_t count, void *args);
mpga_status mpga_stream_copy(const mpga_driver *d, void *context, void *stream, mpga_address device,
                             void *host, int64_t bytes, int out, int wait);

// *event is recorded, or, where it is NULL, made first.
mpga_status mpga_event_record(const mpga_driver *d, void *context, void *stream, void **event);
mpga_status mpga_event_destroy(const mpga_driver *d, void *context, void *event);
mpga_status mpga_event_wait(const mpga_driver *d, void *context, void *event);
mpga_status mpga_event_millis(const mpga_driver *d, void *context, void *from, void *to, float *millis);
mpga_status mpga_stream_wait_event(const mpga_driver *d, void *context, void *stream, void *event);

#endif
