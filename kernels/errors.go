package kernels

import "fmt"

// driverError is an answer of the CUDA driver other than success.
type driverError struct {
	call     string
	code     int
	name     string // CUDA_ERROR_...
	text     string
	operands string
}

// Codes of the driver (CUresult) that say more than that a call failed.
const (
	codeOutOfMemory       = 2
	codeDeinitialized     = 4
	codeDeviceUnavailable = 46
	codeNoDevice          = 100
	codeInvalidDevice     = 101
	codeECC               = 214
	codeNVLink            = 220
	codeContained         = 226
	codeIllegalAddress    = 700
	codeLaunchTimeout     = 702
	codeContextDestroyed  = 709
	codeLaunchFailed      = 719
	codeSystemNotReady    = 802
	codeDriverMismatch    = 803
	codeNotOnDevice       = 804
	codeUnknown           = 999
)

func (e *driverError) Error() string {
	s := e.call
	if e.operands != "" {
		s += " (" + e.operands + ")"
	}
	s += fmt.Sprintf(": %s, code %d", e.name, e.code)
	if e.text != "" {
		s += ": " + e.text
	}
	return s
}

// Is lets errors.Is tell the sentinel that a code stands for.
func (e *driverError) Is(target error) bool {
	switch target {
	case ErrOutOfMemory:
		return e.code == codeOutOfMemory
	case ErrDeviceLost:
		return isLost(e.code)
	case ErrNoDevice:
		switch e.code {
		case codeDeviceUnavailable, codeNoDevice, codeInvalidDevice, codeSystemNotReady, codeDriverMismatch, codeNotOnDevice:
			return true
		}
	}
	return false
}

// isLost reports whether a code is sticky: every later call on the context answers with it.
func isLost(code int) bool {
	switch code {
	case codeDeinitialized, codeECC, codeNVLink, codeContained, codeIllegalAddress, codeLaunchTimeout, codeUnknown:
		return true
	}
	return codeContextDestroyed <= code && code <= codeLaunchFailed // asserts, bad instructions, bad addresses
}
