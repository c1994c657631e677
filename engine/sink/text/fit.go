package text

// elided stands for the columns that a table leaves out.
const elided = -1

const (
	// narrowest is how far columns of text are cut before columns are left out: room for a point in time.
	narrowest = 19

	// borders are the terminal columns that a column takes beside its cells.
	borders = 3
)

// fit returns which columns a table of a width draws, and how wide each column is. heads and cells
// are the widths of the heads and of the cells; the cells of fixed columns, which are numbers, are
// not cut. Columns of text and long heads are cut first; then columns are left out, from the middle.
func fit(width int, heads, cells []int, fixed []bool) (shown, widths []int) {
	widths = make([]int, len(cells))
	for i := range cells {
		shown = append(shown, i)
		widths[i] = max(heads[i], cells[i])
	}
	if width == 0 || taken(shown, widths) <= width {
		return shown, widths
	}
	least := make([]int, len(cells))
	for i := range cells {
		least[i] = min(widths[i], narrowest)
		if fixed[i] {
			least[i] = max(min(widths[i], narrowest/2), cells[i])
		}
	}
	if taken(shown, least) > width {
		shown = ends(width, least)
	}
	widen(width, shown, least, widths)
	return shown, least
}

// taken is how wide a table of columns is.
func taken(shown, widths []int) int {
	sum := 1
	for _, column := range shown {
		sum += borders
		if column == elided {
			sum++
		} else {
			sum += widths[column]
		}
	}
	return sum
}

// ends returns the first and the last columns, in turns, as far as there is room, and elided between
// them. The first column is always there.
func ends(width int, widths []int) []int {
	first, last := []int{0}, []int{}
	for len(first)+len(last) < len(widths)-1 {
		next := len(first)
		if len(last) < len(first) {
			next = len(widths) - 1 - len(last)
		}
		if taken(append(append(first[:len(first):len(first)], last...), elided, next), widths) > width {
			break
		}
		if next == len(first) {
			first = append(first, next)
		} else {
			last = append([]int{next}, last...)
		}
	}
	return append(append(first, elided), last...)
}

// widen raises the widths of columns evenly towards the wanted ones, while there is room; a single
// column that is too wide is cut.
func widen(width int, shown, widths, wanted []int) {
	room := width - taken(shown, widths)
	if room < 0 && len(shown) == 2 { // the first column and elided
		widths[shown[0]] = max(widths[shown[0]]+room, 1)
		return
	}
	for grown := true; grown && room > 0; {
		grown = false
		for _, column := range shown {
			if column != elided && room > 0 && widths[column] < wanted[column] {
				widths[column]++
				room--
				grown = true
			}
		}
	}
}
