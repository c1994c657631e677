package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// known refuses a request without a token, where tokens are asked. W1.
func (s *Service) known(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ok := s.client(r); !ok {
			closeUnread(w, r)
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, errToken.Error(), http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

// metrics writes the server's metrics in Prometheus' text format.
func (s *Service) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	counts, totals, memory := s.opt.Server.Counts(), s.opt.Server.Totals(), s.opt.Server.Memory()
	var b strings.Builder
	put := func(name, kind, help string, value float64, labels string) {
		if help != "" {
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		}
		fmt.Fprintf(&b, "%s%s %s\n", name, labels, strconv.FormatFloat(value, 'g', -1, 64))
	}
	put("mpga_server_info", "gauge", "1, with the version of the program.",
		1, fmt.Sprintf("{version=%q}", s.opt.Version))
	put("mpga_server_sessions", "gauge", "Sessions that are open.", float64(counts.Sessions), "")
	put("mpga_server_queries_running", "gauge", "Statements that have a place.",
		float64(counts.Running), "")
	put("mpga_server_queries_waiting", "gauge", "Statements that wait for a place.",
		float64(counts.Waiting), "")
	put("mpga_server_queries_total", "counter", "Statements that have ended, by how.",
		float64(totals.Done), `{state="done"}`)
	put("mpga_server_queries_total", "", "", float64(totals.Failed), `{state="failed"}`)
	put("mpga_server_queries_total", "", "", float64(totals.Cancelled), `{state="cancelled"}`)
	put("mpga_server_query_seconds_total", "counter",
		"How long statements took, waiting for places apart.", totals.Seconds, "")
	put("mpga_server_query_wait_seconds_total", "counter", "How long statements waited for places.",
		totals.WaitedSeconds, "")
	put("mpga_server_rows_returned_total", "counter", "Rows of results that clients have taken.",
		float64(totals.Rows), "")
	put("mpga_server_rows_read_total", "counter", "Rows that statements have read.",
		float64(totals.RowsRead), "")
	put("mpga_server_bytes_read_total", "counter",
		"Bytes that statements have read of their input, in its own form.", float64(totals.BytesRead), "")
	put("mpga_server_spilled_bytes_total", "counter",
		"Bytes that statements have written to temporary files.", float64(totals.SpilledBytes), "")
	put("mpga_server_device_queries_total", "counter", "Statements that devices had a part in.",
		float64(totals.DeviceRuns), "")
	put("mpga_server_resident_bytes", "gauge", "Bytes that the process has resident.",
		float64(memory.Resident), "")
	put("mpga_server_memory_limit_bytes", "gauge", "The limit of the above while statements run.",
		float64(memory.Limit), "")
	put("mpga_server_temporary_table_bytes", "gauge", "Bytes of temporary tables in memory.",
		float64(memory.Temporary), "")
	_, _ = w.Write([]byte(b.String())) // the client may have gone
}
