package sdk_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

type projects struct {
	hubv1connect.UnimplementedProjectsHandler
	calls    atomic.Int32
	failures int32
	seen     []string
}

func (p *projects) List(_ context.Context, r *connect.Request[hubv1.ListProjectsRequest]) (*connect.Response[hubv1.ListProjectsResponse], error) {
	p.seen = append(p.seen, r.Header().Get("Axle-Seen"))
	if p.calls.Add(1) <= p.failures {
		return nil, connect.NewError(connect.CodeUnavailable, nil)
	}
	response := connect.NewResponse(&hubv1.ListProjectsResponse{})
	response.Header().Set("Axle-Position", "00a-1.10")
	return response, nil
}

func serve(t *testing.T, p *projects) *sdk.Client {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(hubv1connect.NewProjectsHandler(p))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	client, err := sdk.New(sdk.Config{URL: server.URL, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestUnavailableHubIsAskedAgain(t *testing.T) {
	p := &projects{failures: 2}
	if _, err := serve(t, p).Projects.List(t.Context(), connect.NewRequest(&hubv1.ListProjectsRequest{})); err != nil {
		t.Fatal(err)
	}
	if p.calls.Load() != 3 {
		t.Errorf("%d calls, want 3", p.calls.Load())
	}
}

func TestPositionIsSentBack(t *testing.T) {
	p := &projects{}
	client := serve(t, p)
	for range 2 {
		if _, err := client.Projects.List(t.Context(), connect.NewRequest(&hubv1.ListProjectsRequest{})); err != nil {
			t.Fatal(err)
		}
	}
	if p.seen[0] != "" || p.seen[1] != "00a-1.10" {
		t.Errorf("sent %q", p.seen)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	portal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>please pay</html>"))
	}))
	defer portal.Close()
	older := httptest.NewServer(http.NotFoundHandler())
	defer older.Close()
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	defer stranger.Close()
	tests := map[string]struct{ url, want string }{
		"nobody there":      {"http://127.0.0.1:1", "is it running"},
		"captive portal":    {portal.URL, "is not a hub"},
		"an older hub":      {older.URL, "the hub is older than this program"},
		"unknown authority": {stranger.URL, "--ca"},
		"no TLS":            {"http" + strings.TrimPrefix(stranger.URL, "https"), "is it https:// there?"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			client, err := sdk.New(sdk.Config{URL: tc.url})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Projects.List(t.Context(), connect.NewRequest(&hubv1.ListProjectsRequest{}))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("err = %v, want %q in it", err, tc.want)
			}
		})
	}
	if _, err := sdk.New(sdk.Config{URL: "hub.example.test"}); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("err = %v", err)
	}
}
