package tracing

import (
	"context"
	"net/http"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/axle-cd/axle/internal/errcode"
)

const scope = "github.com/axle-cd/axle"

var (
	enabled    atomic.Bool
	propagator = propagation.TraceContext{}
)

// Span is one piece of work; the zero value does nothing.
type Span struct{ span trace.Span }

// Start begins a span below that of ctx, if any. Call End on it.
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

// End ends the span; an error marks it with its code and message for people, which
// hold no secrets.
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

// Handler starts a span for each request, named by name; an empty name starts none.
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
