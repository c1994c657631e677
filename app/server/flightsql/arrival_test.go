//go:build cgo

package flightsql

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

// Would catch a client that holds a stream of a connection by a call whose message never comes, or stops in its middle.
func TestStoppedMessage(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10, arrival: 200 * time.Millisecond})
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	stopped := func(method, begin string) (code string, err error) {
		body, send := io.Pipe()
		defer send.Close()
		url := "http://" + h.address + "/arrow.flight.protocol.FlightService/" + method
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
		if err != nil {
			return "", err
		}
		r.Header.Set("Content-Type", "application/grpc")
		r.Header.Set("Te", "trailers")
		go func() { _, _ = io.WriteString(send, begin) }()
		response, err := transport.RoundTrip(r)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		return response.Header.Get("Grpc-Status"), err
	}
	var all sync.WaitGroup
	for _, method := range []string{"GetFlightInfo", "GetSchema", "DoGet", "DoAction", "ListFlights", "ListActions"} {
		for _, begin := range []string{"", "\x00\x00", "\x00\x00\x00\x01\x00half"} {
			all.Go(func() {
				code, err := stopped(method, begin)
				if want := strconv.Itoa(int(codes.Canceled)); err != nil || code != want {
					t.Errorf("%s, after %q: code %s, %v, want code %s", method, begin, code, err, want)
				}
			})
		}
	}
	all.Wait()
	h.rests(t)
}
