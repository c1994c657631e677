package job

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/redact"
)

// TracePhases adds a span for each phase of a query that has ended, below the span of the context.
// The phases follow each other from the query's start.
func TracePhases(ctx context.Context, tracer trace.Tracer, started time.Time, stats engine.Stats) {
	for _, phase := range []engine.Phase{engine.PhasePlan, engine.PhasePartition, engine.PhaseProcess} {
		took, ok := stats.PhaseTimes[phase]
		if !ok {
			continue
		}
		_, span := tracer.Start(ctx, "phase "+string(phase), trace.WithTimestamp(started))
		if phase == engine.PhasePartition {
			span.SetAttributes(attribute.Int64("mpga.rows_read", stats.RowsRead),
				attribute.Int64("mpga.bytes_read", stats.BytesRead),
				attribute.Int64("mpga.rows_scattered", stats.RowsScattered))
		}
		if phase == engine.PhaseProcess {
			span.SetAttributes(attribute.Int64("mpga.groups", stats.Groups), attribute.Int("mpga.partitions", stats.Partitions))
		}
		started = started.Add(took)
		span.End(trace.WithTimestamp(started))
	}
}

// StatsAttributes describes a query that has ended, for its span.
func StatsAttributes(stats engine.Stats) []attribute.KeyValue {
	if stats.Route == "" {
		return nil // there was none
	}
	return []attribute.KeyValue{
		attribute.String("mpga.route", stats.Route),
		attribute.Int("mpga.threads", stats.Threads),
		attribute.Int64("mpga.rows_read", stats.RowsRead),
		attribute.Int64("mpga.bytes_read", stats.BytesRead),
		attribute.Int64("mpga.groups", stats.Groups),
		attribute.Int64("mpga.spilled_bytes", stats.SpilledBytes),
		attribute.Int64("mpga.memory_peak_bytes", stats.MemoryPeak),
	}
}

// endSpan ends a span, with an error or nil.
func endSpan(span trace.Span, err error) {
	if err := redact.Error(err); err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
