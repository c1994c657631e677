package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/mpga/mpga/internal/redact"
)

// setLogger makes the default logger of the process write to w, as text or JSON, with URLs without
// secrets.
func setLogger(w io.Writer, level, format string, verbose int) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return usagef("--log-level %q: want debug, info, warn or error", level)
	}
	switch {
	case verbose == 1:
		l = min(l, slog.LevelInfo)
	case verbose > 1:
		l = min(l, slog.LevelDebug)
	}
	switch opt := (&slog.HandlerOptions{Level: l, ReplaceAttr: redactAttr}); format {
	case "text":
		slog.SetDefault(slog.New(slog.NewTextHandler(w, opt)))
	case "json":
		slog.SetDefault(slog.New(slog.NewJSONHandler(w, opt)))
	default:
		return usagef("--log-format %q: want text or json", format)
	}
	return nil
}

// redactAttr takes secrets from the URLs of an attribute, whoever has logged it.
func redactAttr(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(redact.Text(a.Value.String()))
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok { // some libraries' print their stacks as %+v
			a.Value = slog.StringValue(redact.Text(err.Error()))
			break
		}
		text := fmt.Sprintf("%+v", a.Value.Any())
		if shown := redact.Text(text); shown != text {
			a.Value = slog.StringValue(shown)
		}
	}
	return a
}
