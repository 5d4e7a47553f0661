package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/internal/telemetry"
)

// maxWords bounds what of a store's own error is shown.
const maxWords = 500

// Get asks the store for a path of its API, which internal/telemetry lists, and returns a
// successful answer; it bounds bytes and time, and takes a place of a pool until the answer
// is closed. It enforces nothing: values are sent as they are.
func (t *Target) Get(ctx context.Context, path string, values url.Values) (io.ReadCloser, error) {
	rawQuery := values.Encode()
	if _, err := t.Source.Type.Check(path, rawQuery); err != nil {
		return nil, err
	}
	o := t.observer
	place, err := o.questions.Wait(ctx, t.ask.Caller.Principal.Sharing())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, telemetry.Within)
	allowed := func() {}
	end := func() {
		allowed()
		cancel()
		place.Leave()
	}
	var answer *Answer
	if t.Source.service != (telemetry.Service{}) {
		answer, err = o.config.Agents.Get(ctx, t.ask.Caller, t.ask.Cluster, t.Source.service, path, rawQuery, t.Source.Tenant)
	} else {
		// No tunnel ends it with the caller's right.
		during, done, problem := o.config.Agents.While(ctx, t.ask.Caller, t.ask.Cluster)
		if err = problem; err == nil {
			ctx, allowed = during, done
			answer, err = t.byURL(ctx, path, rawQuery)
		}
	}
	if err == nil {
		if err = t.refused(answer); err != nil {
			answer.Body.Close()
		}
	}
	if err != nil {
		end()
		return nil, telemetry.Ended(ctx, err, t.store(), false)
	}
	return telemetry.Bounded(ctx, answer.Body, t.store(), false, end), nil
}

// store names the target's store for people.
func (t *Target) store() string { return t.Source.Type.Title() + " at " + t.Source.At }

// byURL asks a store outside of the cluster.
func (t *Target) byURL(ctx context.Context, path, rawQuery string) (*Answer, error) {
	s := t.Source.settings
	held, err := t.observer.open(ctx, t.Source.objectID, s)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.URL, "/")+path+"?"+rawQuery, nil)
	if err != nil {
		return nil, invalid("url", "is not one that can be asked")
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "axle")
	// What is compressed is not what was bounded.
	request.Header.Set("Accept-Encoding", "identity")
	if s.Tenant != "" {
		request.Header.Set("X-Scope-OrgID", s.Tenant)
	}
	// Without a credential, which follows no changed address, nothing is sent in its place.
	switch {
	case held.Password != "":
		request.SetBasicAuth(s.Username, held.Password)
	case held.Token != "":
		request.Header.Set("Authorization", "Bearer "+held.Token)
	}
	transport := t.observer.direct
	if s.CA != "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM([]byte(s.CA))
		transport = t.observer.config.Transport(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots})
		transport.DisableKeepAlives = true
	}
	// A transport follows no redirect.
	response, err := transport.RoundTrip(request)
	if err != nil {
		var coded *errcode.Error
		if errors.As(err, &coded) {
			return nil, coded
		}
		return nil, errcode.Hide(errcode.Unavailable, err, "%s at %s cannot be reached: %s", t.Source.Type.Title(), s.URL, plain.Line(err.Error(), maxWords))
	}
	return &Answer{Status: response.StatusCode, ContentType: response.Header.Get("Content-Type"), Location: response.Header.Get("Location"), Body: response.Body}, nil
}

// refused returns an error that says what, where and what to do, for an answer that is none
// of the store's API.
func (t *Target) refused(a *Answer) error {
	what, at := t.Source.Type.Title(), t.Source.At
	kind, _, _ := mime.ParseMediaType(a.ContentType)
	change := "change its TelemetrySource"
	if t.Source.Declared {
		change = "change the telemetry source " + t.Source.Name
	}
	switch {
	case a.Status >= 300 && a.Status < 400:
		return errcode.New(errcode.Unprocessable, "%s at %s redirects to %s, which the hub does not follow: name the address where the API is, with its path; %s", what, at, plain.Line(a.Location, maxWords), change)
	case kind == "text/html":
		return errcode.New(errcode.Unprocessable, "%s answers %d with a web page, and is not the API of %s: see the port and the path before the API; %s", at, a.Status, what, change)
	case a.Status >= 200 && a.Status < 300:
		return nil
	}
	words := said(a.Body)
	switch a.Status {
	case http.StatusBadRequest:
		return errcode.New(errcode.Invalid, "%s refuses the query: %s", what, words)
	case http.StatusUnprocessableEntity:
		return errcode.New(errcode.Unprocessable, "%s cannot answer the query: %s", what, words)
	case http.StatusUnauthorized, http.StatusForbidden:
		return errcode.New(errcode.Unprocessable, "%s at %s refuses the hub with %d: %s. See auth, username and tenant, or the rights of the agent's account on services/proxy; %s", what, at, a.Status, words, change)
	case http.StatusNotFound:
		if service := t.Source.service; service.Name != "" && words == fmt.Sprintf("services %q not found", service.Name) {
			return errcode.New(errcode.Unprocessable, "cluster %s has no Service %s in namespace %s, where %s should be; %s", t.ask.Cluster.Name, service.Name, service.Namespace, what, change)
		}
		return errcode.New(errcode.Unprocessable, "%s at %s does not have this API (404: %s): see the Service, its port and the path before the API; %s", what, at, words, change)
	case http.StatusTooManyRequests:
		return errcode.New(errcode.Unavailable, "%s at %s has too much to do (429: %s); ask again later, or for less", what, at, words)
	}
	return errcode.New(errcode.Unavailable, "%s at %s answers %d: %s. See whether its pods run", what, at, a.Status, words)
}

// said is what an error of a store says, in one line.
func said(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, 16<<10))
	var form struct {
		Error   any    `json:"error"`
		Message string `json:"message"`
	}
	words := string(text)
	if json.Unmarshal(text, &form) == nil {
		if e, ok := form.Error.(string); ok && e != "" {
			words = e
		} else if form.Message != "" {
			words = form.Message
		}
	}
	if words = plain.Line(strings.TrimSpace(words), maxWords); words == "" {
		return "without a reason"
	}
	return words
}
