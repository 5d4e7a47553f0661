package backend

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// callTimeout limits one call, maxAnswer the size of one answer.
	callTimeout = 20 * time.Second
	maxAnswer   = 4 << 20
)

// newHTTP creates a client that trusts the authority in a file in addition to
// the system's, and follows no redirects: a token is for one host.
func newHTTP(caFile string) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "caFile: %w", err)
		}
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			config.RootCAs = x509.NewCertPool()
		}
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errcode.New(errcode.Invalid, "caFile: %s contains no PEM certificate", caFile)
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	return &http.Client{Timeout: callTimeout, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// call is one request with a JSON body.
type call struct {
	what   string // the target, for errors
	method string
	url    string
	body   any
	header http.Header
	// sign adds the credentials.
	sign func(ctx context.Context, r *http.Request, body []byte) error
}

// answer is the response to a call.
type answer struct {
	status int
	body   []byte
}

func (a answer) ok() bool { return a.status/100 == 2 }

// do makes the call. Only a missing answer is an error.
func do(ctx context.Context, client *http.Client, c call) (answer, error) {
	var body []byte
	if c.body != nil {
		var err error
		if body, err = json.Marshal(c.body); err != nil {
			return answer{}, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, c.method, c.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, errcode.New(errcode.Invalid, "%s: is not a URL", c.what)
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	if c.body != nil && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.sign != nil {
		if err := c.sign(ctx, r, body); err != nil {
			return answer{}, err
		}
	}
	response, err := client.Do(r)
	if err != nil {
		// The cause names the URL, which may hold a user's path, and never a
		// header or a body.
		var refused *url.Error
		if errors.As(err, &refused) {
			err = refused.Err
		}
		return answer{}, errcode.New(errcode.Unavailable, "%s does not answer: %w", c.what, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil || len(text) > maxAnswer {
		return answer{}, errcode.New(errcode.Unavailable, "%s: the answer ended early or is longer than %d MiB", c.what, maxAnswer>>20)
	}
	return answer{response.StatusCode, text}, nil
}

// refusal converts a status into an error. It leaves out the answer's text,
// because some services quote the request.
func refusal(what, path string, a answer) error {
	code := errcode.Unavailable
	hint := "the hub retries"
	switch a.status {
	case http.StatusNotFound:
		return errcode.New(errcode.NotFound, "%s has nothing at %q", what, path)
	case http.StatusUnauthorized, http.StatusForbidden:
		code, hint = errcode.Forbidden, "its credentials or policy do not allow this"
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		code, hint = errcode.Invalid, "it does not accept the request"
	case http.StatusTooManyRequests:
		code = errcode.Unavailable
	}
	return errcode.New(code, "%s answers %d %s for %q; %s", what, a.status, http.StatusText(a.status), path, hint)
}

// decode decodes an answer's JSON.
func decode(what string, a answer, into any) error {
	if bounded.JSON(a.body, into, bounded.Most(maxAnswer)) != nil {
		return errcode.New(errcode.Unavailable, "%s sent an answer that cannot be parsed", what)
	}
	return nil
}

// fields splits the text of a secret: the keys of a JSON object, with other
// values than texts as JSON; any other text becomes the key "value".
func fields(text string) map[string]string {
	var object map[string]json.RawMessage
	if bounded.JSON([]byte(text), &object, bounded.Most(maxAnswer)) != nil || object == nil {
		return map[string]string{"value": text}
	}
	out := make(map[string]string, len(object))
	for key, raw := range object {
		var plain string
		if json.Unmarshal(raw, &plain) != nil {
			plain = string(raw)
		}
		out[key] = plain
	}
	return out
}

func text(values map[string]string) (string, error) {
	out, err := json.Marshal(values)
	return string(out), err
}

// secretFile reads the file of a setting, each time again so that it may be
// rotated.
func secretFile(setting, path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", errcode.New(errcode.Unavailable, "%s: %w", setting, err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// tokenClient calls the clouds' token services.
func tokenClient(plainHTTP bool) (*wire.Client, error) {
	return wire.New(wire.Config{Dialer: &wire.Anywhere{}, AllowHTTP: plainHTTP})
}

// checkEndpoint refuses invalid URLs, and plain HTTP except to this machine.
func checkEndpoint(setting, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || u.User != nil {
		return errcode.New(errcode.Invalid, "%s: %q is not an https URL", setting, raw)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errcode.New(errcode.Invalid, "%s: %s would send secrets unencrypted; use https", setting, u.Redacted())
	}
	return nil
}

// escaped escapes a path and keeps its slashes.
func escaped(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// checkPath refuses paths that could leave the configured mount, project or
// namespace.
func checkPath(path string) error {
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "\x00\\") {
			return errcode.New(errcode.Invalid, "%.200q is not a valid path of a secret", path)
		}
	}
	return nil
}
