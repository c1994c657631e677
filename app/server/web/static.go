package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"time"

	"github.com/mpga/mpga/app/report"
)

//go:embed page
var pageFiles embed.FS

// policy is the page's Content-Security-Policy: its own files, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// staticFile answers with a file of the page.
func staticFile(w http.ResponseWriter, r *http.Request) { static(r.PathValue("file"))(w, r) }

// static returns what answers with a file of the page. The style and the script of reports are files of
// the page, too.
func static(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var text []byte
		switch name {
		case "report.css":
			text = []byte(report.Style)
		case "report.js":
			text = []byte(report.Script)
		default:
			var err error
			if text, err = pageFiles.ReadFile("page/" + name); err != nil {
				http.NotFound(w, r)
				return
			}
		}
		digest := sha256.Sum256(text)
		w.Header().Set("Content-Type", contentType(name))
		w.Header().Set("ETag", `"`+hex.EncodeToString(digest[:8])+`"`)
		w.Header().Set("Cache-Control", "no-cache") // but ask whether it has changed
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
	}
}

// contentType returns the type of a file of the page, whatever the system says of endings.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}
