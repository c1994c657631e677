//go:build cgo && linux

package kernels

// #cgo LDFLAGS: -ldl
// #include "driver.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	"github.com/mpga/mpga/internal/cubin"
)

const libraryName = "libcuda.so.1"

// versionMin is CUDA 12.0, of driver 525: the embedded machine code and the calls need it.
const versionMin = 12000

// driver is the loaded library and what it said when it was initialised.
type driver struct {
	table   *C.mpga_driver
	version int
	devices int
}

// systemDriver loads the machine's driver once, if the program has machine code for it. It is never
// unloaded.
var systemDriver = sync.OnceValues(func() (*driver, error) {
	if cubin.Archives == nil {
		return nil, errNoCode
	}
	return loadDriver(libraryName)
})

// loadDriver returns a driver that is initialised, new enough and has a device; else ErrNoDevice.
func loadDriver(path string) (*driver, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var missing [512]C.char
	table := C.mpga_driver_load(name, &missing[0], C.size_t(len(missing)))
	if table == nil {
		return nil, fmt.Errorf("%w: no NVIDIA driver: %s", ErrNoDevice, C.GoString(&missing[0]))
	}
	d := &driver{table: table}
	var version, devices C.int
	status := C.mpga_driver_init(table, &version, &devices)
	d.version, d.devices = int(version), int(devices)
	err := d.check(status, "")
	switch {
	case d.version != 0 && d.version < versionMin:
		err = fmt.Errorf("%w: the NVIDIA driver is of CUDA %s; it must be of 12.0 or newer (driver 525)",
			ErrNoDevice, versionText(d.version))
	case err != nil:
		err = fmt.Errorf("%w: %w", ErrNoDevice, err)
	case d.devices == 0:
		err = fmt.Errorf("%w: the NVIDIA driver sees none", ErrNoDevice)
	default:
		return d, nil
	}
	C.mpga_driver_unload(table)
	return nil, err
}

// versionText returns 12.4 for 12040.
func versionText(version int) string { return fmt.Sprintf("%d.%d", version/1000, version%1000/10) }

// check turns a status into an error, which names the operands.
func (d *driver) check(s C.mpga_status, format string, operands ...any) error {
	if s.code == 0 {
		return nil
	}
	return &driverError{
		call:     C.GoString(s.call),
		code:     int(s.code),
		name:     C.GoString(C.mpga_error_name(d.table, s.code)),
		text:     C.GoString(C.mpga_error_text(d.table, s.code)),
		operands: fmt.Sprintf(format, operands...),
	}
}

// info reads the properties of a device.
func (d *driver) info(ordinal int) (Info, error) {
	var p C.mpga_properties
	if err := d.check(C.mpga_device_properties(d.table, C.int(ordinal), &p), "device %d", ordinal); err != nil {
		return Info{}, err
	}
	u := C.GoBytes(unsafe.Pointer(&p.uuid[0]), 16)
	info := Info{
		Ordinal: ordinal,
		Properties: Properties{
			Name:              C.GoString(&p.name[0]),
			UUID:              fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16]),
			ComputeCapability: int(p.compute_capability),
			Multiprocessors:   int(p.multiprocessors),
			MemoryBytes:       int64(p.memory_bytes),
			L2Bytes:           int64(p.l2_bytes),
			SharedBytesMax:    int(p.shared_bytes_max),
			DriverVersion:     d.version,
			CopyEngines:       int(p.copy_engines),
		},
		PCIBus: strings.ToLower(C.GoString(&p.pci_bus[0])),
	}
	info.State = stateOf(info.ComputeCapability, int(p.compute_mode))
	return info, nil
}

// modeProhibited is the compute mode that keeps all processes out. An exclusive mode shows only
// when the device is opened: the process that came first has it.
const modeProhibited = 2

// capabilityMin is the least compute capability that the embedded kernels are built for.
const capabilityMin = 75

func stateOf(capability, mode int) string {
	switch {
	case capability < capabilityMin:
		return fmt.Sprintf("compute capability %d.%d is below %d.%d", capability/10, capability%10,
			capabilityMin/10, capabilityMin%10)
	case mode == modeProhibited:
		return "compute mode is prohibited"
	}
	return ""
}

// deviceFiles are there where a driver is: the file of NVIDIA's driver, the file of Windows where it
// runs Linux, and the file of Jetson's driver.
var deviceFiles = []string{"/dev/nvidiactl", "/dev/dxg", "/dev/nvmap"}

// Possible returns nil where there may be a device, and otherwise ErrNoDevice with the reason. It
// does not ask the driver, which takes a fifth of a second or more to answer for the first time.
func Possible() error {
	if cubin.Archives == nil {
		return errNoCode
	}
	for _, file := range deviceFiles {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: no NVIDIA driver: there is none of %s", ErrNoDevice, strings.Join(deviceFiles, ", "))
}

// Devices lists the devices that the driver sees. Without a device, or without a driver, the error
// is ErrNoDevice and says why.
func Devices() ([]Info, error) {
	d, err := systemDriver()
	if err != nil {
		return nil, err
	}
	return d.list()
}

func (d *driver) list() ([]Info, error) {
	infos := make([]Info, d.devices)
	for i := range infos {
		info, err := d.info(i)
		if err != nil {
			return nil, err
		}
		infos[i] = info
	}
	return infos, nil
}

// Open returns a device of the CUDA driver, or ErrNoDevice with the reason.
func Open(o Options) (Device, error) {
	d, err := systemDriver()
	if err != nil {
		return nil, err
	}
	return d.open(o)
}
