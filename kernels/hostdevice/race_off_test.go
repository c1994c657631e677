//go:build !race

package hostdevice_test

const raceEnabled = false
