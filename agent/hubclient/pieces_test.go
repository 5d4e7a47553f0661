package hubclient_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// reads notes how a body leaves, as a connection would take it.
type reads struct{ most, all int }

func (r *reads) RoundTrip(q *http.Request) (*http.Response, error) {
	into := make([]byte, 64<<10)
	for {
		n, err := q.Body.Read(into)
		r.most, r.all = max(r.most, n), r.all+n
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 2, Request: q, Body: http.NoBody,
		Header: http.Header{"Content-Type": {"application/proto"}},
	}, q.Body.Close()
}

func TestReportsLeaveInPiecesThatTheHubNeedsNoLargeBufferFor(t *testing.T) {
	line := &reads{}
	c, err := hubclient.New(hubclient.Config{URL: "https://hub.example.test", Transport: line, Token: "t", Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	status := bytes.Repeat([]byte("0123456789"), 5000)
	if _, err := c.Report(t.Context(), &agentv1.ReportRequest{Services: []*agentv1.ServiceReport{{Status: status}}}); err != nil {
		t.Fatal(err)
	}
	if line.most > 1200 || line.all < len(status) {
		t.Errorf("%d bytes left, at most %d at once", line.all, line.most)
	}
}
