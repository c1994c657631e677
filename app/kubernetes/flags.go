package kubernetes

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Volume is a PersistentVolumeClaim that pods mount.
type Volume struct {
	Claim    string
	Path     string // where it is mounted, absolute
	ReadOnly bool
}

// ParseVolume reads CLAIM:/path, or CLAIM:/path:ro.
func ParseVolume(text string) (v Volume, err error) {
	claim, at, ok := strings.Cut(text, ":")
	at, v.ReadOnly = strings.CutSuffix(at, ":ro")
	v.Claim, v.Path = claim, at
	switch {
	case !ok || !isSubdomain(claim):
		return v, fmt.Errorf("%q: want CLAIM:/path, or CLAIM:/path:ro to read only", text)
	case !utf8.ValidString(at) || strings.Contains(at, ":") || !path.IsAbs(at) || path.Clean(at) != at || at == "/":
		return v, fmt.Errorf("%q: want an absolute path below /, without : and a slash at its end", text)
	}
	return v, nil
}

// EnvFrom is a Secret or a ConfigMap.
type EnvFrom struct {
	Kind string // "secret" or "configmap"
	Name string
}

// ParseEnvFrom reads secret/NAME or configmap/NAME.
func ParseEnvFrom(text string) (e EnvFrom, err error) {
	e.Kind, e.Name, _ = strings.Cut(text, "/")
	if e.Kind != "secret" && e.Kind != "configmap" || !isSubdomain(e.Name) {
		return e, fmt.Errorf("%q: want secret/NAME or configmap/NAME", text)
	}
	return e, nil
}

// Label is a label of a node.
type Label struct{ Key, Value string }

var (
	namePattern  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	taintPattern = regexp.MustCompile(`^(NoSchedule|PreferNoSchedule|NoExecute)?$`)
)

// isLabelKey says whether a text is a name, or a DNS subdomain, a slash and a name.
func isLabelKey(text string) bool {
	prefix, name, ok := strings.Cut(text, "/")
	if !ok {
		return namePattern.MatchString(text)
	}
	return isSubdomain(prefix) && namePattern.MatchString(name)
}

func isLabelValue(text string) bool { return text == "" || namePattern.MatchString(text) }

// ParseLabel reads KEY=VALUE.
func ParseLabel(text string) (l Label, err error) {
	var ok bool
	if l.Key, l.Value, ok = strings.Cut(text, "="); !ok || !isLabelKey(l.Key) || !isLabelValue(l.Value) {
		return l, fmt.Errorf("%q: want KEY=VALUE, as a label of a node is", text)
	}
	return l, nil
}

// checkLabels refuses two values of a label.
func checkLabels(labels []Label) error {
	values := make(map[string]string)
	var errs []error
	for _, l := range labels {
		if other, ok := values[l.Key]; ok {
			errs = append(errs, fmt.Errorf("node selector %s: %q and %q, and a node has one of them", l.Key, other, l.Value))
		}
		values[l.Key] = l.Value
	}
	return errors.Join(errs...)
}

// Toleration lets pods run on nodes with a taint.
type Toleration struct {
	Key, Value string
	AnyValue   bool
	Effect     string // "" is every effect
}

// ParseToleration reads KEY[=VALUE][:EFFECT], as kubectl taint writes a taint.
func ParseToleration(text string) (t Toleration, err error) {
	taint, effect, hasEffect := strings.Cut(text, ":")
	key, value, hasValue := strings.Cut(taint, "=")
	if !isLabelKey(key) || !isLabelValue(value) || !taintPattern.MatchString(effect) || hasEffect && effect == "" {
		return t, fmt.Errorf("%q: want KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT, "+
			"with an effect of NoSchedule, PreferNoSchedule or NoExecute", text)
	}
	return Toleration{Key: key, Value: value, AnyValue: !hasValue, Effect: effect}, nil
}

// User is a user and a group by their numbers.
type User struct{ UID, GID int64 }

// ParseUser reads UID or UID:GID. A group that is not given has the user's number.
func ParseUser(text string) (u User, err error) {
	uid, gid, ok := strings.Cut(text, ":")
	if !ok {
		gid = uid
	}
	if u.UID, err = strconv.ParseInt(uid, 10, 64); err == nil {
		u.GID, err = strconv.ParseInt(gid, 10, 64)
	}
	if err != nil || u.UID < 1 || u.GID < 1 || u.UID > math.MaxInt32 || u.GID > math.MaxInt32 {
		return u, fmt.Errorf("%q: want UID or UID:GID, of a user that is not root", text)
	}
	return u, nil
}
