// Package tracing follows one request through the hub: from an agent's poll or
// a tarball's download, over the replica that owns the repository, to the look
// at upstream. It speaks OpenTelemetry's API and, once Setup was called, sends
// spans to a collector by OTLP over HTTP.
//
// It names no component and holds no secrets: callers give names and plain
// attributes, never URLs with users, tokens or values. Agents do not link it.
//
// Invariants: without Setup a span costs one atomic read and no allocation; a
// collector that is away costs dropped spans, never a wait: at most 2,048 wait
// in memory.
package tracing

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/axle-cd/axle/internal/errcode"
)

const scope = "github.com/axle-cd/axle"

// closeTimeout bounds what the last spans get when the program ends.
const closeTimeout = 3 * time.Second

var (
	enabled    atomic.Bool
	propagator = propagation.TraceContext{}
)

// Config says where spans go. An empty Endpoint sends none.
type Config struct {
	// Endpoint is a collector's base URL, as http://otel-collector:4318.
	Endpoint string
	// Ratio of the traces begun here that are kept, 0 to 1. A caller's own
	// decision is followed.
	Ratio float64
	// Service and Instance name this process.
	Service, Instance string
	// Version of the build.
	Version string
}

// Setup begins to send spans and returns what ends it, sending those that
// wait. errcode.Invalid.
func Setup(ctx context.Context, c Config) (func(), error) {
	if c.Endpoint == "" {
		return func() {}, nil
	}
	if !strings.HasPrefix(c.Endpoint, "http://") && !strings.HasPrefix(c.Endpoint, "https://") {
		return nil, errcode.New(errcode.Invalid, "the trace collector %q is no http or https URL", c.Endpoint)
	}
	if c.Ratio < 0 || c.Ratio > 1 {
		return nil, errcode.New(errcode.Invalid, "the ratio of traces is %v; it must be between 0 and 1", c.Ratio)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimSuffix(c.Endpoint, "/")+"/v1/traces"))
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the trace collector %q cannot be used: %w", c.Endpoint, err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.Ratio))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", c.Service), attribute.String("service.instance.id", c.Instance), attribute.String("service.version", c.Version),
		)),
	)
	otel.SetTracerProvider(provider)
	enabled.Store(true)
	return func() {
		enabled.Store(false)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		// What could not be sent now is lost, as spans may be.
		_ = provider.Shutdown(ctx)
	}, nil
}

// Span is one piece of work; the zero value does nothing.
type Span struct{ span trace.Span }

// Start begins a span below that of ctx, if any. End it.
func Start(ctx context.Context, name string) (context.Context, Span) {
	if !enabled.Load() {
		return ctx, Span{}
	}
	ctx, span := otel.Tracer(scope).Start(ctx, name)
	return ctx, Span{span}
}

// Set adds an attribute.
func (s Span) Set(key, value string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// SetInt adds a number.
func (s Span) SetInt(key string, value int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// End ends the span; an error marks it by its code and message for people,
// which hold no secrets.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, errcode.Message(err))
		s.span.SetAttributes(attribute.String("axle.error", string(errcode.Of(err))))
	}
	s.span.End()
}

// FromHeader continues the trace of a caller.
func FromHeader(ctx context.Context, h http.Header) context.Context {
	if !enabled.Load() {
		return ctx
	}
	return propagator.Extract(ctx, propagation.HeaderCarrier(h))
}

// ToHeader lets a callee continue the trace of ctx.
func ToHeader(ctx context.Context, h http.Header) {
	if enabled.Load() {
		propagator.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// Handler begins a span for each request, named by name; the empty name begins
// none.
func Handler(next http.Handler, name func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !enabled.Load() {
			next.ServeHTTP(w, r)
			return
		}
		called := name(r)
		if called == "" {
			next.ServeHTTP(w, r)
			return
		}
		ctx, span := Start(FromHeader(r.Context(), r.Header), called)
		defer span.End(nil)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
