package redact

import (
	"regexp"
	"strings"
)

// hidden stands for a part that is not shown.
const hidden = "***"

// Hidden stands in the place of what is hidden.
const Hidden = hidden

// scheme finds where a URL begins. Programs that take a URL for a path leave one slash of two.
var scheme = regexp.MustCompile(`(?i:https?|s3|gs|az):/+|[A-Za-z][A-Za-z0-9+.-]*://`)

// URL returns the name of a file or of an object for people. A name that is no URL is returned as
// it is.
func URL(name string) string {
	if !strings.Contains(name, ":/") { // as in every scheme, and in few names else
		return name
	}
	at := scheme.FindStringIndex(name)
	if at == nil || at[0] != 0 {
		return Text(name)
	}
	scheme, _, _ := strings.Cut(strings.ToLower(name[:at[1]]), ":")
	return name[:at[1]] + rest(scheme, name[at[1]:])
}

// Text returns a text in which every URL is for people. A URL ends at a blank, at a quote or at a
// bracket; after a quote it ends at the next quote of the kind.
func Text(text string) string {
	var b strings.Builder
	for {
		if !strings.Contains(text, ":/") { // the expression takes half a second for a megabyte
			b.WriteString(text)
			return b.String()
		}
		at := scheme.FindStringIndex(text)
		if at == nil {
			b.WriteString(text)
			return b.String()
		}
		end := at[1] + urlEnd(text[:at[0]], text[at[1]:])
		b.WriteString(text[:at[0]])
		b.WriteString(URL(text[at[0]:end]))
		text = text[end:]
	}
}

// urlEnd returns how long the rest of a URL is that follows a text and a scheme.
func urlEnd(before, rest string) int {
	if before != "" && strings.IndexByte("'\"`", before[len(before)-1]) >= 0 {
		return quotedEnd(rest, before[len(before)-1])
	}
	end := strings.IndexAny(rest, " \t\r\n'\"`<>")
	if end < 0 {
		end = len(rest)
	}
	return len(strings.TrimRight(rest[:end], ":;,.)]")) // a sentence goes on after the URL
}

// quotedEnd returns where the quote is that ends a text. A quote that is doubled, as in SQL, or
// that follows a backslash, as in Go, does not.
func quotedEnd(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i
		}
	}
	return len(text)
}

// rest redacts what follows the scheme of a URL.
func rest(scheme, text string) string {
	inKey := scheme == "s3" || scheme == "gs" || scheme == "az" // there, ? and # are characters of patterns and of keys
	user, ok := userEnd(text)
	if !ok {
		return hidden
	}
	shown := ""
	if user > 0 {
		shown, text, inKey = hidden+"@", text[user:], false
	}
	path, fragment, hasFragment := strings.Cut(text, "#")
	path, query, hasQuery := strings.Cut(path, "?")
	shown += Text(path) // which may have a URL in it
	if hasQuery {
		shown += "?" + parameters(query, inKey)
	}
	if hasFragment {
		shown += "#" + shownFragment(fragment, inKey)
	}
	return shown
}

// userEnd returns where the user and the password of a URL end behind its scheme, 0 where there are
// none. Not everybody escapes the / ? # and @ of a password; where that leaves in doubt what is a
// secret, ok is false.
func userEnd(text string) (end int, ok bool) {
	path := text
	if end := strings.IndexAny(text, "?#"); end >= 0 {
		path = text[:end]
	}
	authority, _, _ := strings.Cut(path, "/")
	switch wellFormed := !strings.Contains(authority, ":") || host.MatchString(authority); {
	case strings.Contains(authority, "@"):
		return strings.LastIndexByte(path, '@') + 1, true
	case wellFormed:
		return 0, true
	}
	end = strings.LastIndexByte(path, '@') + 1
	return end, end > 0 && !strings.Contains(text[end:], "@")
}

// host is a host with a number for a port.
var host = regexp.MustCompile(`^([^:]*|\[[0-9A-Fa-f:.%]*\]):[0-9]*$|^\[[0-9A-Fa-f:.%]*\]?$`)

// parameterName is a name as parameters have them: not the rest of a pattern or of a key.
var parameterName = regexp.MustCompile(`^[A-Za-z0-9_.~%\[\]-]+$`)

// parameters hides the values of a query. In the key of an object, parameters begin with the first
// that has a name.
func parameters(query string, inKey bool) string {
	var b strings.Builder
	for query != "" {
		end := strings.IndexAny(query, "&;")
		one := query
		if end >= 0 {
			one = query[:end]
		}
		name, _, named := strings.Cut(one, "=")
		switch {
		case named && parameterName.MatchString(name):
			b.WriteString(name + "=" + hidden)
			inKey = false
		case one == "" || inKey:
			b.WriteString(one)
		default:
			b.WriteString(hidden)
		}
		if end < 0 {
			break
		}
		b.WriteByte(query[end])
		query = query[end+1:]
	}
	return b.String()
}

// shownFragment hides a fragment: some services have tokens there. A short number is no token: Names
// puts it there.
func shownFragment(fragment string, inKey bool) string {
	const numberBytesMax = 4
	if inKey || fragment == "" || len(fragment) <= numberBytesMax && strings.Trim(fragment, "0123456789") == "" {
		return fragment
	}
	return hidden
}
