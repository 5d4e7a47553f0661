package git

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/httpwords"
)

// App is a GitHub App, which may read what its installation may.
type App struct {
	ID string
	// InstallationID may be empty: GitHub is then asked for the installation of
	// the repository.
	InstallationID string
	PrivateKey     string // PEM
	// APIURL is the base of the API; empty is derived from the repository's.
	APIURL string
}

// renewBefore is how long before its expiry a token is no longer used: a fetch
// that begins with it has that time for its last request.
const renewBefore = 5 * time.Minute

// claimTime is how long the JWT of an App is valid, below the 10 minutes that
// GitHub allows; claimSkew is how far GitHub's clock may be behind ours.
const (
	claimTime = 8 * time.Minute
	claimSkew = time.Minute
)

// appLogin requests and caches the token of one App for one repository.
type appLogin struct {
	app    App
	key    *rsa.PrivateKey
	api    string
	path   string // owner/name
	client *http.Client
	now    func() time.Time

	mu    sync.Mutex
	token string
	until time.Time
	found string // the installation that GitHub returned
}

func newAppLogin(app App, loc Location, client *http.Client, now func() time.Time) (*appLogin, error) {
	if app.ID == "" || app.PrivateKey == "" {
		return nil, errcode.New(errcode.Invalid, "a GitHub App needs its id and private key; give both to the repository")
	}
	for _, id := range []string{app.ID, app.InstallationID} {
		if strings.ContainsFunc(id, func(r rune) bool { return r < '0' || r > 'z' }) {
			return nil, errcode.New(errcode.Invalid, "the id of a GitHub App or installation is a number; %.40q is not one", id)
		}
	}
	key, err := parseRSA(app.PrivateKey)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the GitHub App's private key cannot be read: %w; give the PEM file that GitHub made", err)
	}
	l := &appLogin{app: app, key: key, api: strings.TrimRight(app.APIURL, "/"), client: client, now: now,
		path: strings.TrimSuffix(strings.Trim(loc.Path, "/"), ".git")}
	switch {
	case l.api != "":
	case loc.Host == "github.com":
		l.api = "https://api.github.com"
	default:
		l.api = "https://" + loc.Host + "/api/v3"
	}
	return l, nil
}

func parseRSA(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("it is not an RSA key")
	}
	if key, ok := key.(*rsa.PrivateKey); ok {
		return key, nil
	}
	return nil, errors.New("it is not an RSA key")
}

// get returns a token that is valid for at least some minutes.
func (l *appLogin) get(ctx context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token != "" && l.now().Add(renewBefore).Before(l.until) {
		return l.token, nil
	}
	installation := or(l.app.InstallationID, l.found)
	if installation == "" {
		var got struct{ ID int64 }
		if err := l.call(ctx, http.MethodGet, "/repos/"+l.path+"/installation", nil, &got); err != nil {
			return "", err
		}
		installation = strconv.FormatInt(got.ID, 10)
		l.found = installation
	}
	var got struct {
		Token     string
		ExpiresAt time.Time `json:"expires_at"`
	}
	body := []byte(`{"permissions":{"contents":"read"}}`)
	if err := l.call(ctx, http.MethodPost, "/app/installations/"+installation+"/access_tokens", body, &got); err != nil {
		return "", err
	}
	if got.Token == "" {
		return "", errcode.New(errcode.Unavailable, "%s answered without a token", l.api)
	}
	l.token, l.until = got.Token, got.ExpiresAt
	return l.token, nil
}

// forget drops a token that the server refused. It reports whether it dropped
// one, so that one retry makes sense.
func (l *appLogin) forget(token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if token == "" || l.token != token {
		return false
	}
	l.token = ""
	return true
}

func (l *appLogin) call(ctx context.Context, method, path string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	claim, err := l.claim()
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, l.api+path, bytes.NewReader(body))
	if err != nil {
		return errcode.New(errcode.Invalid, "the API URL of the GitHub App is not a URL")
	}
	r.Header.Set("Authorization", "Bearer "+claim)
	r.Header.Set("Accept", "application/vnd.github+json")
	r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	r.Header.Set("User-Agent", "axle")
	resp, err := l.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return l.refused(resp, raw, path)
	}
	if err := bounded.JSON(raw, out, bounded.Most(len(raw))); err != nil {
		return errcode.New(errcode.Unavailable, "%s did not answer as GitHub's API (content type %q); check the API URL", l.api, resp.Header.Get("Content-Type"))
	}
	return nil
}

// refused converts GitHub's refusal into an error.
func (l *appLogin) refused(resp *http.Response, raw []byte, path string) error {
	var body struct{ Message string }
	_ = json.Unmarshal(raw, &body)
	said := or(httpwords.Line(body.Message), resp.Status)
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return errcode.New(errcode.Unauthorized, "%s refuses the GitHub App %s: %s; check its id and private key", l.api, l.app.ID, said)
	case http.StatusNotFound:
		return errcode.New(errcode.NotFound, "%s has no installation for %s: %s; check the installation id, and that the App is installed for the repository", l.api, path, said)
	case http.StatusForbidden, http.StatusUnprocessableEntity:
		return errcode.New(errcode.Forbidden, "%s gives the GitHub App %s no token: %s; it needs the permission to read contents", l.api, l.app.ID, said).After(retryAfter(resp.Header, l.now()))
	}
	return errcode.New(errcode.Unavailable, "%s answered HTTP %d: %s", l.api, resp.StatusCode, said).After(retryAfter(resp.Header, l.now()))
}

// claim returns the JWT that authenticates an App.
func (l *appLogin) claim() (string, error) {
	now := l.now()
	body, err := json.Marshal(map[string]any{"iat": now.Add(-claimSkew).Unix(), "exp": now.Add(claimTime).Unix(), "iss": l.app.ID})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, l.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign the claim of the GitHub App: %w", err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig), nil
}
