package rowdata

// Budget is a limit of memory that several owners share. An owner that is about to take much memory
// outside the blocks of Memory, on the collector's heap or in a library, reserves the bytes first.
type Budget interface {
	// Reserve promises bytes to the caller, or returns an error that says what the limit is and
	// which limit would be enough. It may write pages to disk to make room.
	Reserve(bytes int64) error

	// Unreserve takes back bytes that were promised.
	Unreserve(bytes int64)

	// Room returns an error where Reserve would, and promises nothing.
	Room(bytes int64) error
}

// Reservation is the part of a budget that one owner holds. It is not safe for concurrent use.
// Without a budget every size is granted.
type Reservation struct {
	budget Budget
	bytes  int64
}

// NewReservation returns an empty reservation; budget may be nil.
func NewReservation(budget Budget) Reservation { return Reservation{budget: budget} }

// Bytes returns the size of the reservation.
func (r *Reservation) Bytes() int64 { return r.bytes }

// Resize sets the size of the reservation. After an error the reservation has its size from before.
func (r *Reservation) Resize(bytes int64) error {
	if r.budget == nil || bytes == r.bytes {
		return nil
	}
	if bytes > r.bytes {
		if err := r.budget.Reserve(bytes - r.bytes); err != nil {
			return err
		}
	} else {
		r.budget.Unreserve(r.bytes - bytes)
	}
	r.bytes = bytes
	return nil
}

// Cover makes the reservation at least this size.
func (r *Reservation) Cover(bytes int64) error { return r.Resize(max(bytes, r.bytes)) }

// Release gives the reservation back.
func (r *Reservation) Release() { _ = r.Resize(0) }
