package authproxy

import (
	"net/http"
	"slices"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// An agent that is taken over, or of before, sends nobody elsewhere with their token:
// redirects lead below the cluster's own address, or are refused.
func TestRedirectsStayInTheCluster(t *testing.T) {
	s := newStage(t, nil)
	ann := []string{"Authorization", "Bearer axle_tok_ann"}
	const below = Prefix + "edge"
	for _, test := range []struct {
		status    int32
		locations []string
		want      string
	}{
		{302, []string{"/api/v1/pods/"}, below + "/api/v1/pods/"}, {307, []string{"/x?y=%2Fz"}, below + "/x?y=%2Fz"}, {201, []string{"/x"}, below + "/x"},
		{302, []string{"https://evil.example/"}, ""}, {307, []string{"//evil.example/"}, ""}, {308, []string{`/\evil.example/`}, ""}, {301, []string{"/../other/api/v1/secrets"}, ""},
		{307, []string{"/%2e%2e/other/api"}, ""}, {307, []string{"/api//v1"}, ""}, {302, []string{"/a", "https://evil.example/"}, ""}, {302, []string{"/a", "/b"}, ""}, {302, []string{"https:x"}, ""},
		{302, []string{"https://hub/api"}, ""},
	} {
		for name, more := range map[string][]string{"a request": nil, "an upgrade": webSocketUpgrade} {
			for _, header := range []string{"Location", "location"} {
				s.answer = &agentv1.StreamAnswer{Status: test.status, Headers: []*agentv1.StreamHeader{{Name: header, Values: test.locations}}}
				got, _, h := s.do(http.MethodGet, below+"/api/v1/pods", append(slices.Clone(ann), more...)...)
				if test.want == "" && (got != http.StatusForbidden || h.Get("Location") != "") || test.want != "" && (got != int(test.status) || !slices.Equal(h["Location"], []string{test.want})) {
					t.Errorf("%s: %d to %q: answered %d to %q, want %q", name, test.status, test.locations, got, h["Location"], test.want)
				}
			}
		}
	}
	s.answer = &agentv1.StreamAnswer{Status: 201, Headers: []*agentv1.StreamHeader{{Name: "Location", Values: []string{"https://evil.example/"}}}}
	if got, _, h := s.do(http.MethodPost, below+"/api/v1/pods", ann...); got != 201 || h.Get("Location") != "" {
		t.Errorf("created: %d to %q", got, h["Location"])
	}
}
