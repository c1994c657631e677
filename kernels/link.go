package kernels

import "errors"

// linkRepeats is how often LinkSpeed copies: the fastest counts.
const linkRepeats = 4

// LinkSpeed measures how many bytes a second a copy of so many bytes from pinned memory to a device moves.
// 16 MiB show what the link does; the device and the host must have room for them.
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
		nanos, err := timeCopy(stream, Copy{Device: Span{Buffer: buffer}, Host: host.Bytes()})
		if err != nil {
			return 0, err
		}
		if least == 0 || nanos < least {
			least = nanos
		}
	}
	return float64(bytes) / (float64(max(least, 1)) / 1e9), nil
}

// timeCopy returns how long a copy took, by the device's clock.
func timeCopy(s Stream, c Copy) (nanos int64, err error) {
	begin, err := s.Record()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, begin.Close()) }()
	copyErr := s.Copy(c)
	end, err := s.Record()
	if err != nil {
		return 0, errors.Join(copyErr, err)
	}
	defer func() { err = errors.Join(err, end.Close()) }()
	if err := errors.Join(copyErr, end.Wait()); err != nil {
		return 0, err
	}
	return end.Nanos(begin)
}
