package kernels

import "errors"

// linkRepeats is how often LinkSpeed copies: the fastest counts.
const linkRepeats = 4

// LinkSpeed measures how many bytes a second a copy of `bytes` bytes from pinned memory to a device
// moves. 16 MiB show what the link does; the device and the host must have room for the bytes.
func LinkSpeed(device Device, bytes int64) (bytesPerSecond float64, err error) {
	host, err := device.AllocPinned(bytes)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, host.Free()) }()
	buffer, err := device.Alloc(bytes)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, buffer.Free()) }()
	stream, err := device.NewStream()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	var least int64
	for range linkRepeats {
		nanos, err := Time(stream, func() error {
			return stream.Copy(Copy{Device: Span{Buffer: buffer}, Host: host.Bytes()})
		})
		if err != nil {
			return 0, err
		}
		if least == 0 || nanos < least {
			least = nanos
		}
	}
	return float64(bytes) / (float64(max(least, 1)) / 1e9), nil
}

// Time returns how many nanoseconds the device took for work that is enqueued on a stream, and
// waits for its end.
func Time(s Stream, work func() error) (nanos int64, err error) {
	begin, err := s.Record()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, begin.Close()) }()
	workErr := work()
	end, err := s.Record()
	if err != nil {
		return 0, errors.Join(workErr, err)
	}
	defer func() { err = errors.Join(err, end.Close()) }()
	if err := errors.Join(workErr, end.Wait()); err != nil {
		return 0, err
	}
	return end.Nanos(begin)
}
