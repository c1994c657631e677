package redact

import "fmt"

// Names returns the names of files for people. Different names stay different: names that differ in
// hidden parts alone are numbered, as in https://host/x?id=*** and https://host/x?id=***#2.
func Names(names []string) []string {
	shown := make([]string, len(names))
	numbers := make(map[string]int) // of a name, among names that look the same
	alike := make(map[string]int)   // how many different names look so
	for i, name := range names {
		shown[i] = URL(name)
		if shown[i] == name {
			continue
		}
		number, known := numbers[name]
		if !known {
			alike[shown[i]]++
			number = alike[shown[i]]
			numbers[name] = number
		}
		if number > 1 {
			shown[i] += fmt.Sprintf("#%d", number)
		}
	}
	return shown
}
