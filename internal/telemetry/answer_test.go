package telemetry_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/telemetry"
)

// endless gives bytes for ever.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// Half an answer is not taken for a whole one, whether it is too large or too late.
func TestAnswersAreBounded(t *testing.T) {
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for name, tc := range map[string]struct {
		ctx     context.Context
		from    io.Reader
		follows bool
		code    errcode.Code
		says    string
	}{
		"too large":      {t.Context(), endless{}, false, errcode.Unprocessable, "monitoring/prometheus:9090 is larger than 64 MiB"},
		"too late":       {late, iotest.ErrReader(context.DeadlineExceeded), false, errcode.Unavailable, "did not answer within 30s"},
		"the tail's end": {late, iotest.ErrReader(context.DeadlineExceeded), true, errcode.Unavailable, "the tail of monitoring/prometheus:9090 ends after 1h0m0s"},
	} {
		ended := 0
		body := telemetry.Bounded(tc.ctx, io.NopCloser(tc.from), "monitoring/prometheus:9090", tc.follows, func() { ended++ })
		n, err := io.Copy(io.Discard, body)
		if !errcode.Is(err, tc.code) || !strings.Contains(errcode.Text(err), tc.says) || n > telemetry.MaxAnswer {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		if body.Close(); ended != 1 {
			t.Errorf("%s: ended %d times", name, ended)
		}
	}
	body := telemetry.Bounded(t.Context(), io.NopCloser(io.LimitReader(endless{}, telemetry.MaxAnswer+1)), "x", true, func() {})
	if n, err := io.Copy(io.Discard, body); err != nil || n != telemetry.MaxAnswer+1 {
		t.Errorf("a tail: %d bytes, %v", n, err)
	}
}
