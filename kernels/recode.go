package kernels

// Codes are what Recode takes: Count codes of 4 bytes. Each gets the entry of Table that it is the index of, of
// Entries of 4 bytes; 0 where there is none.
type Codes struct {
	Codes   Span
	Count   int64
	Table   Span
	Entries int64
}
