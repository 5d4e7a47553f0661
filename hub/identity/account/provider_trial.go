package account

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
)

// trialLifetime is how long a login provider may be tried.
const trialLifetime = 10 * time.Minute

// trials are login providers that somebody tries before they are saved.
type trials struct {
	*common
	providers *providers
}

// TrialLink is where a person tries a login provider.
type TrialLink struct {
	// URL is where their browser begins, Callback what must be configured at the
	// provider before.
	URL, Callback string
	ExpiresAt     int64
}

// trial is what a stored trial seals.
type trial struct {
	Provider Provider
	Secret   string
}

func purposeTrial(id string) string { return "login provider on trial " + id }

// StartTrial keeps a provider for its user to try for 10 minutes, in place of the one
// before. A nil secret is the stored one of the provider with this name, and only for
// the same issuer and authority, because it must not go to another server. Invalid,
// Conflict, Forbidden for who is not a person, NotFound when a group that it maps to does
// not exist.
func (ts *trials) StartTrial(ctx context.Context, by identity.Principal, p Provider, secret *string) (id string, expires int64, err error) {
	if by.Kind != identity.KindUser || by.ID == "" {
		return "", 0, errcode.New(errcode.Forbidden, "only a person can try a login provider, because they log in there")
	}
	t := trial{}
	if t.Provider, err = p.checked(); err != nil {
		return "", 0, err
	}
	stored, kept, err := ts.providers.ProviderByName(ctx, p.Name)
	switch {
	case errcode.Is(err, errcode.NotFound):
	case err != nil:
		return "", 0, err
	case stored.Issuer != p.Issuer:
		return "", 0, errcode.New(errcode.Conflict, "login provider %s exists with the issuer %s, which cannot be changed; choose another name", p.Name, stored.Issuer)
	case secret == nil && kept != "" && stored.CAPEM != p.CAPEM:
		return "", 0, errAuthority(stored)
	default:
		t.Provider.ID, t.Secret = stored.ID, kept
	}
	if secret != nil {
		t.Secret = *secret
	}
	if err := ts.providers.groupsExist(ctx, t.Provider); err != nil {
		return "", 0, err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return "", 0, err
	}
	id, expires = identity.NewID("try_"), clock.Micros(ts.clock.Now().Add(trialLifetime))
	err = ts.writer.Write(ctx, func(ctx context.Context) error {
		return ts.stores.Trials.PutTrial(ctx, StoredTrial{UserID: by.ID, ID: id, Sealed: ts.sealer.Seal(text, purposeTrial(id)), ExpiresAt: expires})
	})
	return id, expires, err
}

// Trial returns the provider that a person tries, with its client secret, only for
// hub/login. NotFound for everybody else, and after its time.
func (ts *trials) Trial(ctx context.Context, by identity.Principal, id string) (Provider, string, error) {
	stored, err := ts.stores.Trials.Trial(ctx, by.ID)
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return Provider{}, "", err
	}
	if err != nil || subtle.ConstantTimeCompare([]byte(stored.ID), []byte(id)) != 1 || ts.now() >= stored.ExpiresAt {
		return Provider{}, "", errcode.New(errcode.NotFound, "this trial of a login provider has ended, or is another person's; try it again")
	}
	text, err := ts.sealer.Open(stored.Sealed, purposeTrial(id))
	if err != nil {
		return Provider{}, "", fmt.Errorf("the provider on trial %s: %w", id, err)
	}
	var t trial
	if err := json.Unmarshal(text, &t); err != nil {
		return Provider{}, "", err
	}
	return t.Provider, t.Secret, nil
}

// Outcome is what a login would do.
type Outcome struct {
	// User is the name of the account that would be logged in, empty when the login
	// would be refused.
	User string
	// New is set for a user who would be created, Linked for one who exists and whose
	// first login through a provider it would be.
	New, Linked bool
	// Groups are the groups of the hub that the provider would give, Ignored the values
	// of the claim that the map does not have.
	Groups, Ignored []string
}

// Preview returns what LoginBy would do, and changes nothing. Forbidden says why the
// login would be refused; the groups are there all the same.
func (ts *trials) Preview(ctx context.Context, p Provider, c Claims) (o Outcome, err error) {
	for _, value := range c.Groups {
		if group, ok := p.Groups[value]; !ok {
			o.Ignored = append(o.Ignored, value)
		} else if !slices.Contains(o.Groups, group) {
			o.Groups = append(o.Groups, group)
		}
	}
	address, err := p.emailOf(c)
	if err != nil {
		return o, err
	}
	found, err := ts.providers.find(ctx, p, c, address)
	if err != nil {
		return o, err
	}
	o.User, o.New, o.Linked = found.user.Name, found.user.ID == "", found.links
	return o, nil
}

// Claim is a claim for people.
type Claim struct{ Name, Value string }

// Shown are all claims in order of name, without what the token alone needs; at most
// 100, each of at most 500 bytes.
func (c Claims) Shown() (claims []Claim) {
	const most, length = 100, 500
	for _, name := range slices.Sorted(maps.Keys(c.All)) {
		if slices.Contains([]string{"nonce", "at_hash", "c_hash", "s_hash", "sid", "jti"}, name) || len(claims) == most {
			continue
		}
		var text string
		switch v := c.All[name].(type) {
		case string:
			text = v
		case float64:
			text = strconv.FormatFloat(v, 'f', -1, 64)
			if slices.Contains([]string{"exp", "iat", "nbf", "auth_time", "updated_at"}, name) && v >= 0 && v < 1e11 {
				text = time.Unix(int64(v), 0).UTC().Format("2006-01-02 15:04:05 UTC")
			}
		default:
			encoded, err := json.Marshal(v)
			if err != nil {
				continue
			}
			text = string(encoded)
		}
		claims = append(claims, Claim{plain.Line(name, length), plain.Line(text, length)})
	}
	return claims
}
