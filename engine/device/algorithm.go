package device

import (
	"errors"
	"fmt"

	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/stream"
)

// Ablation changes parts of how devices group rows, and no answer.
type Ablation = stream.Ablation

// Algorithms returns the names of the algorithms that may be asked for. The first, auto, asks for none.
func Algorithms() []string { return stream.Algorithms() }

// Bounds lists the values of Ablation.Bound.
func Bounds() []string { return stream.Bounds }

// Oversizeds lists the values of Ablation.Oversized.
func Oversizeds() []string { return stream.Oversizeds }

// ValidAlgorithm returns what is wrong with the name of an algorithm beside the name of a device; nil where nothing is.
func ValidAlgorithm(name, device string) error {
	algorithm, err := stream.ParseAlgorithm(name)
	if err == nil && algorithm != stream.Auto && device == "cpu" {
		err = knob.Errorf("%q runs on a device, and %s is \"cpu\"", name, knob.Name("engine.Device"))
	}
	return err
}

// ErrAlgorithm marks a query that the algorithm which was asked for has no way to do.
var ErrAlgorithm = errors.New("the algorithm cannot do it")

// algorithmError is an ErrAlgorithm.
type algorithmError struct {
	algorithm stream.Algorithm
	why       error
}

func (e *algorithmError) Error() string {
	return fmt.Sprintf("algorithm %s cannot do it: %v", e.algorithm, e.why)
}
func (e *algorithmError) Unwrap() error        { return e.why }
func (e *algorithmError) Is(target error) bool { return target == ErrAlgorithm }

// named reports whether the user asked for an algorithm: then it does the work, or nothing does.
func (d *Devices) named() bool { return d.algorithm != stream.Auto }

// insists reports whether the algorithm that was asked for does the query, or nothing does. err is why devices do not
// suit the query. An input of which nothing is left to read, and the groups of another step, are the CPU's.
func (q *Query) insists(err error) bool {
	return q.Devices.named() && len(q.Splits) > 0 && err != errGroups
}

// refuse says why the algorithm that was asked for does not do a query: since it has no way to, or
// since a device fails.
func (q *Query) refuse(why error) error {
	var lacks errNotOnDevice
	if errors.As(why, &lacks) || errors.Is(why, errNoRoom) || errors.Is(why, errNoPages) {
		return &algorithmError{q.Devices.algorithm, why}
	}
	return fmt.Errorf("algorithm %s: %w", q.Devices.algorithm, why)
}

// lacks returns what the algorithm that was asked for lacks to group rows of a layout; nil where it can.
func (q *Query) lacks(layout *Layout) error {
	if layout.parts != nil {
		return layout.parts
	}
	if err := q.Devices.algorithm.Takes(&layout.shape, len(layout.rankedColumns()) > 0); err != nil {
		return errNotOnDevice(err.Error())
	}
	return nil
}

// method returns the algorithm that was asked for, and what it does; nothing where neither it nor
// its parts were chosen.
func (q *Query) method() (algorithm, method string) {
	d := q.Devices
	if !d.named() && d.ablation == (stream.Ablation{}) {
		return "", ""
	}
	return d.algorithm.String(), d.ablation.Describe(d.algorithm)
}
