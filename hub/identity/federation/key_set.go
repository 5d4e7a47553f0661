package federation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// askAgain is the minimum time between two fetches, old the age at which
	// keys are fetched again, tooOld the age at which they are no longer
	// accepted.
	askAgain = 30 * time.Second
	old      = time.Hour
	tooOld   = 24 * time.Hour
	// fetchTimeout limits discovery and keys together; maxBody one answer.
	fetchTimeout = 10 * time.Second
	maxBody      = 1 << 20
)

// keySet holds the keys of one issuer.
type keySet struct {
	issuers    *Issuers
	url, caPEM string

	mu        sync.Mutex
	keys      []jose.JSONWebKey
	fetchedAt time.Time
	askedAt   time.Time
}

// VerifySignature implements oidc.KeySet.
func (s *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	var allowed []jose.SignatureAlgorithm
	for _, a := range algorithms {
		allowed = append(allowed, jose.SignatureAlgorithm(a))
	}
	signed, err := jose.ParseSigned(token, allowed)
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errors.New("a token must have exactly one signature")
	}
	id := signed.Signatures[0].Header.KeyID
	keys, err := s.known(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.KeyID == id || id == "" {
			if payload, err := signed.Verify(k); err == nil {
				return payload, nil
			}
		}
	}
	return nil, errors.New("no key of the issuer matches the signature")
}

// known returns the issuer's keys, and fetches them when they are old or lack
// an id. Other callers wait meanwhile, because they would fetch the same.
func (s *keySet) known(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.issuers.config.Clock.Now()
	has := id == "" && len(s.keys) > 0
	for _, k := range s.keys {
		has = has || k.KeyID == id
	}
	if has && now.Sub(s.fetchedAt) < old {
		return s.keys, nil
	}
	if s.askedAt.IsZero() || now.Sub(s.askedAt) >= askAgain {
		s.askedAt = now
		keys, err := s.fetch(ctx)
		if err == nil {
			s.keys, s.fetchedAt = keys, now
			return keys, nil
		}
		s.issuers.config.Log.Warn("the keys of an issuer cannot be fetched", logkey.Address, s.url, logkey.Error, err)
	}
	if s.fetchedAt.IsZero() || now.Sub(s.fetchedAt) > tooOld {
		return nil, errcode.New(errcode.Unavailable, "the keys of %s cannot be fetched now; try again in a minute", s.url).After(askAgain)
	}
	return s.keys, nil
}

func (s *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	// The first caller may go away; the keys are for the others too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	client, err := s.issuers.config.Client(s.caPEM)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	var found struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := s.get(ctx, client, strings.TrimSuffix(s.url, "/")+"/.well-known/openid-configuration", &found); err != nil {
		return nil, err
	}
	if found.Issuer != s.url {
		return nil, fmt.Errorf("discovery at %s names another issuer", s.url)
	}
	var set jose.JSONWebKeySet
	if err := s.get(ctx, client, found.Keys, &set); err != nil {
		return nil, err
	}
	var public []jose.JSONWebKey
	for _, k := range set.Keys {
		if k.Valid() && k.IsPublic() && k.Use != "enc" {
			public = append(public, k)
		}
	}
	if len(public) == 0 {
		return nil, fmt.Errorf("%s has no keys", s.url)
	}
	return public, nil
}

func (s *keySet) get(ctx context.Context, client *http.Client, address string, into any) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(s.issuers.config.AllowHTTP && u.Scheme == "http") {
		return fmt.Errorf("%.200q is not an https URL", address)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK || len(body) > maxBody {
		return fmt.Errorf("%s answered %s with %d bytes", address, answer.Status, len(body))
	}
	if err := bounded.JSON(body, into, bounded.Most(maxBody)); err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}
