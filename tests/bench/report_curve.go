package main

import (
	"fmt"
	"strconv"

	"github.com/mpga/mpga/tests/peer"
)

// curve is the cost of a row at several points.
type curve struct {
	name    string // of what varies
	fixed   string // what does not
	points  []point
	x       func(point) int64 // what varies
	engines []string
	cpu     bool
}

// curves returns the curves that were measured.
func (r *report) curves() []curve {
	var list []curve
	if len(r.ByGroups) > 0 {
		list = append(list, curve{"groups", power(r.Header.Rows) + " rows", r.ByGroups, func(p point) int64 { return p.Groups }, []string{mpga, peer.DuckDB}, r.Header.CPUTime})
	}
	if len(r.ByRows) > 0 {
		list = append(list, curve{"rows", power(r.ByRows[0].Groups) + " groups", r.ByRows, func(p point) int64 { return p.Rows }, []string{mpga}, r.Header.CPUTime})
	}
	return list
}

func (c *curve) title() []string {
	cells := []string{c.name}
	for _, e := range c.engines {
		cells = append(cells, e+" ns/row")
	}
	return cells
}

func (c *curve) cells(p point) []string {
	cells := []string{strconv.FormatInt(c.x(p), 10)}
	for _, e := range c.engines {
		cells = append(cells, fmt.Sprintf("%.2f", p.nanos(e, c.cpu)))
	}
	return cells
}

// verdict says how smooth mpga's curve is.
func (c *curve) verdict() string {
	if len(c.points) < 2 {
		return "One point has no steps."
	}
	step, at := largestStep(c.points, mpga, c.cpu)
	return fmt.Sprintf("Cost per row by %s: the largest step up between neighbours is %.2fx, to %d %s; wanted at most %dx.",
		c.name, step, c.x(at), c.name, stepWanted)
}

// text writes the curve as columns.
func (c *curve) text() string {
	row := func(cells []string) string {
		line := ""
		for _, cell := range cells {
			line += fmt.Sprintf("%16s", cell)
		}
		return line + "\n"
	}
	text := row(c.title())
	for _, p := range c.points {
		text += row(c.cells(p))
	}
	return text + c.verdict() + "\n"
}
