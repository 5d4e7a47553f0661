package authproxy

import (
	"cmp"
	"net/http"
	"strconv"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

// harmless sets headers that make a browser ignore the content: what a pod
// serves must not run as if it were the hub's own page.
func harmless(h http.Header) {
	h["Content-Security-Policy"] = []string{"sandbox; default-src 'none'"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["Cache-Control"] = []string{"no-store"}
}

// lost are response headers that would have effects beyond the response: on the
// browser's storage for this origin, or on its next request.
var lost = map[string]bool{
	"Set-Cookie": true, "Set-Cookie2": true, "Clear-Site-Data": true, "Service-Worker-Allowed": true, "Strict-Transport-Security": true,
	"Content-Security-Policy": true, "Content-Security-Policy-Report-Only": true, "X-Content-Type-Options": true, "Cache-Control": true,
	"Alt-Svc": true, "Public-Key-Pins": true, "Public-Key-Pins-Report-Only": true, "Expect-Ct": true, "Report-To": true, "Reporting-Endpoints": true,
	"Nel": true, "Refresh": true, "Origin-Agent-Cluster": true, "Accept-Ch": true, "Critical-Ch": true, "Speculation-Rules": true, "Sourcemap": true,
}

// setHeaders writes an answer's headers over w's. It writes none, and returns Forbidden,
// for a redirect that leads out of the cluster: an agent of before does not refuse it.
func (a *parsedRequest) setHeaders(h http.Header, answer *agentv1.StreamAnswer) error {
	locations, err := a.locations(answer)
	if err != nil {
		return err
	}
	for _, header := range answer.GetHeaders() {
		name := http.CanonicalHeaderKey(header.GetName())
		if lost[name] || name == "Location" || kubereq.HopHeader(name) && name != "Content-Length" {
			continue
		}
		h[name] = append(h[name], header.GetValues()...)
	}
	if len(locations) > 0 {
		h["Location"] = locations
	}
	return nil
}

// locations returns where an answer leads, as a path of the hub: at most one.
func (a *parsedRequest) locations(answer *agentv1.StreamAnswer) (all []string, err error) {
	for _, header := range answer.GetHeaders() {
		if http.CanonicalHeaderKey(header.GetName()) != "Location" {
			continue
		}
		for _, value := range header.GetValues() {
			to, lerr := kubereq.Location(nil, a.head.GetRequestUri(), value)
			if err = cmp.Or(err, lerr); lerr == nil {
				all = append(all, Prefix+a.handle+to)
			}
		}
	}
	if len(all) > 1 {
		err = errcode.New(errcode.Forbidden, "the cluster answered with %d locations", len(all))
	}
	switch {
	case err == nil:
		return all, nil
	case kubereq.Redirects(int(answer.GetStatus())):
		return nil, err
	}
	return nil, nil
}

// refuse answers with a hub error in the form of an API server's.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	code, body, after := kubereq.Status(err)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if after > 0 {
		h.Set("Retry-After", strconv.Itoa(after))
	}
	if code == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="axle"`)
	}
	if r.ProtoMajor == 1 && r.ContentLength != 0 {
		// Do not wait for the rest of a body that is not needed.
		h.Set("Connection", "close")
	}
	w.WriteHeader(code)
	// The client may be gone.
	_, _ = w.Write(body)
}
