package report

import "time"

// timeSteps are the steps between round times from ten seconds on; page.js has the same.
var timeSteps = []time.Duration{
	10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
	20 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// timeTicks returns round times from 0 to a length, most or fewer behind the first.
func timeTicks(length time.Duration, most int) (list []time.Duration) {
	step := timeStep(length, time.Duration(most))
	for at := time.Duration(0); at <= length; at += step {
		list = append(list, at)
	}
	return list
}

// timeStep returns the least round time that fits at most `most` times in a length.
func timeStep(length, most time.Duration) time.Duration {
	for unit := time.Duration(1); unit < timeSteps[0]; unit *= 10 {
		for _, step := range []time.Duration{unit, 2 * unit, 5 * unit} {
			if length/step <= most {
				return step
			}
		}
	}
	for _, step := range timeSteps {
		if length/step <= most {
			return step
		}
	}
	return length
}
