package fields

const (
	// repeatsValuesMax is how many distinct values a sample has at most where the values are held
	// to repeat: few enough for a table in a core's L1 and L2 caches.
	repeatsValuesMax = 1024

	// repeatsShare is how many rows of the sample there must be for each distinct value.
	repeatsShare = 8
)

// Distinct counts the distinct values of a sample, as far as it takes to tell whether they repeat.
type Distinct struct{ values map[string]struct{} }

// Add counts a value of a sample that has `rows` rows. It returns false once the values surely do not
// repeat.
func (d *Distinct) Add(value []byte, rows int) bool {
	if d.values == nil {
		d.values = make(map[string]struct{})
	}
	if _, known := d.values[string(value)]; !known {
		d.values[string(value)] = struct{}{}
	}
	return d.Repeat(rows)
}

// Repeat says whether the values are few beside the rows of the sample.
func (d *Distinct) Repeat(rows int) bool {
	return rows > 0 && len(d.values) <= min(repeatsValuesMax, rows/repeatsShare)
}
