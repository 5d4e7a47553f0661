package cloudauth

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

// Environment holds the settings of the hub's own role. The zero value is the
// process's environment.
type Environment struct {
	Getenv func(string) string
	// Own adds hosts that may receive the hub's own credentials.
	Own func(host string) bool
}

// Operators is the environment for hosts that an operator configured: the hub's own
// role is for those of the endpoints, too.
func Operators(getenv func(string) string, endpoints ...string) Environment {
	own := map[string]bool{}
	for _, endpoint := range endpoints {
		if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
			own[strings.ToLower(u.Hostname())] = true
		}
	}
	return Environment{Getenv: getenv, Own: func(host string) bool { return own[host] }}
}

func (e Environment) get(name string) string {
	if e.Getenv != nil {
		return e.Getenv(name)
	}
	return os.Getenv(name)
}

func (e Environment) file(name string) (string, error) {
	path := e.get(name)
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", errcode.New(errcode.Unavailable, "the hub's own identity cannot be read from %s: %w", name, err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// early is how long before its expiry a token is renewed.
const early = 5 * time.Minute

// token is a value with an expiry.
type token struct {
	value string
	until time.Time
}

// cell caches one value while it is valid.
type cell[T any] struct {
	mu    sync.Mutex
	value T
	until time.Time
}

// get returns the value, and requests another one when it expires soon.
func (c *cell[T]) get(ask func() (T, time.Time, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until.Add(-early)) {
		return c.value, nil
	}
	value, until, err := ask()
	if err != nil {
		var none T
		return none, err
	}
	// A short-lived token is used for half its life.
	if half := time.Now().Add(time.Until(until) / 2); half.After(until.Add(-early)) {
		until = half.Add(early)
	}
	c.value, c.until = value, until
	return value, nil
}

// maxAnswer limits the answer of a token service.
const maxAnswer = 1 << 20

// post sends a form and decodes the JSON answer.
func post(ctx context.Context, client *wire.Client, where string, form url.Values, into any) error {
	answer, err := client.Do(ctx, wire.Request{Method: http.MethodPost, URL: where, Body: form.Encode(),
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}, Accept: []int{400, 401, 403}})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err := wire.ReadAll(answer.Body, maxAnswer, "the token service's answer")
	if err != nil {
		return err
	}
	return read(answer, where, raw, into)
}

// read decodes the answer of a token service.
func read(answer *http.Response, where string, raw []byte, into any) error {
	if answer.StatusCode/100 != 2 {
		// Services put a short code into "error", which never holds a secret;
		// descriptions are longer and quote the request.
		var said struct {
			Error string `json:"error"`
		}
		_ = json.Unmarshal(raw, &said)
		return errcode.New(errcode.Unauthorized, "the token service %s refuses the repository's credentials: %s %.100s", hostOf(where), answer.Status, said.Error)
	}
	if err := bounded.JSON(raw, into, bounded.Most(maxAnswer)); err != nil {
		return errcode.New(errcode.Unavailable, "the token service %s did not answer with JSON", hostOf(where))
	}
	return nil
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "unknown"
	}
	return u.Host
}

// metadata calls metadata services directly, since they have link-local
// addresses, which upstreams may not have. It follows no redirect.
var metadata = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// local reads a metadata service's JSON.
func local(ctx context.Context, where string, header http.Header, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return errcode.New(errcode.Invalid, "the hub's environment names a metadata service with an invalid URL")
	}
	r.Header = header
	answer, err := metadata.Do(r)
	if err != nil {
		return errcode.Hide(errcode.Unavailable, err, "the hub's own identity is not available: its metadata service %s does not answer", r.URL.Host)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil || answer.StatusCode != http.StatusOK || bounded.JSON(raw, into, bounded.Most(maxAnswer)) != nil {
		return errcode.New(errcode.Unavailable, "the hub's own identity is not available: its metadata service %s answers %s", r.URL.Host, answer.Status)
	}
	return nil
}
