package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// traces takes the spans of a command to a collector, to a file or to both.
type traces struct {
	provider *sdktrace.TracerProvider
	file     *traceFile // nil without --otlp-file
}

// startTraces returns nil unless a file is named or the environment asks for an exporter:
// OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_TRACES_EXPORTER=otlp.
func startTraces(ctx context.Context, path string) (*traces, error) {
	var exporters []sdktrace.TracerProviderOption
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { slog.Warn("traces are not complete", "error", err) }))
	otel.SetLogger(logr.New(traceLog{}))
	if traceExporterAsked() {
		exporter, err := newExporter(ctx)
		if err != nil {
			return nil, redact.Error(err)
		}
		exporters = append(exporters, sdktrace.WithBatcher(exporter))
	}
	t := &traces{}
	if path != "" {
		t.file = &traceFile{path: path}
		exporter, err := otlptrace.New(ctx, t.file)
		if err != nil {
			return nil, err
		}
		exporters = append(exporters, sdktrace.WithBatcher(exporter))
	}
	if len(exporters) == 0 {
		return nil, nil
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "mpga"),
			attribute.String("service.version", buildVersion())),
		resource.WithHost(), resource.WithProcessPID(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, usagef("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t.provider = sdktrace.NewTracerProvider(append(exporters, sdktrace.WithResource(about))...)
	return t, nil
}

// traceLog takes what the library has to say of its environment. The library would print the
// variables, and OTEL_EXPORTER_OTLP_HEADERS has credentials.
type traceLog struct{}

func (traceLog) Init(logr.RuntimeInfo)            {}
func (traceLog) Enabled(int) bool                 { return false }
func (traceLog) Info(int, string, ...any)         {}
func (l traceLog) WithValues(...any) logr.LogSink { return l }
func (l traceLog) WithName(string) logr.LogSink   { return l }
func (traceLog) Error(_ error, what string, _ ...any) {
	slog.Warn("a variable OTEL_EXPORTER_OTLP_... cannot be read", "doing", what)
}

// traceExporterAsked reads the standard variables that say whether spans are exported.
func traceExporterAsked() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	switch os.Getenv("OTEL_TRACES_EXPORTER") {
	case "otlp":
		return true
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	}
	return false
}

// newExporter returns the exporter of the protocol that the environment names; it reads all else
// from there.
func newExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	protocol := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	switch protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	}
	return nil, usagef("OTEL_EXPORTER_OTLP_PROTOCOL %q: want http/protobuf or grpc", protocol)
}

// parent makes the spans part of the trace that TRACEPARENT names, as a scheduler may set it.
func (t *traces) parent(ctx context.Context) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{
		"traceparent": os.Getenv("TRACEPARENT"), "tracestate": os.Getenv("TRACESTATE"),
	})
}

// stop sends and writes the spans that are left. A collector that does not answer is a warning, not
// an error: the work is done.
func (t *traces) stop(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		slog.Warn("traces are not complete", "error", err)
	}
	if t.file == nil {
		return nil
	}
	if err := vfs.WriteFile(vfs.OS, t.file.path, t.file.text.Bytes()); err != nil {
		return fmt.Errorf("--otlp-file: %w", err)
	}
	return nil
}

// traceFile collects spans as OTLP's JSON, a line for each batch: what the file receiver of a
// collector reads.
type traceFile struct {
	path string
	mu   sync.Mutex
	text bytes.Buffer
}

var _ otlptrace.Client = (*traceFile)(nil)

func (f *traceFile) Start(context.Context) error { return nil }
func (f *traceFile) Stop(context.Context) error  { return nil }

// UploadTraces implements otlptrace.Client.
func (f *traceFile) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	line, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text.Write(idsAsHex(line))
	f.text.WriteByte('\n')
	return nil
}

var traceIDs = regexp.MustCompile(`"(traceId|spanId|parentSpanId)": ?"([A-Za-z0-9+/=]+)"`)

// idsAsHex rewrites identifiers, which OTLP's JSON has in hex and protobuf's in base64. Text inside
// of strings does not match: its quotes are escaped.
func idsAsHex(line []byte) []byte {
	return traceIDs.ReplaceAllFunc(line, func(match []byte) []byte {
		part := traceIDs.FindSubmatch(match)
		id, err := base64.StdEncoding.DecodeString(string(part[2]))
		if err != nil {
			return match
		}
		return []byte(`"` + string(part[1]) + `":"` + hex.EncodeToString(id) + `"`)
	})
}
