package tracing

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/axle-cd/axle/internal/errcode"
)

// closeTimeout bounds the sending of the last spans when the program ends.
const closeTimeout = 3 * time.Second

// Config says where spans go. An empty Endpoint sends none.
type Config struct {
	// Endpoint is a collector's base URL, such as http://otel-collector:4318.
	Endpoint string
	// Ratio is the share of traces started here that are kept, 0 to 1. A caller's own
	// decision is respected.
	Ratio float64
	// Service and Instance name this process.
	Service, Instance string
	// Version of the build.
	Version string
}

// Setup starts sending spans and returns a function that sends the remaining ones and
// stops. Errors are Invalid.
func Setup(ctx context.Context, c Config) (func(), error) {
	if c.Endpoint == "" {
		return func() {}, nil
	}
	if !strings.HasPrefix(c.Endpoint, "http://") && !strings.HasPrefix(c.Endpoint, "https://") {
		return nil, errcode.New(errcode.Invalid, "the trace collector %q is not an http or https URL", c.Endpoint)
	}
	if c.Ratio < 0 || c.Ratio > 1 {
		return nil, errcode.New(errcode.Invalid, "the ratio of traces is %v; it must be between 0 and 1", c.Ratio)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimSuffix(c.Endpoint, "/")+"/v1/traces"))
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the trace collector %q cannot be used: %w", c.Endpoint, err)
	}
	provider := trace.NewTracerProvider(
		trace.WithBatcher(exporter),
		trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(c.Ratio))),
		trace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", c.Service), attribute.String("service.instance.id", c.Instance), attribute.String("service.version", c.Version),
		)),
	)
	otel.SetTracerProvider(provider)
	enabled.Store(true)
	return func() {
		enabled.Store(false)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		// Spans that cannot be sent now are lost, which is acceptable.
		_ = provider.Shutdown(ctx)
	}, nil
}
