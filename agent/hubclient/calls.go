package hubclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/agent/v1/agentv1connect"
	"github.com/axle-cd/axle/internal/boundedcall"
	"github.com/axle-cd/axle/internal/errcode"
)

// bearerKey carries a token other than the deploy token, for Register.
type bearerKey struct{}

func (c *Client) makeCalls() agentv1connect.AgentServiceClient {
	return agentv1connect.NewAgentServiceClient(wire{c}, strings.TrimSuffix(c.origin.String(), "/"),
		boundedcall.Client(maxAnswer))
}

// wire is the HTTP client of the calls: it adds our headers and accepts only answers
// of the hub itself.
type wire struct{ *Client }

// Do implements connect.HTTPClient.
func (w wire) Do(r *http.Request) (*http.Response, error) {
	for name, value := range w.header() {
		r.Header[name] = value
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = pieces{r.Body}
	}
	if bearer, ok := r.Context().Value(bearerKey{}).(string); ok {
		r.Header["Authorization"] = []string{"Bearer " + bearer}
	}
	answer, err := w.roundTrip(r)
	if err != nil {
		return nil, err
	}
	kind := answer.Header.Get("Content-Type")
	switch {
	case answer.StatusCode == http.StatusOK && strings.HasPrefix(kind, "application/proto"):
		return answer, nil
	case answer.StatusCode != http.StatusOK && strings.HasPrefix(kind, "application/json"):
		return answer, nil
	}
	return nil, errors.Join(refusal(answer), answer.Body.Close())
}

// pieceBytes is the most that a request sends in one frame. For each connection the
// hub keeps buffers as large as the largest frame and the largest TLS record that
// arrived. A frame of this size fits into a record no larger than those of the
// handshake.
const pieceBytes = 1200

// pieces is a body that is read in small pieces.
type pieces struct{ io.ReadCloser }

// Read implements io.Reader.
func (p pieces) Read(b []byte) (int, error) {
	return p.ReadCloser.Read(b[:min(len(b), pieceBytes)])
}

// Report stores statuses; an answer means that they are committed. Repeating a report
// is harmless.
func (c *Client) Report(ctx context.Context, r *agentv1.ReportRequest) (*agentv1.ReportResponse, error) {
	return call(ctx, c, c.calls().Report, r)
}

// ReportDiff stores what applying a service would change.
func (c *Client) ReportDiff(ctx context.Context, r *agentv1.ReportDiffRequest) error {
	_, err := call(ctx, c, c.calls().ReportDiff, r)
	return err
}

// ReportTests stores the state of tests. Repeating a report is harmless.
func (c *Client) ReportTests(ctx context.Context, r *agentv1.ReportTestsRequest) error {
	_, err := call(ctx, c, c.calls().ReportTests, r)
	return err
}

// ReportChildren stores the state of clusters that services make. Repeating a report is
// harmless.
func (c *Client) ReportChildren(ctx context.Context, r *agentv1.ReportChildrenRequest) error {
	_, err := call(ctx, c, c.calls().ReportChildren, r)
	return err
}

// ReportCleanup stores what this cluster still holds at providers, while it is being
// destroyed. Repeating a report is harmless.
func (c *Client) ReportCleanup(ctx context.Context, r *agentv1.ReportCleanupRequest) error {
	_, err := call(ctx, c, c.calls().ReportCleanup, r)
	return err
}

// Ping stores what the agent knows about its cluster.
func (c *Client) Ping(ctx context.Context, r *agentv1.PingRequest) error {
	_, err := call(ctx, c, c.calls().Ping, r)
	return err
}

func call[In, Out any](ctx context.Context, c *Client, rpc func(context.Context, *connect.Request[In]) (*connect.Response[Out], error), in *In) (*Out, error) {
	var out *Out
	err := c.retry(ctx, func(ctx context.Context) error {
		answer, err := rpc(ctx, connect.NewRequest(in))
		if err != nil {
			return explain(err)
		}
		out = answer.Msg
		return nil
	})
	return out, err
}

// explain turns a call's error into an AnswerError.
func explain(err error) error {
	var answer *AnswerError
	if errors.As(err, &answer) {
		return answer
	}
	var coded *connect.Error
	if !errors.As(err, &coded) {
		return unreachable(err)
	}
	// A wire error carries the hub's message; an error made here says what failed.
	if !connect.IsWireError(coded) {
		answer := unreachable(errors.New(coded.Message()))
		switch coded.Code() {
		case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled, connect.CodeUnknown:
		default: // an answer that is too large, or cannot be read, comes again
			answer.away = false
		}
		return answer
	}
	code := errcode.FromRPC(uint32(coded.Code()))
	after := retryAfter(coded.Meta())
	switch code {
	case errcode.Unauthorized:
		return hold(Unauthorized, http.StatusUnauthorized, code, "the hub does not accept this agent's token: %s", coded.Message())
	case errcode.Unavailable, errcode.Exhausted:
		// A hub that starts answers that it is unavailable; one that has no room is there.
		return &AnswerError{Reason: Busy, Status: errcode.HTTPStatus(code), away: code == errcode.Unavailable, coded: errcode.New(code, "the hub is busy: %s", coded.Message()).After(max(after, 100*time.Millisecond))}
	}
	return hold(Refused, errcode.HTTPStatus(code), code, "the hub refuses: %s", coded.Message())
}
