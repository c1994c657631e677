package partition

// Feedback decides how rows are loaded into a table whose groups are not known ahead: feedback
// loading of Wang, Shen and Lei (Applied Sciences 2025, section 4.2.2). After each load the
// table tells its groups, and the next load is as large as the table has room for if every row is
// a group of its own. Below LFMin a load is small beside the room, so that the table is never
// declared full; between LFMin and LFMax the table is full as soon as the next load might not fit.
//
// For a table that takes several loads at once, on several streams, Admit expects each row to add
// as many groups as a row of the last load did; the paper waits for each load to end instead.
type Feedback struct {
	Slots        int64   // of the table
	LFMin, LFMax float64 // load factors: groups / slots; 0 < LFMin < LFMax <= 1
}

// GroupsMax returns the groups of a table at LFMax.
func (f Feedback) GroupsMax() float64 { return f.LFMax * float64(f.Slots) }

// GroupsMin returns the groups of a table at LFMin.
func (f Feedback) GroupsMin() float64 { return f.LFMin * float64(f.Slots) }

// LoadMax returns the most rows of a load that leaves a table at LFMin within LFMax.
func (f Feedback) LoadMax() int64 { return int64((f.LFMax - f.LFMin) * float64(f.Slots)) }

// SlotsFor returns the least slots of a table for which LoadMax is loadRows at least.
func (f Feedback) SlotsFor(loadRows int64) int64 {
	return int64(float64(loadRows)/(f.LFMax-f.LFMin)) + 1
}

// Next returns the rows of the next load, at most loadMax of the left rows, for a table that has
// `groups` groups. The result is 0 only where the table is full or no row is left: a caller that
// loads what Next says comes to an end (P4).
//
// Requires: loadMax is at least 1.
func (f Feedback) Next(groups, left, loadMax int64) int64 {
	room := int64(f.GroupsMax()) - groups
	if float64(groups) > f.GroupsMin() && room < left {
		return 0
	}
	return min(left, max(room, 1), loadMax)
}

// Admission is Admit's answer to a load.
type Admission uint8

// The admissions.
const (
	Admitted   Admission = iota
	AdmitLater           // a load that is under way must end first
	TableFull            // the table is to take no new groups
)

// Admit says whether a table of `groups` known groups takes a load of `rows` rows, while loading
// further rows are under way. Each row is expected to add growth groups.
func (f Feedback) Admit(groups int64, growth float64, loading, rows int64) Admission {
	switch {
	case float64(groups)+growth*float64(loading+rows) <= f.GroupsMax():
		return Admitted
	case loading > 0:
		return AdmitLater
	case float64(groups) <= f.GroupsMin():
		return Admitted
	}
	return TableFull
}

// residentPart is how much of LFMax is planned for: partitions differ in size, and estimates err.
const residentPart = 0.97

// PlannedGroups returns how many groups a table is planned for, a little less than GroupsMax.
func (f Feedback) PlannedGroups() float64 { return residentPart * f.LFMax * float64(f.Slots) }

// Resident returns how many of the partitions the table has room for, where all partitions together
// have `groups` groups.
//
// Requires: groups is above 0.
func (f Feedback) Resident(groups int64, partitions int) int {
	return int(min(f.PlannedGroups()/float64(groups)*float64(partitions), float64(partitions)))
}

// Continue returns how many groups totalRows have if all rows have as many groups each as the first
// rows. The result is at most totalRows.
func Continue(groups, rows, totalRows int64) int64 {
	total := float64(totalRows)
	return int64(min(float64(groups)/float64(max(rows, 1))*total, total))
}

// Expect returns how many groups rows may have, by a ratio of groups to rows that was seen or
// estimated before, with a margin for ratios that vary. The result is at most rows.
func Expect(groupsPerRow float64, rows int64) int64 {
	const margin, least = 1.1, 1 << 10
	return min(int64(groupsPerRow*margin*float64(rows))+least, rows)
}
