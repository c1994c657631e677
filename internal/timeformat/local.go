package timeformat

import (
	"os"
	"strings"
	"time"
)

// LocalZone returns the name of the machine's time zone: of TZ, or of what /etc/localtime or /etc/timezone name; UTC
// where none of them has a name of the database of zones.
func LocalZone() string {
	of, isSet := os.LookupEnv("TZ")
	names := []string{strings.TrimPrefix(of, ":")}
	if !isSet {
		link, _ := os.Readlink("/etc/localtime")
		_, linked, _ := strings.Cut(link, "zoneinfo/")
		text, _ := os.ReadFile("/etc/timezone")
		names = []string{linked, strings.TrimSpace(string(text))}
	}
	for _, name := range names {
		if _, err := time.LoadLocation(name); err == nil && name != "" && name != "Local" {
			return name
		}
	}
	return "UTC"
}
